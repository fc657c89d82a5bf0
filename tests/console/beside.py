"""What open pages of the console take from a stack: `tests/console/run.sh beside`.

Runs in pairs: the same commands through a new stack, once with five views open in a browser and once with none. The
processor time is that of the stack alone, its console included.
"""

import json
import os
import statistics
import tempfile
import time
from pathlib import Path

from conftest import CHROMIUM, FLAGS, console_of, e2e
from playwright.sync_api import sync_playwright

PAIRS = 4
ACTORS, VIEWERS, ACTIVITIES = 10, 200, 1_500
VIEWS = ["", "timeline?viewer=viewer-0", "queues", "log", "numbers"]
# The hour before now: within retention, and not ahead of any clock.
START = time.time() - 3_600


def instant(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(START + seconds))


def follows():
    for viewer in range(VIEWERS):
        for actor in range(ACTORS):
            yield {"type": "follow.created", "follower_id": f"viewer-{viewer}", "followee_id": f"actor-{actor}", "at": instant(0)}


def publishes():
    for n in range(ACTIVITIES):
        yield {"type": "activity.published", "activity_id": f"a-{n}", "actor_id": f"actor-{n % ACTORS}", "published_at": instant(1)}


def send(stack, commands):
    """All of them, and waits until each is in effect: the last entry of each timeline is there, and the queue is empty."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps(command) + "\n" for command in commands)
        file.flush()
        stack.cli("publish", "--file", file.name)
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"]
    zeros = 0
    while zeros < 3:
        counts = stack.sqs.get_queue_attributes(QueueUrl=stack.queue_url, AttributeNames=names)["Attributes"]
        zeros = zeros + 1 if not any(map(int, counts.values())) else 0
        time.sleep(0.05)


def processor(stack):
    """Seconds of the processor that the stack has taken."""
    fields = Path(f"/proc/{stack.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measured(browser, watched):
    with e2e.Stack() as stack:
        context = browser.new_context()
        send(stack, follows())
        for view in VIEWS if watched else []:
            page = context.new_page()
            page.goto(console_of(stack))
            page.goto(page.url + view)
        before, begun = processor(stack), time.monotonic()
        send(stack, publishes())
        taken = processor(stack) - before, time.monotonic() - begun
        context.close()
        return taken


def main():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        pairs = []
        for n in range(PAIRS):
            # In turns, so that what changes on the machine meets both.
            order = (False, True) if n % 2 else (True, False)
            taken = {watched: measured(browser, watched) for watched in order}
            pairs.append((taken[False], taken[True]))
            print(f"pair {n + 1}: without {pairs[-1][0][0]:.2f} s of the processor in {pairs[-1][0][1]:.2f} s, with {pairs[-1][1][0]:.2f} in {pairs[-1][1][1]:.2f}", flush=True)
        browser.close()
    entries = ACTIVITIES * VIEWERS
    ratios = sorted(watched[0] / alone[0] for alone, watched in pairs)
    print(f"{entries} entries, {len(VIEWS)} views open: processor time with / without: median {statistics.median(ratios):.3f}, {ratios[0]:.3f} to {ratios[-1]:.3f}")


if __name__ == "__main__":
    main()

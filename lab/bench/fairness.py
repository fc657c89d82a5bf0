"""How long deliveries of small actors take while others keep the writers busy.

    python lab/bench/fairness.py            # beside the fan-out of a very large actor
    python lab/bench/fairness.py --edits    # beside thousands of edits that come at once

Runs the local stack. Actors with 100 followers publish ten times a second, first with nothing else to do,
then beside the others. A delivery is over when four of the hundred followers, one of each batch that the
writer sends, see it through the API. The fan-out is to 220,000 followers, with a table that admits 8,000
writes a second, which is well below what the machine can do. The edits are 6,000, a tenth of them deletes, of
1,000 activities of four actors, and every call takes up to 10 ms longer.
"""

import argparse
import csv
import http.client
import json
import os
import random
import signal
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

import bench

# Seconds after which a connection is not used again.
IDLE = 10
FOLLOWERS = 100
ACTORS = 20
EVERY = 0.1
# How many activities are edited.
EDITED = 1_000
BEGUN = time.time()


class Stack:
    """A `nagare up` whose tables are so."""

    def __init__(self, faults):
        self.process, exports = bench.up(f"--faults={faults}")
        self.environment = os.environ | exports
        self.api = urllib.parse.urlparse(self.environment["NAGARE_API_URL"])
        self.queue = self.environment["NAGARE_QUEUE_URL"]
        self.local = threading.local()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)

    def connection(self, where):
        """A connection of this thread's own, kept open. The stack ends those that are idle."""
        open_ = self.local.__dict__.setdefault("open", {})
        connection, used = open_.get(where.netloc, (None, 0))
        if connection is None or time.monotonic() - used > IDLE:
            connection = http.client.HTTPConnection(where.netloc, timeout=120)
        open_[where.netloc] = connection, time.monotonic()
        return connection

    def nagare(self, *arguments):
        subprocess.run([bench.NAGARE, *map(str, arguments)], env=self.environment, check=True)

    def sqs(self, operation, **body):
        where = urllib.parse.urlparse(self.queue)
        connection = self.connection(where)
        headers = {"content-type": "application/x-amz-json-1.0", "x-amz-target": f"AmazonSQS.{operation}"}
        connection.request("POST", "/", json.dumps({"QueueUrl": self.queue} | body), headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            raise SystemExit(f"the queue answered {answer.status}: {text.decode()}")
        return json.loads(text or b"{}")

    def publish(self, actor, activity):
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        command = {"type": "activity.published", "activity_id": activity, "actor_id": actor, "published_at": now}
        self.sqs("SendMessage", MessageBody=json.dumps(command), MessageGroupId=actor)

    def send(self, commands, editor):
        """Sends commands of one actor, ten a call."""
        for start in range(0, len(commands), 10):
            entries = [{"Id": str(n), "MessageBody": json.dumps(one), "MessageGroupId": editor}
                       for n, one in enumerate(commands[start:start + 10])]
            if failed := self.sqs("SendMessageBatch", Entries=entries).get("Failed"):
                raise SystemExit(f"not sent: {failed}")

    def drain(self):
        while not self.is_drained():
            time.sleep(0.02)

    def sees(self, viewer, activity):
        """Whether a viewer's first page has it."""
        connection = self.connection(self.api)
        connection.request("GET", f"/v1/timelines/{viewer}?limit=100")
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 200:
            return False
        return any(item["activity_id"] == activity for item in json.loads(text)["items"])

    def is_drained(self):
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        attributes = self.sqs("GetQueueAttributes", AttributeNames=names)["Attributes"]
        return all(int(attributes[name]) == 0 for name in names)


def follower(actor, number):
    return f"f{actor}-{number}"


def follows(path, large):
    """Who follows whom."""
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["follower", "followee"])
        out.writerows([f"v{number}", "star"] for number in range(large))
        for actor in range(ACTORS):
            out.writerows([follower(actor, number), f"actor-{actor}"] for number in range(FOLLOWERS))


def deliver(stack, name, count, go_on):
    """Publishes at even distances; how long each delivery took."""
    pool, under_way = ThreadPoolExecutor(16), []

    def one(nth):
        actor, activity = nth % ACTORS, f"{name}-{nth}"
        begun = time.monotonic()
        stack.publish(f"actor-{actor}", activity)
        for number in (0, 33, 66, 99):
            while not stack.sees(follower(actor, number), activity):
                time.sleep(0.002)
        return time.monotonic() - begun

    begun = time.monotonic()
    for nth in range(count):
        if not go_on():
            break
        under_way.append(pool.submit(one, nth))
        time.sleep(max(0.0, begun + (nth + 1) * EVERY - time.monotonic()))
    took = [delivery.result() for delivery in under_way]
    pool.shutdown()
    return took


def quantile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def fan_out(stack, over):
    """One activity of an actor with very many followers."""
    stack.publish("star", "large")
    time.sleep(0.5)
    # Asks seldom, because asking takes a process.
    while not is_over(stack):
        time.sleep(1)
    over.set()


def instant(number):
    """A millisecond later for each number; the first is the start of this run, less a minute."""
    seconds, millis = divmod(number, 1_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S.", time.gmtime(BEGUN - 60 + seconds)) + f"{millis:03}Z"


def edited(number, editors):
    return {"activity_id": f"edited-{number}", "actor_id": f"editor-{number % editors}"}


def publish_edited(stack, editors):
    """What is edited later."""
    for editor in range(editors):
        commands = [{"type": "activity.published", "published_at": instant(0)} | edited(number, editors)
                    for number in range(editor, EDITED, editors)]
        stack.send(commands, f"editor-{editor}")
    stack.drain()


def edit(stack, count, editors, over):
    """Edits and deletes, as fast as the queue takes them."""
    drawn, of_editors = random.Random(7), {}
    for number in range(count):
        key = edited(drawn.randrange(EDITED), editors)
        delete = drawn.random() < 0.1
        command = {"type": "activity.deleted"} if delete else {"type": "activity.updated", "at": instant(number), "payload": {"edit": number}}
        of_editors.setdefault(key["actor_id"], []).append(command | key)
    with ThreadPoolExecutor(editors) as pool:
        list(pool.map(lambda one: stack.send(one[1], one[0]), of_editors.items()))
    stack.drain()
    over.set()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--followers", type=int, default=220_000, help="of the large actor")
    parser.add_argument("--writes", type=int, default=8_000, help="a second that each table admits")
    parser.add_argument("--edits", type=int, nargs="?", const=6_000, help="this many edits at once instead of a fan-out")
    parser.add_argument("--editors", type=int, default=4, help="actors whose activities are edited, each a message group")
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured there")
    options = parser.parse_args()

    is_edits = options.edits is not None
    faults = "slow=10ms,partition-writes=1000" if is_edits else f"writes={options.writes}"
    what = f"{options.edits:,} edits" if is_edits else f"a fan-out to {options.followers:,}"
    with Stack(faults) as stack, tempfile.NamedTemporaryFile(suffix=".csv") as file:
        follows(file.name, 0 if is_edits else options.followers)
        stack.nagare("follows", "import", file.name)
        stack.drain()
        if is_edits:
            publish_edited(stack, options.editors)
        deliver(stack, "warm", 50, lambda: True)
        bench.note("with nothing else to do")
        idle = deliver(stack, "idle", 300, lambda: True)
        bench.note(f"beside {what}")
        begun, over = time.monotonic(), threading.Event()
        beside = (edit, stack, options.edits, options.editors, over) if is_edits else (fan_out, stack, over)
        threading.Thread(target=beside[0], args=beside[1:], daemon=True).start()
        busy = deliver(stack, "busy", 10_000, lambda: not over.is_set())
        seconds = time.monotonic() - begun
    results = {"idle": idle, "busy": busy, "seconds": seconds, "faults": faults}
    rows = [[when, len(took), *(f"{1000 * quantile(took, part):.0f}" for part in (0.5, 0.9, 0.99))]
            for when, took in (("idle", idle), ("beside the others", busy))]
    print(f"deliveries to {FOLLOWERS} followers, in milliseconds; {what} in {seconds:.1f} s with {faults}")
    bench.show(["", "deliveries", "p50", "p90", "p99"], rows)
    print(f"p99 beside {what} is {quantile(busy, 0.99) / quantile(idle, 0.99):.2f} times the idle one")
    bench.save(options.json, results)


def is_over(stack):
    """Whether the large fan-out is: asked of the program, which looks at its parts."""
    told = subprocess.run([bench.NAGARE, "fanout", "large", "--no-wait", "--json"],
                          env=stack.environment, capture_output=True, text=True)
    lines = told.stdout.strip().splitlines()
    return bool(lines) and json.loads(lines[-1]).get("parts_left") == 0


if __name__ == "__main__":
    main()

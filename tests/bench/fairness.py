"""How long deliveries of small actors take while the fan-out of a very large one goes on.

    python tests/bench/fairness.py

Runs the local stack with a table that admits 8,000 writes a second, which is well below what the
machine can do. Actors with 100 followers publish ten times a second, first with nothing else to do,
then while somebody with 220,000 followers is delivered. A delivery is over when four of the hundred
followers, one of each batch that the writer sends, see it through the API.
"""

import argparse
import csv
import http.client
import json
import os
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


class Stack:
    """A `nagare up` whose tables admit so much."""

    def __init__(self, writes):
        self.process, exports = bench.up(f"--faults=writes={writes}")
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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--followers", type=int, default=220_000, help="of the large actor")
    parser.add_argument("--writes", type=int, default=8_000, help="a second that each table admits")
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured there")
    options = parser.parse_args()

    with Stack(options.writes) as stack, tempfile.NamedTemporaryFile(suffix=".csv") as file:
        follows(file.name, options.followers)
        stack.nagare("follows", "import", file.name)
        while not stack.is_drained():
            time.sleep(0.2)
        deliver(stack, "warm", 50, lambda: True)
        bench.note("with nothing else to do")
        idle = deliver(stack, "idle", 300, lambda: True)
        bench.note(f"while {options.followers:,} are delivered to")
        begun = time.monotonic()
        stack.publish("star", "large")
        time.sleep(0.5)
        over = threading.Event()
        threading.Thread(target=watch, args=(stack, over), daemon=True).start()
        busy = deliver(stack, "busy", 10_000, lambda: not over.is_set())
        seconds = time.monotonic() - begun
    results = {"idle": idle, "busy": busy, "fan_out_seconds": seconds, "writes": options.writes}
    rows = [[when, len(took), *(f"{1000 * quantile(took, part):.0f}" for part in (0.5, 0.9, 0.99))]
            for when, took in (("idle", idle), ("during the fan-out", busy))]
    print(f"deliveries to {FOLLOWERS} followers, in milliseconds; {options.followers:,} others in "
          f"{seconds:.1f} s at {options.writes:,} writes a second")
    bench.show(["", "deliveries", "p50", "p90", "p99"], rows)
    print(f"p99 during the fan-out is {quantile(busy, 0.99) / quantile(idle, 0.99):.2f} times the idle one")
    bench.save(options.json, results)


def watch(stack, over):
    """Says when the large fan-out is over; asks seldom, because asking takes a process."""
    while not is_over(stack):
        time.sleep(1)
    over.set()


def is_over(stack):
    """Whether the large fan-out is: asked of the program, which looks at its parts."""
    told = subprocess.run([bench.NAGARE, "fanout", "large", "--no-wait", "--json"],
                          env=stack.environment, capture_output=True, text=True)
    lines = told.stdout.strip().splitlines()
    return bool(lines) and json.loads(lines[-1]).get("parts_left") == 0


if __name__ == "__main__":
    main()

"""How long others wait while one person sends the same kind of command 20,000 times.

    python lab/bench/one_person.py                     # every kind, about half an hour
    python lab/bench/one_person.py follow-40 vote      # the trials whose names begin so
    python lab/bench/one_person.py --group             # with a message group

Runs the local stack. Each trial prepares a size on one side of a threshold, sends one command and then repetitions of it, as they are
(`same`) or with another `at` (`moving`) or id (`new`), and prints the milliseconds in which commands of others are in effect meanwhile: each
other follows somebody and reads that until it is listed. The first line is of an idle stack.
"""

import argparse
import http.client
import itertools
import json
import os
import threading
import time
import urllib.parse
from datetime import datetime, timedelta, timezone

import bench
from stack import running

TIMES = 20_000
# Commands a second, so that the senders leave the stack a processor. Without a pace they take both of a small machine's.
RATE = 4_000
# Batches of a hundred events come at a tenth of it: they are 40,000 events a second.
BATCH_RATE = 0.1
# Milliseconds: the most for the 99th percentile of others.
BOUND = 100
BEGUN = datetime.now(timezone.utc) - timedelta(hours=2)
SENDERS = 2


def instant(millis):
    at = BEGUN + timedelta(milliseconds=millis)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def follow(n, viewer="bob", actor="anna", kind="created"):
    return {"type": f"follow.{kind}", "follower_id": viewer, "followee_id": actor, "at": instant(n)}


def publish(n, name=None, actor="anna", **more):
    return {"type": "activity.published", "activity_id": name or f"a{n}", "actor_id": actor, "published_at": instant(n)} | more


def update(n, name="a0"):
    return {"type": "activity.updated", "activity_id": name, "actor_id": "anna", "at": instant(n), "payload": {"n": n}}


def delete(_, name="a0"):
    return {"type": "activity.deleted", "activity_id": name, "actor_id": "anna"}


def like(n, activity="a0", kind="created", viewer="bob"):
    return {"type": f"like.{kind}", "viewer_id": viewer, "activity_id": activity, "at": instant(n)}


def vote(n, viewer="bob", choice="red"):
    return {"type": "vote.cast", "poll_id": "p", "viewer_id": viewer, "choice": choice, "at": instant(n)}


def poll(_=0, name="p"):
    return {"type": "poll.opened", "poll_id": name, "actor_id": "anna", "choices": ["red", "blue"],
            "opens_at": instant(-3_600_000), "closes_at": instant(36_000_000)}


def hit(n, name=None, viewer="bob"):
    return {"type": "battle.hit", "battle_id": "b", "hit_id": name or f"h{n}", "viewer_id": viewer, "damage": 1, "at": instant(n)}


def battle(_=0, name="b"):
    return {"type": "battle.opened", "battle_id": name, "actor_id": "anna", "hp": 10**9, "at": instant(0)}


def tag(n, kind="created", activity="a0", tagged="bob"):
    return {"type": f"tag.{kind}", "activity_id": activity, "tagged_id": tagged, "at": instant(n)}


def post(n, name=None):
    return {"type": "message.posted", "room_id": "hall", "message_id": name or f"m{n}", "author_id": "bob", "at": instant(n)}


def member(n, kind="joined"):
    return {"type": f"room.{kind}", "room_id": "hall", "viewer_id": "bob", "at": instant(n)}


def read(_):
    return {"type": "notifications.read", "viewer_id": "anna", "all": True}


def event(n, name=None):
    return {"type": "event.recorded", "tenant_id": "t", "customer_id": "c", "event_id": name or f"e{n}", "name": "login", "at": instant(n)}


def events(n, size=100):
    return {"type": "events.recorded", "events": [event(n * size + k) for k in range(size)]}


def profile(n):
    return {"type": "profile.updated", "viewer_id": "bob", "at": instant(n), "payload": {"n": n}}


def customer(n):
    return {"type": "customer.updated", "tenant_id": "t", "customer_id": "c", "at": instant(n), "payload": {"n": n}}


def rule(n, kind="defined"):
    more = {"when": {"event": "login", "count": 1_000, "within": "day"}} if kind == "defined" else {}
    return {"type": f"rule.{kind}", "tenant_id": "t", "rule_id": "r", "at": instant(n)} | more


def score(n):
    return {"type": "score.defined", "tenant_id": "t", "score_id": "s", "at": instant(n), "base": 40,
            "measures": [{"event": "login", "days": 28, "points": 3, "most": 60}]}


def alerts(n, size=100):
    return {"type": "alerts.read", "tenant_id": "t", "read": [{"alert_id": f"{n * size + k:032x}"} for k in range(size)]}


def of(make, *args, **kwargs):
    return lambda n: make(n, *args, **kwargs)


def turning(make, kinds):
    return lambda n: make(n, kind=kinds[n % 2])


def posts(size):
    return [publish(n) for n in range(size)]


def followers(size):
    return [follow(n, viewer=f"f{n}") for n in range(size)]


def tags(size):
    return [tag(n, tagged=f"t{n}") for n in range(size)]


def trials():
    """The name of a trial, the commands before it, and the command as a function of its number."""
    for size in (0, 1, 40, 100, 101):
        yield f"follow-{size}", posts(size), follow
        yield f"unfollow-{size}", [*posts(size), follow(-1)], of(follow, kind="deleted")
        yield f"turn-{size}", posts(size), turning(follow, ("created", "deleted"))
    for size in (0, 1, 100, 101, 249, 250, 251, 2_499, 2_501):
        yield f"publish-{size}", followers(size), lambda n: publish(0) if n == 0 else publish(n)
        yield f"delete-{size}", [*followers(size), publish(0)], delete
    yield "update", [publish(0)], update
    yield "like", [publish(0)], like
    yield "like-turn", [publish(0)], turning(like, ("created", "deleted"))
    yield "like-17", [publish(0), *(like(n, viewer=f"v{n}") for n in range(17))], turning(like, ("created", "deleted"))
    yield "likes", [], lambda n: like(n, activity=f"x{n}")
    yield "read", [publish(0), *(like(n, viewer=f"v{n}") for n in range(30))], read
    yield "vote", [poll()], vote
    yield "vote-unopened", [], vote
    yield "poll", [poll()], poll
    yield "hit", [battle()], hit
    yield "hit-unopened", [], hit
    yield "battle", [battle()], battle
    for size in (0, 100, 101):
        yield f"publish-tagged-{size}", tags(size), lambda n: publish(0)
    yield "tag", [publish(0)], tag
    yield "tag-turn", [publish(0)], turning(tag, ("created", "deleted"))
    yield "message", [], post
    yield "message-deleted", [post(0)], lambda n: {"type": "message.deleted", "room_id": "hall", "message_id": "m0", "author_id": "bob"}
    yield "member", [], turning(member, ("joined", "left"))
    yield "profile", [], profile
    yield "event", [], event
    yield "events", [], events
    yield "customer", [], customer
    yield "alerts", [], alerts
    yield "rule", [], rule
    yield "rule-deleted", [rule(-1)], of(rule, kind="deleted")
    yield "score", [], score
    yield "poll-closed", [poll()], lambda n: {"type": "poll.closed", "poll_id": "p", "actor_id": "anna", "at": instant(n)}
    yield "malformed", [], lambda n: like(n, activity=n)
    yield "refused", [publish(0, actor="eve")], lambda n: publish(n, name="a0")


class Connection:
    """Kept open as long as it is used: the stack closes an idle one."""

    def __init__(self, url):
        self.url, self.used, self.open = urllib.parse.urlsplit(url), 0, None

    def request(self, *args):
        if self.open is None or time.monotonic() - self.used > 2:
            self.open = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=120)
        self.open.request(*args)
        answer = self.open.getresponse()
        text, self.used = answer.read(), time.monotonic()
        return answer.status, text


class Sender:
    """Sends commands over a connection of its own."""

    def __init__(self, stack):
        self.queue = stack.exports["NAGARE_QUEUE_URL"]
        self.connection = Connection(stack.exports["AWS_ENDPOINT_URL_SQS"])

    def send(self, commands, group):
        grouped = {"MessageGroupId": group} if group else {}
        entries = [{"Id": str(n), "MessageBody": json.dumps(one)} | grouped for n, one in enumerate(commands)]
        headers = {"X-Amz-Target": "AmazonSQS.SendMessageBatch", "Content-Type": "application/x-amz-json-1.0",
                   "Authorization": "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/sqs/aws4_request,"
                                    " SignedHeaders=host, Signature=00"}
        body = json.dumps({"QueueUrl": self.queue, "Entries": entries})
        status, text = self.connection.request("POST", "/", body, headers)
        if status != 200 or json.loads(text).get("Failed"):
            raise SystemExit(f"not sent: {text.decode()}")


def flood(stack, commands, group, rate):
    """Sends commands, so many a second, ten a call."""
    commands, lock, begun, sent = iter(commands), threading.Lock(), time.monotonic(), itertools.count(0, 10)

    def some():
        with lock:
            batch, due = list(itertools.islice(commands, 10)), begun + next(sent) / rate
        time.sleep(max(0, due - time.monotonic()))
        return batch

    def work():
        sender = Sender(stack)
        while batch := some():
            sender.send(batch, group)

    threads = [threading.Thread(target=work) for _ in range(SENDERS)]
    for thread in threads:
        thread.start()
    return threads


class Others:
    """Others who each follow somebody and read until it is listed, one after another."""

    def __init__(self, stack, name):
        self.stack, self.name, self.took, self.sender = stack, name, [], Sender(stack)
        self.api = Connection(stack.exports["NAGARE_API_URL"])

    def one(self):
        viewer = f"{self.name}-{len(self.took)}"
        begun = time.perf_counter()
        self.sender.send([follow(0, viewer=viewer, actor="carl")], None)
        while not self.is_listed(viewer):
            time.sleep(0.004)
        self.took.append((time.perf_counter() - begun) * 1_000)

    def is_listed(self, viewer):
        status, text = self.api.request("GET", f"/v1/viewers/{viewer}/following")
        if status != 200:
            raise SystemExit(f"{viewer}: {status} {text.decode()}")
        return bool(json.loads(text)["items"])

    def says(self):
        at = [bench.percentile(self.took, part) for part in (50, 99)]
        return f"{len(self.took):4} others: p50 {at[0]:6.0f} ms, p99 {at[1]:6.0f} ms, at most {max(self.took):6.0f} ms"


def waiting(stack):
    names = [f"ApproximateNumberOfMessages{which}" for which in ("", "NotVisible", "Delayed")]
    return sum(map(int, stack.sqs("GetQueueAttributes", AttributeNames=names)["Attributes"].values()))


def cpu_seconds(stack):
    """The processor time of a stack so far."""
    with open(f"/proc/{stack.process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def idle():
    with running() as stack:
        others = Others(stack, "idle")
        for _ in range(100):
            others.one()
        print(f"{'idle':32} {others.says()}", flush=True)


def trial(name, before, command, mode, options):
    with running() as stack:
        stack.apply(before)
        times, patience = options.times, options.patience
        commands = [command(0)] * times if mode == "same" else [command(n) for n in range(times)]
        others = Others(stack, "other")
        others.one()
        others.took.clear()
        begun, spent = time.monotonic(), cpu_seconds(stack)
        rate = options.rate * (BATCH_RATE if name == "events" else 1)
        sending = flood(stack, commands, "bob" if options.group else None, rate)
        while any(thread.is_alive() for thread in sending):
            others.one()
        sent = time.monotonic() - begun
        while time.monotonic() - begun < patience and waiting(stack) > 0:
            for _ in range(5):
                others.one()
        took, left = time.monotonic() - begun, waiting(stack)
        says = f"sent in {sent:3.0f} s, " + (f"{left} left after {took:.0f} s" if left else f"done in {took:3.0f} s")
        cpu = (cpu_seconds(stack) - spent) * 1_000_000 / times
        print(f"{name + ' ' + mode:32} {others.says()}; {says}, {cpu:.0f} µs of processor each", flush=True)
        return bench.percentile(others.took, 99)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trials", nargs="*", metavar="TRIAL", help="beginnings of names; every trial if none is given")
    parser.add_argument("--group", action="store_true", help="send in a message group")
    parser.add_argument("--modes", default="same,moving", help="same, moving or both")
    parser.add_argument("--times", type=int, default=TIMES, help=f"how often the command is sent ({TIMES:,})")
    parser.add_argument("--rate", type=float, default=RATE, help=f"commands a second ({RATE:,})")
    parser.add_argument("--patience", type=float, default=60, help="seconds after which the rest is not waited for (60)")
    options = parser.parse_args()
    late = []
    idle()
    for name, before, command in trials():
        if options.trials and not any(name == one or name.startswith(one + "-") for one in options.trials):
            continue
        for mode in options.modes.split(","):
            if mode == "moving" and command(0) == command(1):
                continue
            p99 = trial(name, before, command, mode, options)
            late += [f"{name} {mode}"] if p99 > BOUND else []
    if late:
        print(f"above {BOUND} ms: {', '.join(late)}")


if __name__ == "__main__":
    main()

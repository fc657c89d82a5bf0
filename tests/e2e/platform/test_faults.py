"""The built program while things go wrong on purpose (`nagare up --faults=…`).

Each trial sends a random history, shuffled and in part twice, with bad bodies in between, while
readers read. Once it is quiet, what became a dead letter is sent again until only the bad bodies
are left. Then every timeline is what the relational query says of the history.

    python -m pytest tests/e2e/platform/test_faults.py -rP      prints a row for each trial
"""

import json
import os
import random
import re
import threading
from collections import Counter

import pytest

from conftest import Stack, delete, follow, instant, publish, unfollow, update

PEOPLE = [f"p{n}" for n in range(12)]
BAD = ["not json", "{}", "[1]", json.dumps({"type": "activity.liked"}), json.dumps(publish("a b", "x"))]
# What goes wrong in the tables, each beside something else that does in the queue. `NAGARE_FAULTS` tries others, one a word.
SETTINGS = os.environ.get("NAGARE_FAULTS", "").split() or [
    "throttles=20%,duplicates=50%",
    "leftovers=30%,late=50%",
    "writes=300,reads=600,partition-writes=40",
    "errors=20%,expiries=30%",
    "resets=20%,lost-deletes=30%",
    "lost-answers=20%,slow=40ms",
    "cuts=20%,queue-errors=20%,queue-resets=30%",
    "hangs=1%,missing=2%,denied=2%",
    "all=4%,slow=5ms",
]


class History:
    """Commands, and what they mean whatever their order."""

    def __init__(self, seed, length=250):
        self.random = random.Random(seed)
        self.commands, self.follows, self.published, self.deleted, self.edits = [], {}, {}, set(), {}
        for number in range(length):
            self.add(number)

    def add(self, number):
        person = lambda: self.random.choice(PEOPLE)
        kind = self.random.random()
        if kind < 0.45 or not self.published:
            at, actor, activity = instant(minutes=-self.random.randrange(20_000)), person(), f"a{number}"
            self.published[activity] = (at, actor)
            self.commands.append(publish(actor, activity, at, payload={"of": activity}))
        elif kind < 0.85:
            edge, seconds = (person(), person()), number - 1000
            following = self.random.random() < 0.7
            self.commands.append((follow if following else unfollow)(*edge, instant(seconds=seconds)))
            self.follows[edge] = following
        else:
            activity = self.random.choice(list(self.published))
            actor = self.published[activity][1]
            if kind < 0.92:
                self.commands.append(delete(actor, activity))
                self.deleted.add(activity)
            else:
                self.edits[activity] = {"edit": number}
                self.commands.append(update(actor, activity, self.edits[activity], instant(seconds=number - 1000)))

    def timeline(self, viewer):
        """Newest first: id and payload."""
        shown = [
            (at, activity, json.dumps(self.edits.get(activity, {"of": activity})))
            for activity, (at, actor) in self.published.items()
            if activity not in self.deleted and self.follows.get((viewer, actor))
        ]
        return [(activity, payload) for _, activity, payload in sorted(shown, reverse=True)]

    def messages(self):
        twice = [command for command in self.commands if self.random.random() < 0.2]
        messages = self.commands + twice + BAD
        self.random.shuffle(messages)
        return messages


class Readers(threading.Thread):
    """Reads all the time; the answers that a reader should not be given."""

    def __init__(self, stack):
        super().__init__(daemon=True)
        self.stack, self.ended, self.answers, self.wrong = stack, threading.Event(), {}, []

    def run(self):
        chance = random.Random(0)
        while not self.ended.wait(0.01):
            answer = self.stack.get(chance.choice(PEOPLE), {"limit": chance.choice([1, 20, 100])})
            self.answers[answer.status] = self.answers.get(answer.status, 0) + 1
            if answer.status != 200 and not (answer.status in (429, 503) and "retry-after" in answer.headers):
                self.wrong.append(answer)

    def end(self):
        self.ended.set()
        self.join(timeout=30)
        assert self.wrong == []
        return self.answers


def quiet(stack):
    stack.drain(180)


def redrive_all_but_the_bad(stack):
    """Sends dead letters again until only bad bodies are left; returns those, and how many came back."""
    redriven = 0
    for _ in range(20):
        quiet(stack)
        letters = stack.dead_letters()
        good = [letter["id"] for letter in letters if letter["reason"] not in ("not-json", "malformed", "unknown-type")]
        if not good:
            return letters, redriven
        redriven += len(good)
        stack.cli("dead-letters", "redrive", *good, code=None)
    raise AssertionError(f"dead letters come back permanently: {letters}")


def page_through(stack, viewer):
    """All of a timeline, asking again when told to."""
    found, cursor = [], None
    for _ in range(400):
        answer = stack.get(viewer, {"limit": 20} | ({"cursor": cursor} if cursor else {}))
        if answer.status in (429, 503):
            continue
        assert answer.status == 200, answer.text
        found += [(item["activity_id"], json.dumps(item["payload"])) for item in answer.json["items"]]
        cursor = answer.json["next_cursor"]
        if cursor is None:
            return found
    raise AssertionError(f"{viewer}'s timeline has no end")


def compare(stack, history):
    """How many items are lost, doubled and leaked, over all viewers."""
    lost = doubled = leaked = 0
    for viewer in PEOPLE:
        expected, found = history.timeline(viewer), page_through(stack, viewer)
        doubled += len(found) - len(set(found))
        lost += len(set(expected) - set(found))
        leaked += len(set(found) - set(expected))
        if set(expected) == set(found):
            assert found == expected, f"{viewer}: another order"
    return lost, doubled, leaked


@pytest.mark.parametrize("settings", SETTINGS)
def test_every_timeline_is_right_in_the_end(settings):
    history = History(seed=settings)
    with Stack(f"--faults={settings},seed=11") as stack:
        readers = Readers(stack)
        readers.start()
        messages = history.messages()
        stack.send(*messages)
        letters, redriven = redrive_all_but_the_bad(stack)
        answers = readers.end()
        lost, doubled, leaked = compare(stack, history)
        print(
            f"{settings:<42} {len(messages)} commands, {redriven} redriven, answers {answers}: "
            f"lost {lost}, doubled {doubled}, leaked {leaked}"
        )
        assert (lost, doubled, leaked) == (0, 0, 0)
        assert {json.loads(stack.cli("dead-letters", "show", letter["id"]).stdout)["body"] for letter in letters} == set(BAD)
        assert stack.cli("audit", *(part for viewer in PEOPLE for part in ("--viewer", viewer)), code=None).returncode == 0


def test_queue_calls_that_fail_cost_no_receive(tmp_path):
    """What is not acknowledged stays away for the template's six minutes. Nothing waits for that: calls to the
    queues are made again at once, so parts and dead letters arrive, and every message is received once."""
    followers, activities = 2_600, [f"live-{n}" for n in range(4)]
    file = tmp_path / "follows.csv"
    file.write_text("follower,followee\n" + "".join(f"v{n},star\n" for n in range(followers)))
    settings = ("--faults=queue-errors=20%,queue-resets=40%,seed=11", "--template-visibility")
    with Stack(*settings, env={"NAGARE_LOG": "info"}) as stack:
        answer = stack.sqs.get_queue_attributes(QueueUrl=stack.queue_url, AttributeNames=["VisibilityTimeout"])
        assert answer["Attributes"] == {"VisibilityTimeout": "360"}
        stack.cli("follows", "import", file)
        stack.drain(120)
        stack.send(*(publish("star", activity) for activity in activities), *BAD)
        stack.drain(120)
        entries = Counter(entry["sort_key"].split("#")[1] for entry in stack.entries())
        letters = stack.dead_letters()
        # One line for each message that was received.
        lines = [line for line in stack.log.read_text().splitlines() if "command=" in line]
    commands = Counter(re.search(r'command="([^"]+)"', line)[1] for line in lines)
    receives = Counter(re.search(r"receives=(\d+)", line)[1] for line in lines)
    print(f"{dict(entries)}, {len(letters)} dead letters, received {dict(commands)}, receives {dict(receives)}")
    assert entries == {activity: followers for activity in activities}
    assert Counter(letter["reason"] for letter in letters) == {"not-json": 2, "malformed": 2, "unknown-type": 1}
    assert commands["activity.published"] == len(activities) and commands["fanout.part"] > len(activities)
    assert set(receives) == {"1"}


def test_a_slow_table_costs_no_receive(tmp_path):
    """Twelve streams go live at once, and the tables take so little that all of it is longer than an invocation
    has. Everything arrives; every message is received once; what is left of its work is sent on."""
    actors, followers, rate = 12, 300, 50
    file, args = tmp_path / "follows.csv", ("--data-dir", tmp_path / "data", "--template-visibility")
    edges = (f"a{actor}-v{n},actor-{actor}\n" for actor in range(actors) for n in range(followers))
    file.write_text("follower,followee\n" + "".join(edges))
    with Stack(*args) as stack:
        stack.cli("follows", "import", file)
        stack.drain(120)
    settings, env = f"--faults=writes={rate},seed=11", {"NAGARE_LOG": "info"}
    with Stack(*args, settings, env=env) as stack:
        stack.send(*(publish(f"actor-{actor}", f"live-{actor}") for actor in range(actors)))
        stack.drain(300)
        entries = Counter(entry["sort_key"].split("#")[1] for entry in stack.entries())
        letters = stack.dead_letters()
        lines = [line for line in stack.log.read_text().splitlines() if "command=" in line]
    receives = Counter(re.search(r"receives=(\d+)", line)[1] for line in lines)
    print(f"{len(lines)} messages, receives {dict(receives)}")
    assert entries == {f"live-{actor}": followers for actor in range(actors)}
    assert letters == []
    assert set(receives) == {"1"} and len(lines) > actors


def test_killed_again_and_again_while_things_go_wrong(tmp_path):
    """`kill -9` in the middle of applying, redriving and repairing, with faults all the while."""
    history, args = History(seed="kills", length=400), ("--data-dir", tmp_path / "data", "--faults=all=3%,missing=2%,slow=3ms")
    chance, kills = random.Random(5), 0
    stack = Stack(*args)
    try:
        stack.send(*history.messages())
        for turn in range(12):
            threading.Event().wait(chance.random())
            work = [["dead-letters", "redrive", "--all"], ["audit", "--sample", "5", "--repair"]][turn % 2]
            running = threading.Thread(target=lambda: stack.cli(*work, code=None))
            running.start()
            threading.Event().wait(chance.random() / 2)
            stack.kill()
            kills += 1
            running.join(timeout=90)
            stack = Stack(*args)
        letters, redriven = redrive_all_but_the_bad(stack)
        lost, doubled, leaked = compare(stack, history)
        print(f"kill -9, {kills} times, {redriven} redriven: lost {lost}, doubled {doubled}, leaked {leaked}")
        assert (lost, doubled, leaked) == (0, 0, 0)
    finally:
        stack.kill()


def test_what_is_older_than_retention_is_redriven_to_nobody(own_stack):
    """It is acknowledged and counted, whatever it went through before."""
    stack, old = own_stack, 50
    stack.apply(follow("bob", "anna"))
    commands = [publish("anna", f"old-{n}", instant(days=-30, seconds=-n - 1)) for n in range(old)] + [publish("anna", "new")]
    dead = stack.exports["NAGARE_DEAD_LETTER_QUEUE_URL"]
    for command in commands:
        stack.sqs.send_message(QueueUrl=dead, MessageBody=json.dumps(command))
    stack.drain()
    letters = [letter["id"] for letter in stack.dead_letters()]
    kept = len(letters)
    # What anybody put there is sent again by its id alone.
    redriven = stack.cli("dead-letters", "redrive", *letters).stdout.split()[0]
    stack.drain()
    entries, letters = [entry["sort_key"] for entry in stack.entries()], len(stack.dead_letters())
    print(f"{kept} dead letters, {old} of them older than retention: {redriven} redriven, {len(entries)} entries, {letters} dead letters afterwards")
    assert (kept, int(redriven), letters) == (len(commands), len(commands), 0)
    assert entries == [f"{commands[-1]['published_at']}#new"] and stack.timeline("bob") == ["new"]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("all=101%", "all: expected a share from 0% to 100%, such as all=1%"),
        ("writes=0", "writes: expected units a second, one or more, such as writes=4000"),
        ("floods=1%", '"floods" is not a fault; there are all, '),
        ("slow=5", "slow: expected milliseconds, such as slow=50ms"),
        ("seed", "seed: expected a whole number, such as seed=7"),
    ],
)
def test_settings_that_cannot_be_read_are_explained(own_stack, settings, says):
    refused = own_stack.cli("up", f"--faults={settings}", code=2)
    assert says in refused.stderr

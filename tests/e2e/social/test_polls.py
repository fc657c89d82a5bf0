"""Polls: one vote a viewer, the latest within the poll's time, whatever is repeated, late, closed or killed in between."""

import json
import os
import random
import subprocess
from collections import Counter

import pytest
from conftest import NAGARE, Stack, close_poll, free_port, instant, open_poll, unique, until, vote
from test_faults import redrive_all_but_the_bad
from test_http import bearing, token

# Of the test that kills the stack: what is on a disk takes its time.
VOTERS = int(os.environ.get("NAGARE_VOTERS", "3000"))
# A hundred thousand take minutes: the nightly run has them.
CROWD = int(os.environ.get("NAGARE_CROWD", "6000"))
COLORS = ["red", "blue", "green"]


class Asked:
    """A poll as its commands say it, whatever their order: what was opened, every end, every vote by its instant."""

    def __init__(self, opens_at, closes_at, choices=COLORS, payload=None):
        self.id, self.actor = unique("poll"), unique("actor")
        self.choices, self.opens_at, self.closes_at, self.payload = choices, opens_at, closes_at, payload
        self.opening = open_poll(self.actor, self.id, choices, opens_at, closes_at, payload=payload)
        self.commands, self.ends, self.votes, self.counted = [self.opening], [], {}, (0, Counter())

    def close(self, at, actor=None):
        self.commands.append(close_poll(actor or self.actor, self.id, at))
        if actor in (None, self.actor):
            self.ends.append(at)
        return self.commands[-1]

    def vote(self, viewer, choice, at):
        self.commands.append(vote(viewer, self.id, choice, at))
        self.votes.setdefault(viewer, []).append((at, choice))
        return self.commands[-1]

    @property
    def end(self):
        return min([self.closes_at, *self.ends])

    def vote_of(self, viewer):
        """On a tie the choice that is greater byte by byte, and a withdrawal over any choice."""
        count = [
            (at, choice is None, choice or "")
            for at, choice in self.votes.get(viewer, [])
            if self.opens_at <= at < self.end and (choice is None or choice in self.choices)
        ]
        return max(count)[2] or None if count else None

    def counts(self):
        # Counted once for what was said so far: a hundred thousand voters are asked about again and again.
        if self.counted[0] != len(self.commands):
            self.counted = len(self.commands), Counter(map(self.vote_of, self.votes))
        return [{"choice": choice, "votes": self.counted[1][choice]} for choice in self.choices]

    def answer(self, viewer=None):
        """What a reader is shown at this moment."""
        now, choices = instant(), self.counts()
        return {
            "poll_id": self.id, "actor_id": self.actor, "payload": self.payload, "opens_at": self.opens_at,
            "closes_at": self.end, "state": "closed" if now >= self.end else "open" if now >= self.opens_at else "upcoming",
            "choices": choices, "votes": sum(one["votes"] for one in choices),
            "vote": self.vote_of(viewer) if viewer else None,
        }


def path(poll, viewer=None):
    return f"/v1/polls/{poll}" + (f"?viewer={viewer}" if viewer else "")


def patiently(stack, target):
    """What is at a path, asking again when told to."""
    answers = (stack.request(target) for _ in range(100))
    answer = next(answer for answer in answers if answer.status not in (429, 503))
    assert answer.status == 200, answer.text
    return answer.json


def shown(stack, poll, viewers=(), seconds=30):
    """Waits until readers are shown what the commands say: the sums, and to each viewer their vote.

    Votes are folded after they are drained, and sums on their way may equal the last ones for a moment, so every answer is waited for.
    """
    for viewer in (None, *viewers):
        end = {}

        def is_so():
            end["found"], end["expected"] = patiently(stack, path(poll.id, viewer)), poll.answer(viewer)
            return end["found"] == end["expected"]

        try:
            until(is_so, f"the answer of {poll.id} to {viewer}", seconds)
        except AssertionError as late:
            raise AssertionError(f"{late}: {end['expected']}, and not {end['found']}") from None


def test_opened_voted_changed_and_taken_back(stack):
    poll = Asked(instant(minutes=-10), instant(minutes=10), payload={"title": "Who?", "n": 1.50})
    bob, eve, dan = unique("bob"), unique("eve"), unique("dan")
    # Before the poll: nobody can see it yet, and it counts.
    stack.apply(poll.vote(bob, "red", instant(minutes=-9)))
    assert stack.request(path(poll.id)).status == 404
    stack.apply(poll.opening)
    shown(stack, poll, [bob, eve])
    stack.apply(poll.vote(eve, "blue", instant(minutes=-8)), *2 * [poll.vote(dan, "red", instant(minutes=-8))])
    shown(stack, poll, [bob, eve, dan])
    assert stack.read(path(poll.id))["choices"][0] == {"choice": "red", "votes": 2}
    # A change of mind; one that comes late; one for what is no choice.
    stack.apply(
        poll.vote(bob, "blue", instant(minutes=-5)), poll.vote(bob, "green", instant(minutes=-6)),
        poll.vote(eve, "purple", instant(minutes=-1)),
    )
    shown(stack, poll, [bob, eve, dan])
    assert stack.read(path(poll.id, bob))["vote"] == "blue" and stack.read(path(poll.id, eve))["vote"] == "blue"
    stack.apply(poll.vote(bob, None, instant(minutes=-4)), poll.vote(dan, None, instant(minutes=-9)))
    shown(stack, poll, [bob, eve, dan])
    assert (stack.read(path(poll.id, bob))["vote"], stack.read(path(poll.id, dan))["vote"]) == (None, "red")
    stack.apply(poll.vote(bob, "green", instant(minutes=-3)))
    shown(stack, poll, [bob, eve, dan])
    assert stack.dead_letters() == []


def test_ties(stack):
    """Whichever comes first: the choice that is greater byte by byte, and a withdrawal over any."""
    for order in (1, -1):
        poll, at = Asked(instant(minutes=-10), instant(minutes=10), ["Z", "a", "ab", "b"]), instant(minutes=-5)
        stack.apply(poll.opening)
        for viewer, votes in (("one", ["Z", "a"]), ("two", ["ab", "b", "a"]), ("three", ["b", None, "ab"])):
            stack.apply(*(poll.vote(viewer, choice, at) for choice in votes[::order]))
        shown(stack, poll, ["one", "two", "three"])
        assert [stack.read(path(poll.id, viewer))["vote"] for viewer in ("one", "two", "three")] == ["a", "b", None]


@pytest.mark.parametrize("order", [1, -1])
def test_what_is_no_choice_loses_a_tie(stack, order):
    """It counts for nothing, though it is greater byte by byte."""
    poll, at = Asked(instant(minutes=-10), instant(minutes=10)), instant(minutes=-5)
    stack.apply(poll.opening, *[poll.vote("bob", "red", at), poll.vote("bob", "zebra", at)][::order])
    shown(stack, poll, ["bob"], seconds=5)
    assert stack.read(path(poll.id, "bob"))["vote"] == "red"


def test_the_bounds_of_its_time(stack):
    """The first instant counts, the last one does not; a millisecond before and after is another matter."""
    opens, closes = "2026-01-10T12:00:00.000Z", "2026-01-10T13:00:00.000Z"
    around = ["11:59:59.999", "12:00:00.000", "12:59:59.999", "13:00:00.000", "13:00:00.001"]
    poll = Asked(opens, closes)
    for n, time in enumerate(around):
        poll.vote(f"v{n}", "red", f"2026-01-10T{time}Z")
        # Outside of the time a withdrawal changes nothing either.
        poll.vote("all", "blue" if n == 1 else None if n != 2 else "green", f"2026-01-10T{time}Z")
    stack.apply(*poll.commands)
    viewers = [*(f"v{n}" for n in range(5)), "all"]
    shown(stack, poll, viewers)
    assert [stack.read(path(poll.id, v))["vote"] for v in viewers] == [None, "red", "red", None, None, "green"]


def test_closed_early(stack):
    """Votes from then on are taken back, and of each viewer the one before counts again."""
    poll = Asked(instant(minutes=-10), instant(minutes=10))
    stack.apply(
        poll.opening, poll.vote("bob", "red", instant(minutes=-9)), poll.vote("bob", "blue", instant(minutes=-5)),
        poll.vote("eve", "green", instant(minutes=-4)), poll.vote("dan", None, instant(minutes=-6)),
    )
    shown(stack, poll, ["bob", "eve", "dan"])
    # Another actor's has no effect, nor has one behind the end that there is.
    stack.apply(poll.close(instant(minutes=-9), unique("stranger")))
    shown(stack, poll)
    assert stack.read(path(poll.id))["state"] == "open"
    for at, votes in ((instant(minutes=-3), 2), (instant(minutes=-7), 1), (instant(minutes=-5), 1)):
        stack.apply(poll.close(at))
        shown(stack, poll, ["bob", "eve", "dan"])
        found = stack.read(path(poll.id, "bob"))
        assert (found["state"], found["votes"]) == ("closed", votes), at
    assert found["vote"] == "red" and found["closes_at"] == poll.ends[1]
    # What comes late counts if it is of before the end.
    stack.apply(poll.vote("late", "blue", instant(minutes=-8)), poll.vote("later", "blue", instant(minutes=-6)))
    shown(stack, poll, ["late", "later"])
    # Before it has opened.
    stack.apply(poll.close(instant(minutes=-11)))
    shown(stack, poll, ["bob", "late"])
    assert stack.read(path(poll.id, "bob"))["votes"] == 0
    assert stack.dead_letters() == []


def test_closed_before_it_is_known(stack):
    poll = Asked(instant(minutes=-10), instant(minutes=10))
    ends = [poll.close(instant(minutes=-5)), poll.close(instant(minutes=-6)), poll.close(instant(minutes=-8), "mallory")]
    votes = [poll.vote("bob", "red", instant(minutes=-7)), poll.vote("eve", "red", instant(minutes=-5.5))]
    stack.apply(*votes, *ends, poll.opening)
    shown(stack, poll, ["bob", "eve"])
    assert stack.read(path(poll.id, "bob"))["votes"] == 1


def test_its_state_by_the_clock(stack):
    polls = {
        "upcoming": Asked(instant(days=1), instant(days=2)),
        "open": Asked(instant(days=-1), instant(days=1)),
        "closed": Asked(instant(days=-2), instant(days=-1)),
    }
    soon = Asked(instant(seconds=2), instant(seconds=4))
    stack.apply(soon.opening, *(poll.opening for poll in polls.values()))
    for state, poll in polls.items():
        shown(stack, poll)
        assert stack.read(path(poll.id))["state"] == state
    seen = []

    def is_closed():
        before, found, after = soon.answer(), stack.read(path(soon.id)), soon.answer()
        assert found in (before, after)
        seen.append(found["state"])
        return found["state"] == "closed"

    until(is_closed, "the poll to close by itself")
    assert "open" in seen and seen == sorted(seen, key=["upcoming", "open", "closed"].index)


def test_its_id_belongs_to_the_first(own_stack):
    stack, poll = own_stack, Asked("2026-01-10T12:00:00.000Z", instant(minutes=10), payload={"title": "Who?"})
    stack.apply(poll.opening)
    same = poll.opening | {"opens_at": "2026-01-10T21:00:00+09:00", "surplus": 1}
    stack.apply(poll.opening, same)
    assert stack.dead_letters() == []
    others = [
        {"actor_id": "mallory"}, {"choices": COLORS[::-1]}, {"choices": COLORS[:2]}, {"closes_at": instant(minutes=11)},
        {"opens_at": "2026-01-10T12:00:00.001Z"}, {"payload": {"title": "Who"}},
    ]
    sent = stack.send(*(poll.opening | other for other in others))
    letters = {id: stack.dead_letter(id) for id in sent}
    assert {letter["reason"] for letter in letters.values()} == {"conflict"}
    stack.apply(poll.vote("bob", "red", instant(minutes=-5)))
    shown(stack, poll, ["bob"])


def test_what_cannot_be_asked_for(stack):
    poll = Asked(instant(minutes=-10), instant(minutes=10))
    stack.apply(poll.opening, poll.vote("bob", "red", instant(minutes=-5)))
    for target, parameter in (
        ("/v1/polls/a%20b", "poll_id"), (f"/v1/polls/{'x' * 129}", "poll_id"), (path(poll.id, "b%20ob"), "viewer"),
        (path(poll.id, "bob") + "&viewer=eve", "viewer"),
    ):
        answer = stack.request(target)
        assert (answer.status, answer.json.get("parameter")) == (400, parameter), target
    for target in (path(unique("nowhere")), f"{path(poll.id)}/votes", "/v1/polls", "/v1/polls/"):
        assert stack.request(target).status == 404, target
    assert stack.request(path(poll.id), "POST").status == 405
    shown(stack, poll)
    assert stack.read(path(poll.id) + "?limit=0&x=1") == poll.answer()


def test_viewers_see_their_own_vote():
    with Stack("--auth") as stack:
        poll = Asked(instant(minutes=-10), instant(minutes=10))
        stack.apply(poll.opening, poll.vote("bob", "red", instant(minutes=-5)), poll.vote("eve", "blue", instant(minutes=-5)))
        own = lambda viewer: bearing(token(stack, sub=viewer))
        until(lambda: stack.read(path(poll.id), own("bob")) == poll.answer("bob"), "the sums")
        assert stack.read(path(poll.id, "eve"), own("eve")) == poll.answer("eve")
        assert stack.read(path(poll.id), own("nobody-in-particular")) == poll.answer()
        assert stack.request(path(poll.id, "bob"), headers=own("eve")).status == 403
        assert stack.request(path(poll.id)).status == 401


# Anything in any order ----------------------------------------------------------------------------------------------

def election(chance, voters, length):
    """A poll with votes at few instants, most of them at the bounds; ends and strangers' ends."""
    day = f"2025-{chance.randrange(1, 13):02d}-{chance.randrange(1, 29):02d}"
    minute = lambda number, millis=0: instant_of(day, number, millis)
    poll = Asked(minute(10), minute(40), chance.sample(["a", "B", "c-1", "D:d", "e.e", "f"], chance.randrange(2, 7)))
    bounds = [10, 20, 30, 40]
    instants = [minute(m, off) for m in bounds for off in (-1, 0, 1)] + [minute(m) for m in (5, 15, 25, 35, 45)]
    for _ in range(length):
        viewer = chance.choice(voters)
        if chance.random() < 0.1:
            # At instants of their own: test_what_is_no_choice_loses_a_tie is about the others.
            poll.vote(viewer, chance.choice(["A", "z", "nothing"]), minute(chance.choice(bounds), 7))
        else:
            choice = None if chance.random() < 0.15 else chance.choice(poll.choices)
            poll.vote(viewer, choice, chance.choice(instants))
    for _ in range(chance.choice([0, 0, 1, 2])):
        poll.close(minute(chance.choice([5, 10, 20, 30, 40, 50]), chance.choice([-1, 0, 1])))
    if chance.random() < 0.5:
        poll.close(minute(chance.choice([5, 15, 25])), unique("stranger"))
    return poll


def instant_of(day, minute, millis):
    total = minute * 60_000 + millis
    return f"{day}T12:{total // 60_000:02d}:{total // 1000 % 60:02d}.{total % 1000:03d}Z"


def shuffled(chance, polls, share=0.3):
    commands = [command for poll in polls for command in poll.commands]
    commands += chance.sample(commands, int(len(commands) * share))
    chance.shuffle(commands)
    return commands


@pytest.mark.parametrize("seed", range(3))
def test_in_any_order_against_a_recount(stack, seed):
    chance, voters = random.Random(seed), [unique("voter") for _ in range(12)]
    polls = [election(chance, voters, 90) for _ in range(8)]
    stack.send(*shuffled(chance, polls))
    stack.drain()
    for poll in polls:
        shown(stack, poll, voters)
    assert stack.dead_letters() == []


def test_while_things_go_wrong():
    chance, voters = random.Random(17), [f"v{n}" for n in range(30)]
    polls = [election(chance, voters, 150) for _ in range(6)]
    with Stack("--faults=all=4%,missing=1%,slow=5ms,seed=5") as stack:
        stack.send(*shuffled(chance, polls))
        letters, redriven = redrive_all_but_the_bad(stack)
        assert letters == []
        for poll in polls:
            shown(stack, poll, voters, seconds=60)
        print(f"{sum(len(poll.commands) for poll in polls)} commands, {redriven} redriven")


# Very many ----------------------------------------------------------------------------------------------------------

def crowd(chance, voters):
    """A poll of very many: some change their mind, some take it back, some are late or vote for nothing."""
    poll = Asked(instant(minutes=-30), instant(minutes=30), ["red", "blue", "green", "none-of-these"])
    at = [instant(minutes=-25, seconds=n) for n in range(1200)]
    for n in range(voters):
        viewer, first = f"v{n}", chance.randrange(1000)
        poll.vote(viewer, chance.choice(poll.choices), at[first])
        more = chance.random()
        if more < 0.05:
            poll.vote(viewer, chance.choice(poll.choices), at[first + chance.randrange(1, 200)])
        elif more < 0.07:
            poll.vote(viewer, None, at[first + chance.randrange(-9, 9)])
        elif more < 0.08:
            poll.vote(viewer, "purple", at[first + 1])
        elif more < 0.09:
            poll.vote(viewer, chance.choice(poll.choices), instant(minutes=-31))
    return poll


def lines(folder, commands):
    file = folder / "commands.jsonl"
    file.write_text("".join(json.dumps(command) + "\n" for command in commands))
    return file


def test_very_many_voters(tmp_path):
    """They come before the poll and after, a part of them twice; then it is closed early. Faults all the while."""
    chance = random.Random(100)
    poll = crowd(chance, CROWD)
    commands = shuffled(chance, [poll], 0.03)
    viewers = [f"v{n}" for n in chance.sample(range(CROWD), 50)]
    with Stack("--faults=duplicates=5%,late=5%,errors=0.2%,lost-answers=0.2%,throttles=0.2%,seed=9") as stack:
        stack.cli("publish", "--file", lines(tmp_path, commands), timeout=300)
        redrive_all_but_the_bad(stack)
        shown(stack, poll, viewers, seconds=60)
        before = poll.counts()
        stack.apply(poll.close(instant(minutes=-15)))
        shown(stack, poll, viewers, seconds=60)
        assert sum(one["votes"] for one in poll.counts()) < 0.9 * sum(one["votes"] for one in before)
        print(f"{len(commands)} commands: {before}, closed early {poll.counts()}")


def test_killed_while_they_vote(tmp_path):
    """What was accepted counts, once, although the stack dies while it folds; `publish` is run again until it is through."""
    chance, port = random.Random(3), free_port()
    poll = crowd(chance, VOTERS)
    poll.close(instant(minutes=-12))
    viewers = [f"v{n}" for n in chance.sample(range(VOTERS), 30)]
    file = lines(tmp_path, shuffled(chance, [poll], 0.05))
    args = ("--data-dir", tmp_path / "data", "--faults=all=0.5%,seed=3")
    command = [NAGARE, "publish", "--file", str(file)]
    start = lambda stack: subprocess.Popen(command, env=stack.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    stack = Stack(*args, port=port)
    try:
        stack.send(poll.opening)
        publishing = start(stack)
        for share in (0.1, 0.3, 0.5):
            counted = lambda: patiently(stack, path(poll.id))["votes"] >= share * VOTERS * 0.5 or publishing.poll() is not None
            until(lambda: stack.request(path(poll.id)).status == 200 and counted(), "votes to be counted", 60 + VOTERS // 100)
            stack.kill()
            stack = Stack(*args, port=port)
            if publishing.poll() is not None:
                publishing = start(stack)
        if publishing.wait(300 + VOTERS // 50) != 0:
            assert start(stack).wait(300 + VOTERS // 50) == 0
        redrive_all_but_the_bad(stack)
        shown(stack, poll, viewers, seconds=60 + VOTERS // 100)
        print(f"{VOTERS} voters, three deaths: {poll.counts()}")
    finally:
        stack.kill()

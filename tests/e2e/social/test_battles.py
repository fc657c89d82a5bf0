"""Battles: hits land one after another, each once; exactly one is the last, and every later one is late for good.

The order is the stack's to decide, so what is compared is what any order has in common: `settled` says what.
"""

import os
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import botocore.exceptions
import pytest
from botocore.config import Config
from conftest import Stack, body, free_port, hit, instant, open_battle, unique, until
from test_faults import redrive_all_but_the_bad
from test_http import bearing, token
from test_polls import patiently, shuffled

PLAYERS = int(os.environ.get("NAGARE_PLAYERS", "200"))


class Fight:
    """A battle as its commands say it."""

    def __init__(self, hp, payload=None):
        self.id, self.actor, self.hp, self.payload = unique("battle"), unique("actor"), hp, payload
        self.opening = open_battle(self.actor, self.id, hp, instant(minutes=-30), payload=payload)
        self.commands, self.hits = [self.opening], {}

    def hit(self, viewer, damage, at=None):
        command = hit(viewer, self.id, f"h-{len(self.hits)}", damage, at or instant(minutes=-(len(self.hits) % 29)))
        self.commands.append(command)
        self.hits[command["hit_id"]] = command
        return command

    def state_of(self, stack, id):
        found = patiently(stack, path(self.id, hit=id))
        said = {name: self.hits[id][name] for name in ("hit_id", "viewer_id", "damage", "at")}
        assert found == said | {"state": found["state"]}, id
        return found["state"]


def path(battle, viewer=None, hit=None):
    return f"/v1/battles/{battle}" + (f"/hits/{hit}" if hit else "") + (f"?viewer={viewer}" if viewer else "")


def at_rest(stack, fight, hits, seconds=30):
    """Waits until N hits have landed, or the boss is defeated; returns the battle."""
    found = {}

    def is_so():
        found.update(patiently(stack, path(fight.id)))
        return found["hits"] == hits or found["state"] == "defeated"

    try:
        until(is_so, f"{fight.id} to be fought out", seconds)
    except AssertionError as late:
        raise AssertionError(f"{late}: {hits} hits, and {found}") from None
    return found


def settled(stack, fight, sample=None, seconds=30):
    """Waits until all is decided, and checks everything that holds in whatever order they have landed. Of very many hits
    and viewers only a sample is asked for, and what needs all of them is left out. Returns the battle."""
    battle = at_rest(stack, fight, len(fight.hits), seconds)
    states, ids = {}, list(fight.hits)

    def decided(id):
        states[id] = fight.state_of(stack, id)
        return states[id] != "pending"

    for id in sample or ids:
        until(lambda id=id: decided(id), f"{id} to be decided", seconds)
    battle = patiently(stack, path(fight.id))
    everything = sum(one["damage"] for one in fight.hits.values())
    last = battle["last_hit"]
    expected = {
        "battle_id": fight.id, "actor_id": fight.actor, "payload": fight.payload, "hp": fight.hp, "viewer": None,
        "state": "defeated" if everything >= fight.hp else "open", "hp_left": max(0, fight.hp - everything),
    }
    assert {name: battle[name] for name in expected} == expected
    if not fight.hits:
        assert (battle["hits"], last) == (0, None)
        return battle
    assert last == {name: fight.hits[last["hit_id"]][name] for name in ("hit_id", "viewer_id", "damage", "at")}
    assert fight.state_of(stack, last["hit_id"]) == "landed"
    if sample:
        return battle
    landed = [fight.hits[id] for id, state in states.items() if state == "landed"]
    assert len(landed) == battle["hits"] and Counter(states.values())["late"] == len(ids) - battle["hits"]
    damage = sum(one["damage"] for one in landed)
    if battle["state"] == "defeated":
        # What the last one has left over is its own.
        assert damage - last["damage"] < fight.hp <= damage
    else:
        assert damage == everything
    for viewer in {one["viewer_id"] for one in fight.hits.values()} | {unique("nobody")}:
        theirs = [one["damage"] for one in landed if one["viewer_id"] == viewer]
        share = patiently(stack, path(fight.id, viewer))["viewer"]
        assert share == {"hits": len(theirs), "damage": sum(theirs)}, viewer
    return battle


def test_hits_land_until_nothing_is_left(stack):
    fight = Fight(100, payload={"name": "Dragon", "n": 1.50})
    # Before the battle: nobody can see it yet, and they wait.
    early = fight.hit("bob", 30)
    stack.apply(early)
    assert stack.request(path(fight.id)).status == 404
    assert fight.state_of(stack, early["hit_id"]) == "pending"
    stack.apply(fight.opening)
    until(lambda: stack.read(path(fight.id))["hp_left"] == 70, "the first hit to land")
    settled(stack, fight)
    stack.apply(fight.hit("eve", 30), *2 * [fight.hit("bob", 39)], early)
    assert settled(stack, fight)["hp_left"] == 1
    # More than is left.
    stack.apply(fight.hit("dan", 10**9))
    battle = settled(stack, fight)
    assert (battle["state"], battle["hits"], battle["last_hit"]["viewer_id"]) == ("defeated", 4, "dan")
    stack.apply(fight.hit("eve", 5), fight.hit("late", 10**9), *list(fight.hits.values())[:4], fight.opening)
    assert fight.state_of(stack, "h-4") == fight.state_of(stack, "h-5") == "late"
    assert settled(stack, fight) == battle
    assert stack.dead_letters() == []


def test_a_battle_that_nobody_fights(stack):
    fight = Fight(10**15)
    stack.apply(fight.opening)
    assert settled(stack, fight)["last_hit"] is None
    stack.apply(fight.hit("bob", 10**9), fight.hit("bob", 1))
    assert settled(stack, fight)["hp_left"] == 10**15 - 10**9 - 1


def test_the_weakest_boss_and_many_early_hits(stack):
    """All wait, and exactly one lands."""
    fight = Fight(1)
    stack.send(*(fight.hit(f"v{n % 7}", n + 1) for n in range(60)))
    stack.drain()
    stack.apply(fight.opening)
    assert settled(stack, fight)["hits"] == 1


def test_ids_belong_to_the_first(own_stack):
    stack, fight, other = own_stack, Fight(1000), Fight(1000)
    first = fight.hit("bob", 7, "2026-01-10T12:00:00.000Z")
    stack.apply(fight.opening, other.opening, first)
    same = [fight.opening | {"surplus": 1}, first | {"at": "2026-01-10T21:00:00+09:00"}]
    stack.apply(*same, other.hit("bob", 9))
    assert stack.dead_letters() == []
    bad = [first | change for change in ({"damage": 8}, {"viewer_id": "eve"}, {"at": "2026-01-10T12:00:00.001Z"})]
    changes = ({"hp": 999}, {"actor_id": "mallory"}, {"payload": 1}, {"at": instant(minutes=-29)})
    bad += [fight.opening | change for change in changes]
    letters = [stack.dead_letter(id) for id in stack.send(*bad)]
    assert {letter["reason"] for letter in letters} == {"conflict"}
    assert (settled(stack, fight)["hp_left"], settled(stack, other)["hp_left"]) == (993, 991)


def test_what_cannot_be_asked_for(stack):
    fight = Fight(100)
    stack.apply(fight.opening, fight.hit("bob", 7))
    settled(stack, fight)
    for target, parameter in (
        ("/v1/battles/a%20b", "battle_id"), (f"/v1/battles/{'x' * 129}", "battle_id"), (path(fight.id, "b%20ob"), "viewer"),
        (path(fight.id, hit="h%23"), "hit_id"), (path("a%20b", hit="h-0"), "battle_id"),
        (path(fight.id, "bob") + "&viewer=eve", "viewer"),
    ):
        answer = stack.request(target)
        assert (answer.status, answer.json.get("parameter")) == (400, parameter), target
    nowhere = [path(unique("nowhere")), path(fight.id, hit="h-1"), path(unique("nowhere"), hit="h-0")]
    for target in [*nowhere, "/v1/battles", f"{path(fight.id)}/hits", f"{path(fight.id, hit='h-0')}/x"]:
        assert stack.request(target).status == 404, target
    for target in (path(fight.id), path(fight.id, hit="h-0")):
        assert stack.request(target, "POST").status == 405
    assert stack.read(path(fight.id, "bob"))["viewer"] == {"hits": 1, "damage": 7}


def test_viewers_see_their_own_share():
    with Stack("--auth") as stack:
        fight = Fight(100)
        stack.apply(fight.opening, fight.hit("bob", 7), fight.hit("eve", 8))
        own = lambda viewer: bearing(token(stack, sub=viewer))
        until(lambda: stack.read(path(fight.id), own("bob"))["hits"] == 2, "both hits")
        for target, caller, damage in (
            (path(fight.id), "bob", 7), (path(fight.id, "eve"), "eve", 8), (path(fight.id), "nobody-in-particular", 0),
        ):
            # What several viewers did together is told them a moment after it has landed.
            expected = {"hits": int(damage > 0), "damage": damage}
            until(lambda: stack.read(target, own(caller))["viewer"] == expected, f"the share of {caller}")
        assert stack.read(path(fight.id, hit="h-0"), own("eve"))["state"] == "landed"
        assert stack.request(path(fight.id, "bob"), headers=own("eve")).status == 403
        for target in (path(fight.id), path(fight.id, hit="h-0")):
            assert stack.request(target).status == 401


# Anything in any order ----------------------------------------------------------------------------------------------

def brawl(chance, viewers, hits):
    """Hits enough for the boss, or not quite."""
    damages = [chance.choice([1, 1, 2, 7, 80, 500]) for _ in range(hits)]
    fight = Fight(chance.choice([1, sum(damages) // 3, sum(damages), sum(damages) + 1]))
    for damage in damages:
        fight.hit(chance.choice(viewers), damage)
    return fight


@pytest.mark.parametrize("seed", range(3))
def test_in_any_order(stack, seed):
    chance = random.Random(seed)
    fights = [brawl(chance, [unique("v") for _ in range(9)], chance.choice([1, 9, 60])) for _ in range(6)]
    stack.send(*shuffled(chance, fights))
    stack.drain()
    for fight in fights:
        settled(stack, fight)
    assert stack.dead_letters() == []


def test_while_things_go_wrong():
    chance = random.Random(17)
    fights = [brawl(chance, [f"v{n}" for n in range(12)], 70) for _ in range(4)]
    with Stack("--faults=all=3%,missing=1%,slow=5ms,seed=5") as stack:
        stack.send(*shuffled(chance, fights))
        letters, redriven = redrive_all_but_the_bad(stack)
        assert letters == []
        for fight in fights:
            settled(stack, fight, seconds=150)
        print(f"{sum(len(fight.hits) for fight in fights)} hits, {redriven} redriven")


class Watcher(threading.Thread):
    """Looks at a battle all the time, as far as there is a stack to ask: nothing that it is shown ever goes back."""

    def __init__(self, lives, fight):
        super().__init__(daemon=True)
        self.lives, self.fight, self.ended, self.looks = lives, fight, threading.Event(), 0
        self.wrong, self.before, self.hits = [], None, {}

    def run(self):
        chance = random.Random(0)
        while not self.ended.wait(0.01):
            id = chance.choice(list(self.fight.hits))
            try:
                battle, one = (self.lives.stack.request(target) for target in (path(self.fight.id), path(self.fight.id, hit=id)))
            except OSError:
                # It is dead at this moment.
                continue
            if battle.status == 200:
                self.compare(battle.json)
            if one.status == 200:
                self.decided(id, one.json["state"])

    def compare(self, now):
        before, self.before, self.looks = self.before, now, self.looks + 1
        if before is None:
            return
        if now["hp_left"] > before["hp_left"] or now["hits"] < before["hits"]:
            self.wrong.append((before, now))
        if before["state"] == "defeated" and now != before:
            self.wrong.append((before, now))

    def decided(self, id, state):
        if self.hits.get(id, state) != state and self.hits[id] != "pending":
            self.wrong.append((id, self.hits[id], state))
        self.hits[id] = state

    def end(self):
        self.ended.set()
        self.join(timeout=30)
        assert self.wrong == []
        assert self.looks > 10


class Arena:
    """A stack that dies and comes back at the same ports, and a client for all players."""

    def __init__(self, *args):
        self.args, self.port = args, free_port()
        self.stack = Stack(*args, port=self.port)
        config = Config(max_pool_connections=PLAYERS, retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=30)
        self.sqs = self.stack._session.client("sqs", endpoint_url=self.stack.exports["AWS_ENDPOINT_URL_SQS"], config=config)
        self.queue = self.stack.queue_url

    def die(self):
        self.stack.kill()
        self.stack = Stack(*self.args, port=self.port)

    def send(self, commands):
        """Sends ten at once, again until they are accepted: nobody knows whether they were before."""
        entries = [{"Id": str(n), "MessageBody": body(command)} for n, command in enumerate(commands)]

        def is_accepted():
            try:
                return not self.sqs.send_message_batch(QueueUrl=self.queue, Entries=entries).get("Failed")
            except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError):
                return False

        until(is_accepted, "hits to be accepted", 60)


def test_two_hundred_players_and_a_stack_that_dies(tmp_path):
    """All hit at once, and every hit is sent twice; `kill -9` three times meanwhile. Then every hit is asked for."""
    chance, each = random.Random(200), 10
    fight = Fight(PLAYERS * each * 3)
    for player in range(PLAYERS):
        for _ in range(each):
            fight.hit(f"player-{player}", chance.randrange(1, 10))
    hits = list(fight.hits.values())
    arena = Arena("--data-dir", tmp_path / "data", "--faults=all=0.5%,seed=3")
    sent = []

    def play(player):
        theirs = hits[player * each : (player + 1) * each]
        for _ in range(2):
            arena.send(theirs)
            sent.append(player)

    try:
        arena.send([fight.opening])
        watcher = Watcher(arena, fight)
        watcher.start()
        with ThreadPoolExecutor(PLAYERS) as pool:
            players = [pool.submit(play, player) for player in range(PLAYERS)]
            for share in (0.1, 0.5, 1):
                until(lambda: len(sent) >= share * PLAYERS, "the players to hit", 60)
                arena.die()
        for player in players:
            player.result()
        redrive_all_but_the_bad(arena.stack)
        battle = settled(arena.stack, fight, seconds=60)
        watcher.end()
        assert battle["state"] == "defeated" and 0 < battle["hits"] < len(hits)
        # Once more, and some that are new: late, and nothing ever changes.
        arena.stack.send(*hits[::7], *(fight.hit("eve", 10**9) for _ in range(30)))
        arena.stack.drain(60)
        assert patiently(arena.stack, path(fight.id)) == battle
        assert {fight.state_of(arena.stack, f"h-{len(hits) + n}") for n in range(30)} == {"late"}
        print(f"{PLAYERS} players, {len(hits)} hits, each twice: {battle['hits']} landed, looked at {watcher.looks} times")
    finally:
        arena.stack.kill()

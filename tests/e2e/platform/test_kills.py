"""`kill -9` of the stack, again and again, while somebody imports, replays, redrives and repairs.

The stack comes back at the same ports, as after a crash; the command that was at work waits for it
and goes on, or is run again.

    NAGARE_KILLS=25 python -m pytest tests/e2e/platform/test_kills.py -rP      prints a row for each
"""

import json
import os
import random
import subprocess
import time

import pytest

from conftest import NAGARE, Stack, free_port, instant, publish, until

KILLS = int(os.environ.get("NAGARE_KILLS", "4"))
VIEWERS, ACTORS = [f"viewer-{n}" for n in range(150)], [f"actor-{n}" for n in range(20)]


class Lives:
    """One stack over several lives: the same directory, the same ports."""

    def __init__(self, folder):
        self.args, self.port, self.kills = ("--data-dir", folder / "data"), free_port(), 0
        self.chance = random.Random(7)
        self.stack = Stack(*self.args, port=self.port)

    def kill_and_restart(self):
        self.stack.kill()
        self.kills += 1
        self.stack = Stack(*self.args, port=self.port)

    def killed_while(self, *command):
        """Runs a command of `nagare`, from the start again if it gives up, until the stack was killed so
        often; returns what its last run, undisturbed, printed."""
        while self.kills < KILLS:
            running = self.start(*command)
            while self.kills < KILLS and running.poll() is None:
                # When is chance; nothing is waited for.
                time.sleep(self.chance.uniform(0.05, 0.8))
                self.kill_and_restart()
            if self.kills == KILLS:
                break
        done, _ = running.communicate(timeout=300)
        if running.returncode == 0:
            return done
        done, _ = self.start(*command).communicate(timeout=300)
        return done

    def start(self, *command):
        return subprocess.Popen([NAGARE, *map(str, command)], env=self.stack.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


@pytest.fixture
def lives(tmp_path):
    running = Lives(tmp_path)
    yield running
    running.stack.kill()


def edges(folder):
    file = folder / "follows.csv"
    file.write_text("follower,followee\n" + "".join(f"{viewer},{actor}\n" for viewer in VIEWERS for actor in ACTORS))
    return file


def redrive_what_gave_up(stack):
    """Every death is a receive of what was at work, so some commands may have had all five of theirs.
    Nobody kills any more: they are in effect once they are sent again. Returns how many these were."""
    redriven = 0
    for _ in range(5):
        stack.drain(120)
        letters = stack.dead_letters()
        if not letters:
            return redriven
        assert {letter["reason"] for letter in letters} == {"receives-exhausted"}
        redriven += len(letters)
        stack.cli("dead-letters", "redrive", "--all", timeout=300)
    raise AssertionError("dead letters come back permanently")


def compare(stack, expected, what, kills, redriven=0):
    """That every viewer has exactly these keys, and nobody else any."""
    redriven += redrive_what_gave_up(stack)
    found = [(entry["viewer_id"], entry["sort_key"]) for entry in stack.entries()]
    wanted = {(viewer, key) for viewer in VIEWERS for key in expected}
    lost, doubled, leaked = len(wanted - set(found)), len(found) - len(set(found)), len(set(found) - wanted)
    print(f"{what}: kill -9 {kills} times, {redriven} gave up and were redriven, {len(wanted)} entries: lost {lost}, doubled {doubled}, leaked {leaked}")
    assert (lost, doubled, leaked) == (0, 0, 0)
    shown = [item["activity_id"] for page in stack.walk(VIEWERS[0], limit=100) for item in page["items"]]
    assert shown == [key.split("#")[1] for key in sorted(expected, reverse=True)]


def one_each():
    return [publish(actor, f"{actor}-live", instant(minutes=-n)) for n, actor in enumerate(ACTORS)]


def keys(commands):
    return {f"{command['published_at']}#{command['activity_id']}" for command in commands}


def test_while_follows_are_imported(lives, tmp_path):
    commands = one_each()
    lives.stack.send(*commands)
    printed = lives.killed_while("follows", "import", edges(tmp_path))
    assert f"{len(VIEWERS) * len(ACTORS)} follows imported" in printed
    compare(lives.stack, keys(commands), "import", lives.kills)


def test_while_posts_are_replayed(lives, tmp_path):
    """The replay itself lives on. Commands that had all their receives died with the stack: it counts them."""
    lives.stack.cli("follows", "import", edges(tmp_path), timeout=300)
    posts = [(1_341_100_000 + 7 * n, ACTORS[n % len(ACTORS)]) for n in range(20 * KILLS)]
    file = tmp_path / "posts.csv"
    file.write_text("t,author,kind\n" + "".join(f"{t},{author},post\n" for t, author in posts))
    running = lives.start("replay", file, "--json")
    # A queue that has never answered is not waited for long.
    until(lambda: lives.stack.entries(VIEWERS[0]), "the replay to be in flight")
    while lives.kills < KILLS and running.poll() is None:
        time.sleep(lives.chance.uniform(0.05, 0.8))
        lives.kill_and_restart()
    printed, _ = running.communicate(timeout=300)
    result = json.loads(printed)
    assert running.returncode == (1 if result["dead_letters"] else 0)
    assert result["dead_letters"] == len(lives.stack.dead_letters())
    # A command whose answer was lost is on the queue twice: two letters may be of one activity.
    died = len(posts) - result["activities"]
    assert bool(died) == bool(result["dead_letters"]) and died <= result["dead_letters"]
    redriven = redrive_what_gave_up(lives.stack)
    assert redriven == result["dead_letters"]
    items = [item for page in lives.stack.walk(VIEWERS[0], limit=100) for item in page["items"]]
    assert [item["activity_id"] for item in items] == [f"{author}-{t}" for t, author in reversed(posts)]
    compare(lives.stack, {f"{item['published_at']}#{item['activity_id']}" for item in items}, "replay", lives.kills, redriven)


def test_while_dead_letters_are_redriven(lives, tmp_path):
    lives.stack.cli("follows", "import", edges(tmp_path), timeout=300)
    commands = [publish(ACTORS[n % len(ACTORS)], f"a{n}", instant(seconds=-n)) for n in range(60)]
    dead = lives.stack.exports["NAGARE_DEAD_LETTER_QUEUE_URL"]
    for command in commands:
        lives.stack.sqs.send_message(QueueUrl=dead, MessageBody=json.dumps(command))
    lives.stack.drain(120)
    letters = [letter["id"] for letter in lives.stack.dead_letters()]
    assert len(letters) == len(commands)
    # What anybody put there is sent again by its id alone.
    lives.killed_while("dead-letters", "redrive", *letters)
    compare(lives.stack, keys(commands), "redrive", lives.kills)


def test_while_timelines_are_repaired(lives, tmp_path):
    stack, commands = lives.stack, one_each()
    stack.cli("follows", "import", edges(tmp_path), timeout=300)
    stack.send(*commands)
    stack.drain(120)
    # A third of all entries is gone, and every viewer has one that belongs to nobody.
    for n, entry in enumerate(stack.entries()):
        if n % 3 == 0:
            key = {name: {"S": entry[name]} for name in ("viewer_id", "sort_key")}
            stack.dynamodb.delete_item(TableName=stack.table, Key=key)
    for viewer in VIEWERS:
        stray = {"viewer_id": viewer, "sort_key": f"{instant(minutes=-5)}#stray", "actor_id": "nobody"}
        stack.dynamodb.put_item(TableName=stack.table, Item={name: {"S": value} for name, value in stray.items()})
    lives.killed_while("audit", "--sample", len(VIEWERS), "--repair")
    audited = lives.stack.cli("audit", "--sample", len(VIEWERS), timeout=300)
    assert "0 differences" in audited.stderr
    compare(lives.stack, keys(commands), "repair", lives.kills)

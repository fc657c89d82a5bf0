"""`kill -9` of a stack with a data directory: what was acknowledged is there, and nothing else."""

import json
import subprocess

import pytest

from botocore.exceptions import BotoCoreError, ClientError

from conftest import NAGARE, Stack, delete, follow, ids, instant, publish, unfollow, until

VIEWERS, ACTORS, EACH = 100, 20, 15
"""2,000 follows and 300 publishes: 30,000 entries."""


@pytest.fixture
def data(tmp_path):
    return tmp_path / "data"


class Lives:
    """One stack over several lives: the same directory, a new process, new ports."""

    def __init__(self, data):
        self.data = data
        self.stack = Stack("--data-dir", data)

    def kill_and_restart(self):
        self.stack.kill()
        self.stack = Stack("--data-dir", self.data)
        return self.stack

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.kill()


@pytest.fixture
def lives(data):
    with Lives(data) as running:
        yield running


def follows():
    return [(f"viewer-{v}", f"actor-{a}") for v in range(VIEWERS) for a in range(ACTORS)]


def publishes():
    """Spread over a day, so that keys differ."""
    return [publish(f"actor-{a}", f"activity-{a}-{n}", instant(minutes=-a - 60 * n)) for a in range(ACTORS) for n in range(EACH)]


def whole(stack, commands):
    """Asserts that every viewer has every activity once, and that nothing else is anywhere."""
    stack.drain(120)
    keys = {f"{command['published_at']}#{command['activity_id']}" for command in commands}
    found = [(entry["viewer_id"], entry["sort_key"]) for entry in stack.entries()]
    assert len(found) == VIEWERS * len(keys)
    assert {viewer for viewer, _ in found} == {f"viewer-{v}" for v in range(VIEWERS)}
    # The character between the two parts is the product's own choice.
    ends = {(viewer, key[:24], key[-len("activity-0-0") :].lstrip("#")) for viewer, key in found}
    assert len(ends) == len(found)
    assert stack.dead_letters() == []
    timeline = sum((ids(page) for page in stack.walk("viewer-7", limit=100)), [])
    newest_first = sorted(commands, key=lambda one: (one["published_at"], one["activity_id"]), reverse=True)
    assert timeline == [command["activity_id"] for command in newest_first]


def import_csv(stack, folder):
    file = folder / "follows.csv"
    file.write_text("follower,followee\n" + "".join(f"{one},{other}\n" for one, other in follows()))
    return subprocess.Popen([NAGARE, "follows", "import", file], env=stack.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_killed_in_the_middle_of_an_import_and_of_a_fan_out(lives, tmp_path):
    stack = lives.stack
    commands = publishes()
    stack.send(*commands[: len(commands) // 2])
    running = import_csv(stack, tmp_path)
    try:
        until(lambda: len(stack.entries()) > 100, "the import to be in flight")
        stack = lives.kill_and_restart()
    finally:
        # It would look for the former ports; it can be run again.
        running.kill()
        running.wait()
    assert import_csv(stack, tmp_path).wait(timeout=90) == 0
    # Each kill once another quarter has been done.
    stack.send(*commands[len(commands) // 2 :])
    for left in (110, 70, 30):
        until(lambda: stack.waiting() <= left, f"{left} commands to be left")
        stack = lives.kill_and_restart()
    whole(stack, commands)


def test_killed_while_commands_are_sent(lives):
    """Whoever sends learns nothing of the last call: what was not acknowledged is sent again."""
    commands = [follow(one, other) for one, other in follows()] + publishes()
    batches = [commands[n : n + 10] for n in range(0, len(commands), 10)]
    kills = iter((20, 80, 140, 200, 221))
    next_kill = next(kills)
    acknowledged = 0
    while acknowledged < len(batches):
        if acknowledged == next_kill:
            lives.stack.process.kill()
            next_kill = next(kills, None)
        try:
            lives.stack.send(*batches[acknowledged])
            acknowledged += 1
        except (BotoCoreError, ClientError):
            lives.kill_and_restart()
    whole(lives.stack, commands[len(follows()) :])


def test_what_was_acknowledged_survives_a_kill_at_once(lives):
    """Not even in effect yet: on the queue, and that is enough. A kill may be a receive, of which each command has five."""
    turns = range(4)
    for turn in turns:
        lives.stack.send(follow(f"bob-{turn}", "anna"), publish("anna", f"a-{turn}", instant(minutes=-9 + turn)))
        lives.kill_and_restart()
    lives.stack.drain()
    everything = [f"a-{turn}" for turn in turns][::-1]
    for turn in turns:
        assert lives.stack.timeline(f"bob-{turn}") == everything
    assert lives.stack.dead_letters() == []


def test_deletes_and_unfollows_stay(lives):
    stack = lives.stack
    stack.apply(follow("bob", "anna", instant(seconds=-9)), follow("bob", "ben"), publish("anna", "a"), publish("ben", "b"), publish("ben", "c"))
    stack.send(delete("ben", "b"), unfollow("bob", "anna", instant(seconds=-8)), delete("ben", "later"))
    stack = lives.kill_and_restart()
    stack.drain()
    stack.apply(publish("ben", "later"))
    assert stack.timeline("bob") == ["c"]


def test_cursors_outlive_a_restart(lives):
    stack = lives.stack
    names = [f"a-{n}" for n in range(9)]
    stack.send(follow("bob", "anna"), *(publish("anna", name, instant(minutes=-20 + n)) for n, name in enumerate(names)))
    stack.drain()
    first = stack.page("bob", limit=4)
    stack = lives.kill_and_restart()
    assert stack.timeline("bob", cursor=first["next_cursor"]) == names[4::-1]
    assert stack.timeline("bob", cursor=first["newer_cursor"]) == []
    stack.apply(publish("anna", "new"))
    assert stack.timeline("bob", cursor=first["newer_cursor"]) == ["new"]


def test_dead_letters_outlive_a_restart_and_can_be_redriven_after_it(lives):
    stack = lives.stack
    big = "x" * 1_000_000
    sent = [*stack.send("not json", "{}"), *stack.send(big)]
    # Killed before, while or after they are stored: each is there once in the end.
    stack = lives.kill_and_restart()
    stack.drain()
    assert sorted(letter["id"] for letter in stack.dead_letters()) == sorted(sent)
    stack = lives.kill_and_restart()
    assert json.loads(stack.cli("dead-letters", "show", sent[2]).stdout)["body"] == big
    stack.cli("dead-letters", "redrive", "--all")
    stack = lives.kill_and_restart()
    stack.drain()
    assert sorted(letter["id"] for letter in stack.dead_letters()) == sorted(sent)


def test_ctrl_c_keeps_everything_too(lives):
    lives.stack.send(follow("bob", "anna"), publish("anna", "a"))
    lives.stack.process.terminate()
    assert lives.stack.process.wait(timeout=20) == 0
    stack = lives.kill_and_restart()
    stack.drain()
    assert stack.timeline("bob") == ["a"]


def test_nothing_is_kept_without_a_data_directory(tmp_path):
    with Stack() as stack:
        stack.apply(follow("bob", "anna"), publish("anna", "a"))
    with Stack() as stack:
        assert stack.entries() == []


def test_two_stacks_on_two_directories_know_nothing_of_each_other(tmp_path):
    with Stack("--data-dir", tmp_path / "one") as one, Stack("--data-dir", tmp_path / "two") as two:
        one.apply(follow("bob", "anna"), publish("anna", "a"))
        assert one.timeline("bob") == ["a"] and two.timeline("bob") == []
        assert two.entries() == []

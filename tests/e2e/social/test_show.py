"""Polls and battles from the command line: opened, voted in, hit, shown, and watched to their ends."""

import json
import subprocess
import time

from conftest import NAGARE, instant, unique, until


def open_poll(stack, *more):
    poll = unique("poll")
    stack.cli("poll", "open", poll, "--actor", "anna", "--choice", "red", "--choice", "blue", *more, "--wait")
    return poll


def shown(stack, what, one, *more):
    [answer] = stack.cli_json(what, "show", one, "--json", *more)
    return answer


def watched(stack, *args):
    return subprocess.Popen([NAGARE, *args, "--watch"], env=stack.env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def ended(process, timeout=60):
    output, said = process.communicate(timeout=timeout)
    assert process.returncode == 0, said
    return output.splitlines()


def test_a_poll(stack):
    poll = open_poll(stack, "--for", "1h", "--payload", '{"title":"Who?"}')
    for viewer, choice in ("bob", "red"), ("eve", "blue"), ("dan", "red"):
        stack.cli("vote", viewer, poll, choice)
    stack.cli("vote", "dan", poll, "--withdraw", "--wait")
    until(lambda: shown(stack, "poll", poll)["votes"] == 2, "two votes")
    answer = shown(stack, "poll", poll, "--viewer", "bob")
    assert (answer["state"], answer["vote"], answer["payload"]) == ("open", "red", {"title": "Who?"})
    lines = stack.cli("poll", "show", poll, "--viewer", "dan").stdout.splitlines()
    assert lines[0].startswith(f"{poll}  open for ") and "2 votes" in lines[0]
    assert [line.split()[0] for line in lines[1:3]] == ["red", "blue"]
    assert all(len(line) == 80 and line.endswith("1   50.0 %") for line in lines[1:3]), lines
    assert lines[3] == "no vote of dan counts"
    overtaken = stack.cli("poll", "close", poll, "--actor", "eve", "--wait", code=1)
    assert "another actor's" in overtaken.stderr
    stack.cli("poll", "close", poll, "--actor", "anna", "--wait")
    until(lambda: shown(stack, "poll", poll)["state"] == "closed", "the end")
    assert shown(stack, "poll", poll)["votes"] == 2


def test_a_poll_is_watched_to_its_end(stack):
    poll = open_poll(stack, "--for", "6s")
    text, objects = watched(stack, "poll", "show", poll), watched(stack, "poll", "show", poll, "--json")
    assert text.stdout.readline().startswith("open      0 votes  red 0 (0.0 %)  blue 0 (0.0 %)")
    stack.cli("vote", "bob", poll, "blue")
    lines, answers = ended(text), [json.loads(line) for line in ended(objects)]
    assert lines[-1] == "closed    1 vote  red 0 (0.0 %)  blue 1 (100.0 %)"
    assert (answers[0]["votes"], answers[-1]["votes"], answers[-1]["state"]) == (0, 1, "closed")
    # One line for each change, and no other.
    assert len(set(lines)) == len(lines) and len(answers) <= 4


def test_a_battle_is_watched_until_the_boss_is_defeated(stack):
    battle = unique("battle")
    watch = watched(stack, "battle", "show", battle, "--viewer", "bob")
    # It waits for a battle that is not there yet.
    stack.cli("battle", "open", battle, "--actor", "anna", "--hp", "100", "--wait")
    assert watch.stdout.readline().startswith("open      100 of 100 left (100.0 %), 0 hits")
    at = instant()
    for _ in range(3):
        stack.cli("battle", "hit", battle, "bob", "60", "--hit-id", "h-1", "--at", at, "--wait")
    [first] = stack.cli_json("battle", "hit", battle, "eve", "60", "--json", "--wait")
    assert first["state"] == "applied" and first["hit_id"]
    lines = ended(watch)
    assert lines[-1] == f"defeated  0 of 100 left (0.0 %), 2 hits; the last: {first['hit_id']} of eve, 60 damage"
    lines = stack.cli("battle", "show", battle, "--viewer", "bob").stdout.splitlines()
    assert lines[0] == f"{battle}  defeated, 2 hits" and lines[-1] == "bob: 1 hit, 60 damage"
    assert shown(stack, "battle", battle)["viewer"] is None
    [second] = stack.cli_json("battle", "hit", battle, "eve", "60", "--json")
    assert second["hit_id"] != first["hit_id"]


def test_mistakes_say_how_to_mend_them(stack):
    poll = open_poll(stack, "--for", "1m")
    opening = ("poll", "open", unique("poll"), "--actor", "anna")
    for args, code, said in (
        ((*opening, "--choice", "red", "--for", "60s"), 2, "give --choice once for each"),
        ((*opening, "--choice", "red", "--choice", "red", "--for", "60s"), 2, "give each choice once"),
        ((*opening, "--choice", "red", "--choice", "blue"), 2, "--for"),
        ((*opening, "--choice", "red", "--choice", "blue", "--for", "soon"), 2, "such as 15m"),
        (("poll", "open", poll, "--actor", "anna", "--choice", "x", "--choice", "y", "--for", "1m", "--wait"), 1, "used before"),
        (("vote", "bob", poll), 2, "--withdraw"),
        (("vote", "bob", poll, "red", "--withdraw"), 2, "cannot be used with"),
        (("battle", "open", "b", "--actor", "anna", "--hp", "0"), 2, "1 to 1000000000000000"),
        (("battle", "hit", "b", "bob", "-1"), 2, "-1"),
        (("battle", "hit", "b", "bob", "1000000001"), 2, "1 to 1000000000"),
        (("poll", "show", "of-nobody"), 1, "nagare poll open"),
        (("battle", "show", "of-nobody"), 1, "nagare battle open"),
    ):
        assert said in stack.cli(*args, code=code).stderr, args
    stack.cli("dead-letters", "drop", "--all")


def test_watching_gives_up_on_what_never_comes(stack):
    begun = time.monotonic()
    assert "there is no poll" in stack.cli("poll", "show", "of-nobody", "--watch", code=1).stderr
    assert 9 < time.monotonic() - begun < 30

"""`nagare dead-letters` with few letters and with many: by reason first, and one command for all of a reason."""

import itertools
import json
import re
import subprocess

import pytest

from conftest import NAGARE, follow, instant, measured, on_a_terminal, publish, until

LINE = re.compile(r"(?P<reason>[a-z-]+) +(?P<count>\d+)  latest (?P<latest>\S+)  example (?P<id>\S+)  (?P<detail>.*)")


def groups(stack):
    """What `list` says of each reason, in its order."""
    lines = stack.cli("dead-letters", "list").stdout.splitlines()
    return [LINE.fullmatch(line).groupdict() for line in lines]


def put(stack, letters):
    """Letters as the table keeps them, many at once."""
    table, letters = stack.exports["NAGARE_DEAD_LETTERS_TABLE"], iter(letters)
    while some := list(itertools.islice(letters, 25)):
        requests = [{"PutRequest": {"Item": stored(letter)}} for letter in some]
        answer = stack.dynamodb.batch_write_item(RequestItems={table: requests})
        assert not answer["UnprocessedItems"]


def stored(letter):
    values = {"part": "letter", "message_id": letter["id"], "detail": "a detail", "sent_at": letter["stored_at"], "digest": "d", "evidence": "redrive", **letter}
    numbers = {"receive_count": {"N": "5"}, "parts": {"N": "1"}}
    return {name: {"S": value} for name, value in values.items()} | numbers


def letter(n, reason, body="not json", **more):
    return {"id": f"{reason}-{n:05}", "reason": reason, "stored_at": instant(seconds=n - 100_000), "body": body, **more}


@pytest.fixture
def letters(own_stack):
    """Three that are not JSON, two of no type, and one conflict."""
    own_stack.apply(publish("anna", "taken", instant(minutes=-1)))
    own_stack.send(*["not json"] * 3, *['{"type":"x"}'] * 2, publish("ben", "taken", instant(minutes=-1)))
    own_stack.drain()
    until(lambda: len(own_stack.dead_letters()) == 6, "six dead letters")
    return own_stack


def by_reason(stack):
    found = {}
    for one in stack.dead_letters():
        found.setdefault(one["reason"], []).append(one["id"])
    return found


def test_the_list_begins_with_the_reasons(letters):
    found = groups(letters)
    assert [(group["reason"], group["count"]) for group in found] == [("not-json", "3"), ("unknown-type", "2"), ("conflict", "1")]
    for group in found:
        listed = [one for one in letters.dead_letters() if one["reason"] == group["reason"]]
        assert group["latest"] == listed[-1]["stored_at"] and group["id"] in [one["id"] for one in listed]
    assert not any(group["detail"].startswith("(unverified)") for group in found), "the writer has sealed them"


def test_refusals_beyond_a_thousand_of_a_subject_are_counted(own_stack):
    own_stack.apply(publish("anna", "taken", instant(minutes=-1)))
    own_stack.send(*[publish("ben", "taken", instant(minutes=-1))] * 1_010, publish("eve", "taken", instant(minutes=-1)), '{"type":"x"}')
    own_stack.drain()
    until(lambda: len(own_stack.dead_letters()) == 1_002, "a thousand of ben, and two")
    found = {group["reason"]: group for group in groups(own_stack)}
    assert (found["conflict"]["count"], found["unknown-type"]["count"]) == ("1001", "1")
    assert found["conflict"]["detail"].endswith("  and 10 without a letter, 1011 refused in 30 days")
    assert "without a letter" not in found["unknown-type"]["detail"]
    more = {(one["reason"], one.get("refusals_without_letter")) for one in own_stack.dead_letters()}
    assert more == {("conflict", 10), ("unknown-type", None)}
    # What can never be applied is not sent again, unless it is named.
    done = own_stack.cli("dead-letters", "redrive", "--all")
    assert (done.stdout, "1002 dead letters are left out" in done.stderr) == ("0 dead letters sent again\n", True)
    assert own_stack.cli("dead-letters", "redrive", "--reason", "unknown-type").stdout == "1 dead letter sent again\n"
    # A command without a letter is told of as well.
    waited = own_stack.cli("publish", "--actor", "ben", "--activity", "taken", "--wait", code=1)
    assert "(conflict)" in waited.stderr, waited.stderr


def test_letters_of_a_reason_are_listed_and_limited(letters):
    ids = by_reason(letters)
    lines = letters.cli("dead-letters", "list", "--reason", "not-json").stdout.splitlines()
    assert [line.split()[0] for line in lines] == ids["not-json"]
    listed = letters.cli_json("dead-letters", "list", "--reason", "unknown-type", "--json")
    assert [one["id"] for one in listed] == ids["unknown-type"] and all("body" not in one for one in listed)
    limited = letters.cli("dead-letters", "list", "--limit", "2")
    assert len(limited.stdout.splitlines()) == 2 and "the latest 2 of 6" in limited.stderr
    assert letters.dead_letters()[-2:] == letters.cli_json("dead-letters", "list", "--limit", "2", "--json")


def test_all_of_a_reason_and_nothing_else(letters):
    ids = by_reason(letters)
    shown = json.loads("[" + letters.cli("dead-letters", "show", "--reason", "unknown-type").stdout.replace("}\n{", "},{") + "]")
    assert sorted(one["id"] for one in shown) == sorted(ids["unknown-type"]) and {one["body"] for one in shown} == {'{"type":"x"}'}
    assert "1 dead letter dropped" in letters.cli("dead-letters", "drop", "--reason", "not-json", "--limit", "1").stdout
    assert "2 dead letters dropped" in letters.cli("dead-letters", "drop", "--reason", "not-json").stdout
    assert "not-json" not in by_reason(letters)
    # Nothing is left to do, as for a command that is run again.
    assert "0 dead letters dropped" in letters.cli("dead-letters", "drop", "--reason", "not-json").stdout
    assert "1 dead letter sent again" in letters.cli("dead-letters", "redrive", "--reason", "conflict").stdout
    letters.drain()
    assert {reason: len(found) for reason, found in by_reason(letters).items()} == {"unknown-type": 2, "conflict": 1}
    assert len(letters.cli("dead-letters", "show", *ids["unknown-type"]).stdout.split('"body"')) == 3
    letters.cli("dead-letters", "drop", "--all")
    assert letters.dead_letters() == []
    assert "there are no dead letters" in letters.cli("dead-letters", "list").stderr


def test_some_of_the_ids_are_none(letters):
    """The others are dealt with, and the exit code says that something was not."""
    [one] = by_reason(letters)["conflict"]
    for command in ("show", "redrive", "drop"):
        done = letters.cli("dead-letters", command, "no-such-id", one, code=1)
        assert "no-such-id" in done.stderr
        letters.drain()
    assert "conflict" not in by_reason(letters)


@pytest.mark.parametrize("command", ["list", "show", "redrive", "drop"])
def test_a_reason_that_there_is_not(letters, command):
    said = letters.cli("dead-letters", command, "--reason", "not-jsn", code=2).stderr
    assert "no dead letter has the reason not-jsn; there are conflict (1), not-json (3), unknown-type (2)" in said
    assert "expected 1 to 40 characters" in letters.cli("dead-letters", command, "--reason", "Not JSON", code=2).stderr
    # One that there could be is no mistake.
    letters.cli("dead-letters", command, "--reason", "throttled")
    assert len(letters.dead_letters()) == 6


def test_wrong_selections(own_stack):
    for command in ("show", "redrive", "drop"):
        for args in ([], ["--all", "id"], ["--reason", "conflict", "id"], ["--reason", "conflict", "--all"], ["--limit", "1"], ["id", "--limit", "1"]):
            assert own_stack.cli("dead-letters", command, *args, code=2).stderr
    own_stack.cli("dead-letters", "list", "--limit", "0", code=2)


def test_words_of_strangers_are_one_group(own_stack):
    """Whoever may send to the dead-letter queue can make up a reason for each letter."""
    put(own_stack, [letter(n, "x" * (n + 1)) for n in range(30)])
    [group] = groups(own_stack)
    assert (group["reason"], group["count"]) == ("other", "30")
    assert own_stack.cli("dead-letters", "drop", "--reason", "xx").stdout == "1 dead letter dropped\n"
    assert own_stack.cli("dead-letters", "drop", "--reason", "other").stdout == "29 dead letters dropped\n"


def test_a_letter_that_cannot_be_read_can_be_dropped(own_stack):
    """Of a long body a part is missing."""
    [broken] = own_stack.send("x" * 700_000)
    own_stack.drain()
    table = own_stack.exports["NAGARE_DEAD_LETTERS_TABLE"]
    [part] = [item for item in own_stack.dynamodb.scan(TableName=table)["Items"] if item["part"]["S"].endswith("#0001")]
    own_stack.dynamodb.delete_item(TableName=table, Key={name: part[name] for name in ("id", "part")})
    own_stack.cli("dead-letters", "redrive", broken, code=1)
    own_stack.cli("dead-letters", "drop", broken)
    assert own_stack.dynamodb.scan(TableName=table)["Items"] == []


def test_a_redrive_that_was_interrupted_is_run_again(own_stack):
    """`kill -9` half-way: each command is sent once more or still a letter, and at the end all are in effect."""
    commands = [publish("anna", f"a{n:04}", instant(seconds=-n)) for n in range(1_500)]
    own_stack.apply(follow("bob", "anna", instant(days=-1)))
    put(own_stack, [letter(n, "throttled", json.dumps(command)) for n, command in enumerate(commands)])
    put(own_stack, [letter(n, "not-json") for n in range(3)])
    redrive = [NAGARE, "dead-letters", "redrive", "--reason", "throttled"]
    running = subprocess.Popen(redrive, env=own_stack.env, stdout=subprocess.PIPE)
    until(lambda: len(own_stack.entries("bob")) >= 50, "some of them")
    running.kill()
    running.communicate()
    left = len(own_stack.dead_letters()) - 3
    assert 0 < left < 1_500, "it was interrupted in the middle"
    assert own_stack.cli("dead-letters", "redrive", "--reason", "throttled").stdout == f"{left} dead letters sent again\n"
    own_stack.drain(90)
    assert len(own_stack.entries("bob")) == 1_500
    assert by_reason(own_stack) == {"not-json": [f"not-json-{n:05}" for n in range(3)]}


def printed_within(args, env):
    """What a command that succeeds prints, and the bytes it took."""
    done, peak = measured(args, env)
    assert done.returncode == 0, done.stderr
    return done.stdout, peak


def test_38_000_letters(own_stack):
    """They stay readable, and their bodies are in nobody's memory."""
    put(own_stack, (letter(n, "unknown-type", "{}", detail="d" * 1_900) for n in range(37_700)))
    put(own_stack, (letter(n, "not-json", "x" * 200_000) for n in range(300)))
    for args, lines in [
        (["list"], 2),
        (["list", "--reason", "unknown-type"], 20),
        (["list", "--limit", "50"], 50),
        (["list", "--limit", "50", "--json"], 50),
        (["list", "--json"], 38_000),
        (["list", "--reason", "not-json", "--json"], 300),
    ]:
        printed, peak = printed_within(["dead-letters", *args], own_stack.env)
        assert len(printed.splitlines()) == lines
        assert peak < (100 if lines < 38_000 else 250) * 2**20, (args, peak)
        assert args != ["list"] or max(map(len, printed.splitlines())) < 400
    assert [(group["reason"], group["count"]) for group in groups(own_stack)] == [("unknown-type", "37700"), ("not-json", "300")]
    printed, peak = printed_within(["dead-letters", "drop", "--reason", "not-json"], own_stack.env)
    assert printed == "300 dead letters dropped\n" and peak < 100 * 2**20
    assert [group["count"] for group in groups(own_stack)] == ["37700"]


def drawn(args, env):
    """What a command that succeeds draws on a terminal."""
    code, written = on_a_terminal(args, env)
    assert code == 0
    return written


def test_work_on_many_letters_shows_its_progress(own_stack):
    put(own_stack, [letter(n, "not-json") for n in range(400)])
    assert "dead letters read" in drawn(["dead-letters", "list"], own_stack.env)
    for command in ("redrive", "drop"):
        progress = drawn(["dead-letters", command, "--all"], own_stack.env)
        assert "dead letters read" in progress and re.search(r"\d+ of 400", progress), progress
        own_stack.drain(90)


def test_an_erasure_shows_its_progress(own_stack):
    own_stack.send(*(follow(f"viewer-{n}", "anna") for n in range(300)), *(follow("anna", f"idol-{n}") for n in range(50)))
    own_stack.send(*(publish("anna", f"a{n}") for n in range(100)), *["not json"] * 50)
    own_stack.drain()
    progress = drawn(["forget", "anna"], own_stack.env)
    for phase in (
        "activities deleted", "entries erased", "activities marked as expired", "followers unfollowed",
        "followees unfollowed", "items of the ledger read", "dead letters read",
    ):
        assert phase in progress, phase
    assert "anna: 100 activities, 300 followers, 50 followees" in progress

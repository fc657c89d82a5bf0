"""Everything somebody can get wrong: each is refused in its own place, and its neighbours go through."""

import gzip
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone

import pytest

from conftest import (
    Stack, clean_environment, delete, follow, instant, publish, run, unfollow, unique, until, update,
)

KIB4 = 4096
MIB = 1024 * 1024


def with_member(command, name, value):
    """A command with one member replaced; `...` takes it out."""
    changed = {**command, name: value}
    return {key: value for key, value in changed.items() if value is not ...}


def some_publish():
    return publish(unique("actor"), unique("activity"), instant(seconds=-1))


def raw(members):
    """A publish with members as they are written, for what `json.dumps` would write otherwise."""
    text = json.dumps(some_publish())
    return text[:-1] + f", {members}}}"


# Message bodies: one bad in a batch of ten ------------------------------------------------------------

NOT_COMMANDS = {
    "plain text": "hello",
    "cut off": '{"type":"follow.created","follower_id":"bob"',
    "two objects": '{"type":"follow.deleted"} {}',
    "trailing comma": '{"type":"follow.deleted",}',
    "single quotes": "{'type':'follow.deleted'}",
    "an array": "[]",
    "a command in an array": json.dumps([follow("bob", "anna")]),
    "a string": '"follow.created"',
    "a number": "1",
    "null": "null",
    "true": "true",
    "NaN": '{"type":NaN}',
    "white space": "  \n\t ",
    "a stray closing brace": '{"type":"follow.deleted"}}',
}
UNKNOWN_TYPES = ["activity.exploded", "", "ACTIVITY.PUBLISHED", "activity.published ", "follow"]

NINES = "2026-01-01T00:00:00.999999999Z"
BAD_INSTANTS = {
    "no offset": "2026-11-20T12:00:00",
    "a date": "2026-11-20",
    "before 2015": "2014-12-31T23:59:59.999Z",
    "before 2015 by its offset": "2015-01-01T00:30:00+01:00",
    "1970": "1970-01-01T00:00:00Z",
    "30 February": "2026-02-30T00:00:00Z",
    "29 February": "2026-02-29T00:00:00Z",
    "hour 24": "2026-01-01T24:00:00Z",
    "minute 60": "2026-01-01T00:60:00Z",
    "a leap second at noon": "2026-01-01T12:00:60Z",
    "second 61": "2016-12-31T23:59:61Z",
    "offset of 24 hours": "2026-01-01T00:00:00+24:00",
    "offset without minutes": "2026-01-01T00:00:00+01",
    "offset without colon": "2026-01-01T00:00:00+0100",
    "no digits in the fraction": "2026-01-01T00:00:00.Z",
    "a comma": "2026-01-01T00:00:00,5Z",
    "no dashes": "20260101T000000Z",
    "a week": "2026-W01-1T00:00:00Z",
    "year 9999": "9999-12-31T23:59:59.999Z",
    "year 10000": "10000-01-01T00:00:00Z",
    "a negative year": "-2026-01-01T00:00:00Z",
    "spaces around": " 2026-01-01T00:00:00Z ",
    "Arabic digits": "٢٠٢٦-٠١-٠١T٠٠:٠٠:٠٠Z",
    "empty": "",
    "words": "now",
    "unix seconds": 1767225600,
    "unix seconds in a string": "1767225600",
    "null": None,
    "missing": ...,
}
BAD_IDS = {
    "empty": "",
    "129 characters": "i" * 129,
    "a dot": ".",
    "two dots": "..",
    "a hash": "a#b",
    "a newline": "a\nb",
    "a trailing newline": "a\n",
    "a tab": "a\tb",
    "a zero": "a\0b",
    "a space": "a b",
    "a slash": "a/b",
    "a percent sign": "a%20b",
    "a comma": "a,b",
    "a quote": 'a"b',
    "an emoji": "a😀",
    "composed": "caf\u00e9",
    "decomposed": "cafe\u0301",
    "full width": "ａｂｃ",
    "Arabic digits": "١٢",
    "64 characters of two bytes": "é" * 64,
    "a number": 17,
    "a list": ["a"],
    "null": None,
    "missing": ...,
}
BAD_KINDS = {
    "empty": "",
    "33 characters": "k" * 33,
    "a space": "a b",
    "a colon": "a:b",
    "an at sign": "a@b",
    "an emoji": "😀",
    "a number": 1,
}
ID_MEMBERS = {
    "activity_id": some_publish,
    "actor_id": lambda: delete(unique("actor"), unique("activity")),
    "follower_id": lambda: follow(unique("viewer"), unique("actor")),
    "followee_id": lambda: unfollow(unique("viewer"), unique("actor")),
}
INSTANT_MEMBERS = {
    "published_at": some_publish,
    "at": lambda: follow(unique("viewer"), unique("actor")),
}


def part(activity="live", actor="anna"):
    return {
        "type": "fanout.part", "activity_id": activity, "actor_id": actor, "published_at": instant(minutes=-1),
        "followers": "0000-ffff",
    }


def rest(command):
    return {"type": "command.continued", "origin": "0b8d-7", "redelivered": True, "command": command}


def envelope(seal, command):
    return {"type": "internal", "seal": seal, "command": command}


# What only the writer sends, from somebody else.
SEAL = "AAAAAAAAAAAAAAAAAAAAAA"
INTERNAL = {
    "a bare part": part,
    "a bare rest": lambda: rest(some_publish()),
    "a bare rest of a part": lambda: rest(part()),
    "another seal around a part": lambda: envelope(SEAL, part()),
    "another seal around a rest": lambda: envelope(SEAL, rest(part())),
    "another seal around a publish": lambda: envelope(SEAL, some_publish()),
    "an empty seal": lambda: envelope("", part()),
    "a seal that is a number": lambda: envelope(1, part()),
    "no seal": lambda: {"type": "internal", "command": part()},
    "no command": lambda: {"type": "internal", "seal": SEAL},
    "an envelope in an envelope": lambda: envelope(SEAL, envelope(SEAL, part())),
    "a hundred envelopes": lambda: '{"type":"internal","seal":"","command":' * 100 + "1" + "}" * 100,
}


def bad_bodies():
    """(name, a function that makes the body, the reason, what the detail has to name)"""
    for name, text in NOT_COMMANDS.items():
        yield name, lambda text=text: text, "not-json", None
    for text in UNKNOWN_TYPES:
        yield f"type {text!r}", lambda text=text: with_member(some_publish(), "type", text), "unknown-type", "type"
    for name, make in INTERNAL.items():
        yield f"internal: {name}", make, "unknown-type", "type"
    for name, value in {"no type": ..., "type null": None, "type a number": 1}.items():
        yield name, lambda value=value: with_member(some_publish(), "type", value), "malformed", "type"
    yield "an empty object", lambda: "{}", "malformed", "type"
    for members, values in ((ID_MEMBERS, BAD_IDS), (INSTANT_MEMBERS, BAD_INSTANTS)):
        for member, command in members.items():
            for name, value in values.items():
                yield (
                    f"{member}: {name}",
                    lambda command=command, member=member, value=value: with_member(command(), member, value),
                    "malformed",
                    member,
                )
    for member, command in INSTANT_MEMBERS.items():
        yield (
            f"{member}: in ten minutes",
            lambda command=command, member=member: with_member(command(), member, instant(minutes=10)),
            "malformed",
            member,
        )
    for name, value in BAD_KINDS.items():
        yield f"kind: {name}", lambda value=value: with_member(some_publish(), "kind", value), "malformed", "kind"
    payloads = {
        "4 KiB and a byte": '"' + "p" * (KIB4 - 1) + '"',
        "4 KiB and a byte, of white space": "[" + " " * (KIB4 - 1) + "]",
        "4 KiB and two bytes, in fewer characters": '"' + "é" * 2048 + '"',
        "65 arrays": "[" * 65 + "]" * 65,
        "65 objects": '{"a":' * 65 + "1" + "}" * 65,
        "2,000 arrays": "[" * 2000 + "]" * 2000,
        "a high surrogate alone": r'"\ud83d"',
        "a low surrogate alone": r'{"title":["a\ude00"]}',
        "a surrogate pair the wrong way round": r'"\ude00\ud83d"',
        "a lone surrogate in a member's name": r'{"deep":[{"\uD800":1}]}',
    }
    for name, text in payloads.items():
        yield f"payload: {name}", lambda text=text: raw(f'"payload":{text}'), "malformed", "payload"
    yield "payload: not JSON", lambda: raw('"payload":01'), "not-json", None
    yield (
        "update without payload",
        lambda: with_member(update("a", "b", 1), "payload", ...),
        "malformed",
        "payload",
    )
    yield (
        "update with half a surrogate pair",
        lambda: json.dumps(update("a", "b", "HALF")).replace("HALF", r"\udc00"),
        "malformed",
        "payload",
    )


CASES = list(bad_bodies())


def test_a_bad_body_is_one_dead_letter_and_its_neighbours_go_through(stack):
    """In batches of nine, four of them bad. What is bad differs, what becomes of its neighbours does not."""
    sent = {}
    for start in range(0, len(CASES), 4):
        cases = CASES[start : start + 4]
        viewer, actor, at = unique("viewer"), unique("actor"), instant(seconds=-5)
        good = [unique("good") for _ in cases]
        batch = [follow(viewer, actor)]
        for name, (_, make, *_) in zip(good, cases):
            batch += [make(), publish(actor, name, at)]
        sent[viewer] = good, dict(zip(stack.send(*batch)[1::2], cases))
    stack.drain()
    letters = stack.dead_letters()
    bad = {id: case for _, cases in sent.values() for id, case in cases.items()}
    assert sorted(letter["id"] for letter in letters) == sorted(bad)
    for letter in letters:
        name, _, reason, named = bad[letter["id"]]
        assert letter["reason"] == reason, name
        assert named is None or named in letter["detail"], name
    for viewer, (good, cases) in sent.items():
        assert sorted(stack.timeline(viewer)) == sorted(good), [name for name, *_ in cases.values()]
    # So that the list stays short.
    stack.cli("dead-letters", "drop", *bad)


def test_forged_parts_write_and_erase_nothing(stack):
    viewer, actor, activity = unique("viewer"), unique("actor"), unique("activity")
    at = instant(seconds=-5)
    stack.send(publish(actor, activity, at))
    stack.drain()
    forged = part(activity, actor) | {"published_at": at}
    sent = stack.send(forged, rest(forged), envelope(SEAL, forged), rest(follow(viewer, actor)))
    stack.drain()
    assert [stack.dead_letter(id)["reason"] for id in sent] == ["unknown-type"] * 4
    assert stack.timeline(viewer) == []
    for id in sent:
        stack.cli("dead-letters", "drop", id)


def test_nothing_but_the_bad_became_a_dead_letter(stack):
    """After all of the above: each was dropped, and nothing was added twice."""
    stack.drain()
    assert stack.dead_letters() == []


def test_a_batch_of_ten_all_bad(stack):
    sent = stack.send(*["not json"] * 10)
    stack.drain()
    until(lambda: len(stack.dead_letters()) >= 10, "ten dead letters")
    assert {letter["id"] for letter in stack.dead_letters()} == set(sent)
    for id in sent:
        stack.cli("dead-letters", "drop", id)


# What looks odd and is right ---------------------------------------------------------------------------

GOOD_IDS = ["a", "A", "0", "_", ":", "@", "-", "...", "-a", "a" * 128, "Az09._:@-|+", "0:1:2@host.example", "auth0|5f7c8ec7c33c6c004bbafe82", "anna+live@example.org", "|", "+"]


@pytest.mark.parametrize("id", GOOD_IDS, ids=lambda id: id[:20])
def test_good_ids_work_in_every_place(own_or_shared, id):
    stack = own_or_shared
    activity = unique("a")
    stack.send(follow(id, id), publish(id, activity, instant(seconds=-1)))
    stack.drain()
    [item] = [item for item in stack.page(id, limit=100)["items"] if item["activity_id"] == activity]
    assert item["actor_id"] == id
    viewer, actor = unique("viewer"), unique("actor")
    stack.send(follow(viewer, actor), publish(actor, f"{id}"[:128], instant(seconds=-1)))
    stack.drain()
    assert stack.timeline(viewer) == [id]
    stack.apply(delete(actor, id))
    assert stack.timeline(viewer) == []
    # The same through the command line, a leading dash included.
    assert stack.cli_json("timeline", "--json", "--limit", "1", "--", id)


@pytest.fixture
def own_or_shared(stack):
    before = len(stack.dead_letters())
    yield stack
    stack.drain()
    assert len(stack.dead_letters()) == before, "no dead letter was to be expected"


GOOD_INSTANTS = {
    # What is sent, and the text a reader gets; None where it is older than retention.
    "another offset": (lambda at: at.astimezone(timezone(timedelta(hours=9))).isoformat(timespec="milliseconds"), 3),
    "a negative offset": (lambda at: at.astimezone(timezone(-timedelta(hours=3, minutes=30))).isoformat(timespec="milliseconds"), 3),
    "whole seconds": (lambda at: at.strftime("%Y-%m-%dT%H:%M:%SZ"), 0),
    "one digit": (lambda at: at.strftime("%Y-%m-%dT%H:%M:%S.") + "7Z", 1),
    "nine digits, cut and not rounded": (lambda at: at.strftime("%Y-%m-%dT%H:%M:%S.") + "777999999Z", 9),
    "small letters": (lambda at: at.strftime("%Y-%m-%dt%H:%M:%S.") + "777z", 3),
    "offset -00:00": (lambda at: at.strftime("%Y-%m-%dT%H:%M:%S.777-00:00"), 3),
}


@pytest.mark.parametrize("write, digits", GOOD_INSTANTS.values(), ids=GOOD_INSTANTS)
def test_instants_are_kept_to_the_millisecond(own_or_shared, write, digits):
    stack = own_or_shared
    viewer, actor, activity = unique("viewer"), unique("actor"), unique("activity")
    at = datetime.now(timezone.utc).replace(microsecond=777000) - timedelta(hours=1)
    stack.send(follow(viewer, actor), publish(actor, activity, write(at)))
    stack.drain()
    fraction = {0: "000", 1: "700"}.get(digits, "777")
    [item] = stack.page(viewer)["items"]
    assert item["published_at"] == at.strftime("%Y-%m-%dT%H:%M:%S.") + fraction + "Z"
    [entry] = stack.entries(viewer)
    assert entry["sort_key"].startswith(item["published_at"])


@pytest.mark.parametrize("at", ["2015-01-01T00:00:00.000Z", "2014-12-31T23:30:00-01:00", "2016-12-31T23:59:60Z"])
def test_instants_at_the_border_are_commands(own_or_shared, at):
    """The first there is, and a real leap second. Published then, an activity is older than retention."""
    viewer, actor = unique("viewer"), unique("actor")
    own_or_shared.send(follow(viewer, actor, at), publish(actor, unique("old"), at))
    own_or_shared.apply(publish(actor, unique("new"), instant(seconds=-1)))
    assert len(own_or_shared.timeline(viewer)) == 1


def test_clocks_may_be_ahead_by_less_than_five_minutes(own_or_shared):
    viewer, actor = unique("viewer"), unique("actor")
    own_or_shared.send(follow(viewer, actor, instant(minutes=4)), publish(actor, unique("soon"), instant(minutes=4)))
    own_or_shared.drain()
    assert len(own_or_shared.timeline(viewer)) == 1


def test_kinds_and_payloads_at_the_border(own_or_shared):
    stack = own_or_shared
    viewer, actor = unique("viewer"), unique("actor")
    payloads = {
        unique("p"): '"' + "p" * (KIB4 - 2) + '"',
        unique("p"): "[" + " " * (KIB4 - 2) + "]",
        unique("p"): '"' + "é" * 2047 + '"',
        unique("p"): "[" * 64 + "]" * 64,
        unique("p"): '{"a":' * 64 + "1" + "}" * 64,
        unique("p"): '"\\u0000\\ud83d\\ude00"',
        unique("p"): '{"\\ud83d\\ude00":"' + "[" * 100 + '\\\\ud800"}',
    }
    stack.send(follow(viewer, actor))
    at = instant(seconds=-1)
    for name, text in payloads.items():
        command = json.dumps(publish(actor, name, at, kind="Az09._+-" * 4))
        stack.send(f'{command[:-1]},"payload":{text}}}')
    stack.drain()
    answer = stack.get(viewer)
    assert answer.status == 200
    for text in payloads.values():
        assert text in answer.text


def test_unknown_members_are_ignored_and_defaults_apply(own_or_shared):
    stack = own_or_shared
    viewer, actor, activity = unique("viewer"), unique("actor"), unique("activity")
    stack.send(
        {**follow(viewer, actor), "colour": "red"},
        {**publish(actor, activity), "": None, "nested": {"type": "x", "deep": [1, {}]}},
    )
    stack.drain()
    [item] = stack.page(viewer)["items"]
    assert (item["kind"], item["payload"]) == ("post", None)


# Large bodies ---------------------------------------------------------------------------------------

BIG = {
    "not JSON": lambda size: "x" * size,
    "too long a payload": lambda size: _filled('"payload":"', '"', size),
    "too long an id": lambda size: _filled('"activity_id":"', '"', size),
    # Bodies are cut into parts to be stored; no character may be.
    "of four-byte characters": lambda size: "😀" * (size // 4),
}


def _filled(start, end, size):
    head = '{"type":"activity.published","actor_id":"anna","published_at":"%s",' % instant() + start
    return head + "p" * (size - len(head) - len(end) - 1) + end + "}"


@pytest.mark.parametrize("make", BIG.values(), ids=BIG)
def test_a_body_of_a_megabyte_is_kept_in_full_and_can_be_redriven(own_stack, make):
    kept_in_full(own_stack, make(1_000_000))


def test_the_longest_body_there_is_is_kept_too(own_stack):
    """No attribute fits beside it, so a redrive cannot carry its id along: it comes back as a new one."""
    kept_in_full(own_stack, "x" * MIB, id_travels=False)


def kept_in_full(stack, text, id_travels=True):
    stack.sqs.send_message(QueueUrl=stack.queue_url, MessageBody=text)
    stack.drain(60)
    [letter] = stack.dead_letters()
    for _ in range(2):
        shown = json.loads(stack.cli("dead-letters", "show", letter["id"]).stdout)
        assert shown["body"] == text
        stack.cli("dead-letters", "redrive", letter["id"])
        stack.drain(60)
        [again] = stack.dead_letters()
        assert (again["id"] == letter["id"]) == id_travels
        letter = again
    stack.cli("dead-letters", "drop", letter["id"])
    assert stack.dead_letters() == []
    tables = stack.dynamodb.list_tables()["TableNames"]
    found = [item for table in tables for item in stack.dynamodb.scan(TableName=table)["Items"]]
    # The keeper knows of periods, whether there are events or not. What is counted of refusals names nobody, and expires.
    kept = ("events#periods", "refusal#", "refused#", "refusals#")
    left = [item for item in found if not item.get("pk", {"S": ""})["S"].startswith(kept)]
    assert not left, "dropped means gone, with all its parts"


TRICKS = ["\x1b[2J\x1b]0;all is well\x07", "\r", "\x7f", "\x9b31m", "\u202e", "\u2066", "\u200f", "\u2028", "\U000e0041"]


def test_letters_of_strangers_are_cut_escaped_and_marked(own_stack):
    """Anybody who may send to the dead-letter queue can write what is shown to operators."""
    stack = own_stack
    # SQS takes no control characters but in escapes; the table may hold them anyway.
    item = {
        "id": {"S": "tricks"}, "part": {"S": "letter"}, "message_id": {"S": "m"}, "reason": {"S": "conflict\x1b[1m"},
        "detail": {"S": "".join(TRICKS)}, "receive_count": {"N": "5"}, "sent_at": {"S": instant()},
        "stored_at": {"S": instant()}, "parts": {"N": "1"}, "body": {"S": "".join(TRICKS)}, "digest": {"S": "d"},
    }
    stack.dynamodb.put_item(TableName=stack.exports["NAGARE_DEAD_LETTERS_TABLE"], Item=item)
    attributes = {"nagare.reason": "conflict", "nagare.detail": "\u202e" + "é" * 400_000}
    attributes = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()}
    dead = stack.exports["NAGARE_DEAD_LETTER_QUEUE_URL"]
    body = json.dumps(some_publish())
    sent = stack.sqs.send_message(QueueUrl=dead, MessageBody=body, MessageAttributes=attributes)["MessageId"]
    stack.dead_letter(sent)
    for command in (["list"], ["list", "--json"], ["show", "tricks"], ["show", sent]):
        printed = stack.cli("dead-letters", *command).stdout
        assert not any(character in printed for character in "\x1b\x07\r\x7f\x9b\u202e\u2066\u200f\u2028\U000e0041"), command
    lines = stack.cli("dead-letters", "list").stdout.splitlines()
    assert len(lines) == 2 and all("(unverified)" in line for line in lines)
    [tricks, long] = sorted(stack.dead_letters(), key=lambda letter: letter["id"] != "tricks")
    assert (tricks["verified"], tricks["detail"]) == (False, "".join(TRICKS)), "JSON says what is there"
    assert json.loads(stack.cli("dead-letters", "show", "tricks").stdout)["body"] == "".join(TRICKS)
    assert long["verified"] is False and len(long["detail"].encode()) <= 2_000 and long["detail"].endswith("é…")
    assert json.loads(stack.cli("dead-letters", "show", sent).stdout)["verified"] is False
    [bad] = stack.send("not json")
    assert stack.dead_letter(bad)["verified"] is True


def test_a_command_on_the_dead_letter_queue_is_in_force_only_if_an_operator_names_it(own_stack):
    """Whoever may send there cannot have a command put in force by a redrive of all there is."""
    stack = own_stack
    actor, activity = unique("actor"), unique("a")
    stack.apply(publish(actor, activity, instant(minutes=-1)), publish("somebody", "taken", instant(minutes=-1)))
    dead = stack.exports["NAGARE_DEAD_LETTER_QUEUE_URL"]
    forged = json.dumps({"type": "activity.deleted", "activity_id": activity, "actor_id": actor})
    attributes = {
        "nagare.reason": "throttled", "nagare.detail": "busy", "nagare.receives": "5", "nagare.seal": "0" * 32,
        "DeadLetterQueueSourceArn": "arn:aws:sqs:us-local-1:000000000000:nagare-commands",
    }
    attributes = {name: {"DataType": "String", "StringValue": value} for name, value in attributes.items()}
    sent = stack.sqs.send_message(QueueUrl=dead, MessageBody=forged, MessageAttributes=attributes)["MessageId"]
    # It can never be applied, so it is left out as well.
    [true] = stack.send(publish(actor, "taken", instant(minutes=-1)))
    assert (stack.dead_letter(sent)["verified"], stack.dead_letter(true)["verified"]) == (False, True)
    listed = stack.cli("dead-letters", "list")
    assert "(unverified) busy" in listed.stdout and "1 dead letter is unverified" in listed.stderr
    for which in (["--all"], ["--reason", "throttled"], ["--reason", "throttled", "--limit", "5"]):
        done = stack.cli("dead-letters", "redrive", *which)
        assert done.stdout == "0 dead letters sent again\n" and "1 dead letter is unverified" in done.stderr
        stack.drain()
        assert stack.dead_letter(sent)["verified"] is False and stack.request(f"/v1/activities/{activity}").status == 200
    assert stack.cli("dead-letters", "redrive", sent).stdout == "1 dead letter sent again\n"
    stack.drain()
    assert stack.request(f"/v1/activities/{activity}").status == 404


def test_a_command_of_a_megabyte_that_is_right_works(stack):
    viewer, actor = unique("viewer"), unique("actor")
    command = json.dumps({**follow(viewer, actor), "padding": ""})
    stack.send(command[:-2] + "p" * (MIB - len(command)) + '"}')
    stack.apply(publish(actor, unique("a")))
    assert len(stack.timeline(viewer)) == 1


# CSV files ------------------------------------------------------------------------------------------

BAD_FOLLOWS = {
    # The file, and the line that has to be named.
    "wrong header": (b"from,to\nbob,anna\n", 1),
    "a column twice": (b"follower,followee,follower\nbob,anna,ben\n", 1),
    "no header": (b"bob,anna\n", 1),
    "header in capitals": (b"Follower,Followee\nbob,anna\n", 1),
    "JSON lines": (b'{"type":"follow.created"}\n', 1),
    "an instant before 2015": (b"follower,followee,at\nbob,anna,2026-11-01\nbob,anna,1\n", 3),
    "an instant in the future": (b"follower,followee,since\nbob,anna,2126-11-01\n", 2),
    "no instant": (b"follower,followee,since\nbob,anna,yesterday\n", 2),
    "a quote that stays open": (b'note,follower,followee\n"x,bob,anna\n', 2),
    "three columns": (b"follower,followee\nbob,anna\nbob,ben,1\n", 3),
    "one column": (b"follower,followee\nbob,anna\nbob\n", 3),
    "an empty id": (b"follower,followee\nbob,anna\n,ben\n", 3),
    "an id with a hash": (b"follower,followee\nbob,anna\nbob,b#n\n", 3),
    "an id of 129": (b"follower,followee\nbob,anna\nbob," + b"b" * 129 + b"\n", 3),
    "a space in an id": (b"follower,followee\nbob,anna\nbob, ben\n", 3),
    "not UTF-8": (b"follower,followee\nbob,anna\nbob,b\xff\n", 3),
    "not UTF-8 in the header": (b"follower,f\xffllowee\nbob,anna\n", 1),
    "a ZIP archive": (b"PK\x03\x04follower,followee\nbob,anna\n", None),
    "UTF-16": ("follower,followee\nbob,anna\n".encode("utf-16"), None),
    "an empty file": (b"", None),
    "an empty gzip": (gzip.compress(b""), None),
    "a cut gzip": (gzip.compress(b"follower,followee\n" + b"bob,anna\nben,anna\n" * 999)[:-20], None),
    "a gzip cut in its header": (gzip.compress(b"follower,followee\nbob,anna\n")[:5], None),
    "a gzip with a wrong checksum": (gzip.compress(b"follower,followee\nbob,anna\n")[:-8] + b"\0" * 8, None),
    "gzip in name only": (b"\x1f\x8bfollower,followee\nbob,anna\n", None),
}


@pytest.mark.parametrize("content, line", BAD_FOLLOWS.values(), ids=BAD_FOLLOWS)
def test_a_bad_file_of_follows_imports_nothing(stack, tmp_path, content, line):
    actor = unique("actor")
    content = content.replace(b"anna", actor.encode()) if content[:2] != b"\x1f\x8b" else content
    file = tmp_path / "follows.csv"
    file.write_bytes(content)
    done = stack.cli("follows", "import", file, code=2)
    assert line is None or f"line {line}" in done.stderr
    assert "panick" not in done.stderr
    stack.apply(publish(actor, unique("a")))
    assert stack.timeline("bob") == []


GOOD_FOLLOWS = {
    "plain": b"follower,followee\n{v},{a}\n",
    "Windows line ends": b"follower,followee\r\n{v},{a}\r\n",
    "no line end at the end": b"follower,followee\n{v},{a}",
    "quotes": b'"follower","followee"\n"{v}","{a}"\n',
    "empty lines": b"follower,followee\n\n{v},{a}\n\n",
    "a byte order mark": b"\xef\xbb\xbffollower,followee\n{v},{a}\n",
    "a byte order mark before quotes": b'\xef\xbb\xbf"follower","followee"\r\n"{v}","{a}"\r\n',
    "columns in another order": b"followee,follower\n{a},{v}\n",
    "other columns": b'id,note,followee,x,follower\n1,"a, ""b""",{a},,{v}\n',
    "semicolons": b"follower;followee\n{v};{a}\n",
    "an edge given twice": b"follower,followee\n{v},{a}\n{v},{a}\n",
}


@pytest.mark.parametrize("packed", [False, True], ids=["csv", "csv.gz"])
@pytest.mark.parametrize("content", GOOD_FOLLOWS.values(), ids=GOOD_FOLLOWS)
def test_a_good_file_of_follows(stack, tmp_path, content, packed):
    viewer, actor = unique("viewer"), unique("actor")
    content = content.replace(b"{v}", viewer.encode()).replace(b"{a}", actor.encode())
    file = tmp_path / ("follows.csv" + ".gz" * packed)
    file.write_bytes(gzip.compress(content) if packed else content)
    for _ in range(2):
        stack.cli("follows", "import", file)
    stack.apply(publish(actor, unique("a")))
    assert len(stack.timeline(viewer)) == 1


@pytest.mark.parametrize("packed", [False, True], ids=["csv", "csv.gz"])
def test_follows_from_standard_input(stack, packed):
    viewer, actor = unique("viewer"), unique("actor")
    content = f"follower,followee\n{viewer},{actor}\n".encode()
    stack.cli("follows", "import", "-", stdin=gzip.compress(content) if packed else content)
    stack.apply(publish(actor, unique("a")))
    assert len(stack.timeline(viewer)) == 1


def test_follows_are_as_old_as_the_file_says(stack, tmp_path):
    """In each form that databases and spreadsheets write; without one, as old as --at says."""
    viewer, actors = unique("viewer"), [unique("actor") for _ in range(5)]
    instants = ["2026-11-01 12:00:00.123+00", "1793534400", "1793534400123", "2026-11-01T21:00:00+09:00", ""]
    file = tmp_path / "follows.csv"
    rows = [f'"a note, quoted",{actor},{viewer},{at}\n' for actor, at in zip(actors, instants)]
    file.write_text("note,followee,follower,since\n" + "".join(rows))
    stack.cli("follows", "import", file, "--at", "2026-11-02T00:00:00Z")
    following = {one["viewer_id"]: one["since"] for one in stack.request(f"/v1/viewers/{viewer}/following").json["items"]}
    expected = ["12:00:00.123Z", "12:00:00.000Z", "12:00:00.123Z", "12:00:00.000Z"]
    assert following == dict(zip(actors, [f"2026-11-01T{at}" for at in expected] + ["2026-11-02T00:00:00.000Z"]))


def test_a_header_without_rows_is_an_import_of_nothing(stack, tmp_path):
    file = tmp_path / "follows.csv"
    file.write_text("follower,followee\n")
    stack.cli("follows", "import", file)


def test_skip_bad_reports_each_line_and_imports_the_others(stack, tmp_path):
    viewer, actors = unique("viewer"), [unique("actor") for _ in range(3)]
    file = tmp_path / "follows.csv"
    lines = [b"follower,followee", b"%s,%s", b"%s,a#b", b"%s,%s", b"%s,x,y", b"%s,\xff", b"%s,%s"]
    names = iter(actors)
    filled = [
        line.replace(b"%s", viewer.encode(), 1).replace(b"%s", next(names).encode() if line.count(b"%s") == 2 else b"")
        for line in lines
    ]
    file.write_bytes(b"\n".join(filled) + b"\n")
    refused = stack.cli("follows", "import", file, code=2)
    stack.send(*(publish(actor, unique("a")) for actor in actors))
    stack.drain()
    assert stack.timeline(viewer) == []
    skipped = stack.cli("follows", "import", file, "--skip-bad")
    for number in (3, 5, 6):
        assert f"line {number}" in refused.stderr and f"line {number}" in skipped.stderr
    assert len(stack.timeline(viewer)) == 3


def test_a_stray_quote_costs_its_own_line_and_no_other(stack, tmp_path):
    actor, file = unique("actor"), tmp_path / "follows.csv"
    rows = [f"v{n},{actor}" for n in range(1000)]
    rows[10] = '"' + rows[10]
    file.write_text("follower,followee\n" + "\n".join(rows) + "\n")
    done = stack.cli("follows", "import", file, "--skip-bad")
    assert "line 12" in done.stderr and "line 13" not in done.stderr
    assert done.stdout == "999 follows imported\n"


BAD_REPLAYS = {
    "wrong header": (b"time,author,kind\n1,a,post\n", 1),
    "two columns": (b"t,author,kind\n1,anna\n", 2),
    "four columns": (b"t,author,kind\n1,anna,post,x\n", 2),
    "t is not a number": (b"t,author,kind\n1,anna,post\nsoon,anna,post\n", 3),
    "t has a fraction": (b"t,author,kind\n1.5,anna,post\n", 2),
    "t is empty": (b"t,author,kind\n,anna,post\n", 2),
    "t is huge": (b"t,author,kind\n99999999999999999999,anna,post\n", 2),
    "author with a hash": (b"t,author,kind\n1,an#na,post\n", 2),
    "no author": (b"t,author,kind\n1,,post\n", 2),
    "no kind": (b"t,author,kind\n1,anna,\n", 2),
    "kind too long": (b"t,author,kind\n1,anna," + b"k" * 33 + b"\n", 2),
    "author too long for the activity's id": (b"t,author,kind\n1341100972," + b"a" * 120 + b",post\n", None),
    "not UTF-8": (b"t,author,kind\n1,ann\xff,post\n", 2),
    "an empty file": (b"", None),
    "a cut gzip": (gzip.compress(b"t,author,kind\n" + b"1,anna,post\n2,ben,post\n" * 999)[:-20], None),
}


@pytest.mark.parametrize("content, line", BAD_REPLAYS.values(), ids=BAD_REPLAYS)
def test_a_bad_file_of_posts_publishes_nothing(stack, tmp_path, content, line):
    viewer = unique("viewer")
    stack.apply(follow(viewer, "anna"), follow(viewer, "ben"))
    file = tmp_path / "posts.csv"
    file.write_bytes(content)
    done = stack.cli("replay", file, code=2)
    assert line is None or f"line {line}" in done.stderr
    assert stack.timeline(viewer) == []


def test_replay_moves_all_times_by_one_offset(own_stack, tmp_path):
    stack = own_stack
    stack.apply(follow("bob", "anna"), follow("bob", "ben"), follow("carla", "ben"))
    rows = [(1341100972, "anna", "RT"), (1341100972, "ben", "RE"), (1341101002, "anna", "MT"), (1341104572, "ben", "RT")]
    file = tmp_path / "posts.csv.gz"
    file.write_bytes(gzip.compress(("t,author,kind\n" + "".join(f"{t},{a},{k}\n" for t, a, k in rows)).encode()))
    done = stack.cli("replay", file)
    # Activities, entries and dead letters.
    assert [word for word in done.stdout.replace(",", " ").split() if word in ("4", "6", "0")] == ["4", "6", "0"]
    items = stack.page("bob", order="oldest")["items"]
    assert [item["activity_id"] for item in items] == [f"{author}-{t}" for t, author, _ in rows]
    assert [item["kind"] for item in items] == [kind for _, _, kind in rows]
    when = [datetime.fromisoformat(item["published_at"]) for item in items]
    assert [(at - when[0]).total_seconds() for at in when] == [t - rows[0][0] for t, _, _ in rows]
    assert timedelta(0) <= datetime.now(timezone.utc) - when[-1] < timedelta(seconds=60)
    assert stack.dead_letters() == []


def test_replay_limit(own_stack, tmp_path):
    own_stack.apply(follow("bob", "anna"))
    file = tmp_path / "posts.csv"
    file.write_text("t,author,kind\n" + "".join(f"{1341100000 + n},anna,post\n" for n in range(10)))
    own_stack.cli("replay", file, "--limit", "3", "--speed", "100")
    assert len(own_stack.timeline("bob")) == 3


def test_rows_in_another_order_are_published_in_the_order_of_their_times(own_stack, tmp_path):
    """No row lies in the future, whichever is the last line."""
    own_stack.apply(*(follow("bob", actor) for actor in ("anna", "ben", "carla")))
    file = tmp_path / "posts.csv"
    file.write_text("kind,t,author\nlive,1341100800,anna\npost,1341100700,ben\npost,1341100900,carla\npost,1341100650,ben\n")
    done = own_stack.cli("replay", file, "--json")
    assert json.loads(done.stdout)["activities"] == 4 and json.loads(done.stdout)["dead_letters"] == 0
    items = own_stack.page("bob", order="oldest")["items"]
    assert [item["activity_id"] for item in items] == ["ben-1341100650", "ben-1341100700", "anna-1341100800", "carla-1341100900"]
    when = [datetime.fromisoformat(item["published_at"]) for item in items]
    assert [(at - when[0]).total_seconds() for at in when] == [0, 50, 150, 250]
    assert when[-1] <= datetime.now(timezone.utc)


# Files of commands ----------------------------------------------------------------------------------

@pytest.mark.parametrize("bad", ["not json", "[]", '{"type":"follow.created"}', '{"type":"x"}', "\xff"])
def test_a_file_of_commands_with_a_bad_line_sends_nothing(stack, tmp_path, bad):
    viewer, actor = unique("viewer"), unique("actor")
    good = [json.dumps(command) for command in (follow(viewer, actor), publish(actor, unique("a")))]
    file = tmp_path / "commands.jsonl"
    file.write_bytes("\n".join([*good, bad, *good, ""]).encode("latin-1"))
    done = stack.cli("publish", "--file", file, code=2)
    assert bad == "\xff" or "line 3" in done.stderr
    stack.drain()
    assert stack.timeline(viewer) == []


@pytest.mark.parametrize("packed", [False, True], ids=["jsonl", "jsonl.gz"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"], ids=["plain", "with a byte order mark"])
def test_a_file_of_commands_is_read_however_it_is_packed(stack, tmp_path, packed, mark):
    viewer, actor = unique("viewer"), unique("actor")
    content = mark + "".join(json.dumps(command) + "\r\n\n" for command in (follow(viewer, actor), publish(actor, unique("a")))).encode()
    file = tmp_path / "commands"
    file.write_bytes(gzip.compress(content) if packed else content)
    assert stack.cli("publish", "--file", file).stdout == "2 commands sent\n"
    stack.drain()
    assert len(stack.timeline(viewer)) == 1


def test_an_array_is_not_a_file_of_commands(stack, tmp_path):
    file = tmp_path / "commands.json"
    file.write_text(json.dumps([follow("bob", "anna")], indent=1))
    assert "one JSON object a line, got an array" in stack.cli("publish", "--file", file, code=2).stderr


# Exit codes ------------------------------------------------------------------------------------------

WRONG_USAGE = [
    ["nonsense"],
    ["up", "--port", "65536"],
    ["up", "--port", "-1"],
    ["up", "--nonsense"],
    ["follow", "bob"],
    ["follow", "bob", "an#na"],
    ["follow", "", "anna"],
    ["unfollow", "b" * 129, "anna"],
    ["follows"],
    ["follows", "import"],
    ["follows", "import", "no/such/file.csv"],
    ["replay"],
    ["replay", "no/such/file.csv"],
    ["replay", "x.csv", "--speed", "0"],
    ["replay", "x.csv", "--speed", "-1"],
    ["replay", "x.csv", "--limit", "-1"],
    ["publish"],
    ["publish", "--actor", "anna"],
    ["publish", "--actor", "anna", "--activity", "a b"],
    ["publish", "--actor", "anna", "--activity", "a", "--kind", ""],
    ["publish", "--actor", "anna", "--activity", "a", "--at", "yesterday"],
    ["publish", "--actor", "anna", "--activity", "a", "--at", "2014-12-31T23:59:59Z"],
    ["publish", "--actor", "anna", "--activity", "a", "--at", "9999-12-31T23:59:59Z"],
    ["publish", "--actor", "anna", "--activity", "a", "--payload", "{"],
    ["publish", "--actor", "anna", "--activity", "a", "--payload", '"' + "p" * KIB4 + '"'],
    ["publish", "--file", "no/such/file.jsonl"],
    ["publish", "--file", "x.jsonl", "--actor", "anna"],
    ["publish", "--file", "x.jsonl", "--payload", "1"],
    ["publish", "--file", "x.jsonl", "--kind", "live"],
    ["update", "--actor", "anna", "--activity", "a"],
    ["update", "--actor", "anna", "--activity", "a", "--payload", "nonsense"],
    ["delete", "--actor", "anna"],
    ["timeline"],
    ["timeline", "b#b"],
    ["timeline", "b" * 129],
    ["timeline", "bob", "--limit", "0"],
    ["timeline", "bob", "--limit", "101"],
    ["timeline", "bob", "--limit", "ten"],
    ["timeline", "bob", "--order", "backwards"],
    ["timeline", "bob", "--from", "yesterday"],
    ["timeline", "bob", "--to", "2026-13-01"],
    ["dead-letters"],
    ["dead-letters", "show"],
    ["dead-letters", "redrive"],
    ["dead-letters", "drop"],
    ["dead-letters", "redrive", "--all", "some-id"],
]


@pytest.mark.parametrize("args", WRONG_USAGE, ids=lambda args: " ".join(args)[:60])
def test_wrong_usage_is_2_and_says_why(stack, args):
    done = stack.cli(*args, code=2)
    assert done.stderr.strip() and not done.stdout.strip()


ANSWER_IS_NO = [["dead-letters", command, "no-such-id"] for command in ("show", "redrive", "drop")]


@pytest.mark.parametrize("args", ANSWER_IS_NO, ids=" ".join)
def test_the_answer_is_no_is_1(stack, args):
    assert "no-such-id" in stack.cli(*args, code=1).stderr


@pytest.mark.parametrize("command", ["show", "redrive", "drop"])
@pytest.mark.parametrize("id", ["", "x" * 3000], ids=["empty", "3,000 characters"])
def test_an_id_that_no_dead_letter_can_have_is_no_trouble_of_the_stack(stack, command, id):
    done = stack.cli("dead-letters", command, id, code=None)
    assert done.returncode in (1, 2), done.stderr


# One of every command that talks to a stack; `files` has what they read.
TALKERS = [
    ["follow", "bob", "anna"],
    ["unfollow", "bob", "anna"],
    ["publish", "--actor", "anna", "--activity", "a"],
    ["publish", "--file", "commands.jsonl"],
    ["update", "--actor", "anna", "--activity", "a", "--payload", "1"],
    ["delete", "--actor", "anna", "--activity", "a"],
    ["follows", "import", "follows.csv"],
    ["replay", "posts.csv"],
    ["timeline", "bob"],
    ["dead-letters", "list"],
    ["dead-letters", "list", "--json"],
    ["dead-letters", "show", "x"],
    ["dead-letters", "redrive", "x"],
    ["dead-letters", "redrive", "--all"],
    ["dead-letters", "drop", "x"],
]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    (folder / "commands.jsonl").write_text(json.dumps(follow("bob", "anna")) + "\n")
    (folder / "follows.csv").write_text("follower,followee\nbob,anna\n")
    (folder / "posts.csv").write_text("t,author,kind\n1,anna,post\n")
    return folder


def located(args, files):
    return [str(files / arg) if (files / arg).is_file() else arg for arg in args]


@pytest.mark.parametrize("args", TALKERS, ids=" ".join)
def test_without_the_exports_it_is_2_and_names_what_is_missing(tmp_path, files, args):
    done = run(located(args, files), clean_environment(tmp_path), timeout=15)
    assert done.returncode == 2, done.stderr
    assert "NAGARE_" in done.stderr


@pytest.fixture(scope="module")
def unreachable(files):
    """All commands at once, against a stack that is gone: each may be patient, together they are not
    slower than the slowest. They start before the file's other tests and are looked at after them."""
    with Stack() as stack:
        env = stack.env
        stack.kill()
    with ThreadPoolExecutor(len(TALKERS)) as pool:
        running = {" ".join(args): pool.submit(run, located(args, files), env) for args in TALKERS}
        yield running


@pytest.fixture(scope="module", autouse=True)
def _start_early(unreachable):
    pass


@pytest.mark.parametrize("args", TALKERS, ids=" ".join)
def test_a_stack_that_is_gone_is_3(unreachable, args):
    done = unreachable[" ".join(args)].result()
    assert done.returncode == 3, done.stderr
    assert done.stderr.strip()


def started(*args, home):
    """`nagare up` that is expected to end by itself."""
    done = run(["up", *args], clean_environment(home), timeout=15)
    assert "export " not in done.stdout
    return done


def test_a_port_in_use_is_2(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = started("--port", port, home=tmp_path)
        assert done.returncode == 2 and str(port) in done.stderr


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/nagare"])
def test_a_data_directory_that_cannot_be_written_is_2(tmp_path, place):
    """Below a regular file nobody can write, not even root."""
    (tmp_path / "file").write_text("")
    done = started("--port", "0", "--data-dir", tmp_path / place, home=tmp_path)
    assert done.returncode == 2 and place in done.stderr


def test_a_data_directory_in_use_is_2(tmp_path):
    with Stack("--data-dir", tmp_path / "data") as stack:
        done = started("--port", "0", "--data-dir", tmp_path / "data", home=tmp_path)
        assert done.returncode == 2 and "data" in done.stderr
        # The one who has it goes on.
        stack.apply(follow("bob", "anna"), publish("anna", "a"))
        assert stack.timeline("bob") == ["a"]

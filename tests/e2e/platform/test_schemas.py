"""docs/schemas/command.schema.json against the running stack: what it accepts is applied, what it refuses becomes
a dead letter."""

import json
import re

import jsonschema_rs
import pytest

from conftest import (
    ROOT, body, close_poll, delete, follow, hit, instant, join, leave, open_battle, open_poll, publish, say, unfollow, unique, unsay,
    update, vote,
)

SCHEMA = json.loads((ROOT / "docs/schemas/command.schema.json").read_text())
COMMAND = jsonschema_rs.validator_for(SCHEMA, validate_formats=True)
TYPES = [one["$ref"].removeprefix("#/$defs/") for one in SCHEMA["oneOf"]]


def not_json(word):
    raise ValueError(word)


def accepted(text):
    """Whether the schema accepts a body, which has to be JSON first."""
    try:
        return COMMAND.is_valid(json.loads(text, parse_constant=not_json))
    except ValueError:
        return False


def changed(command, **members):
    """A command with members replaced; `...` takes one out."""
    return {name: value for name, value in (command | members).items() if value is not ...}


def published(**members):
    return changed(publish(unique("actor"), unique("activity")), **members)


def updated(**members):
    return changed(update(unique("actor"), unique("activity"), "new"), **members)


def deleted(**members):
    return changed(delete(unique("actor"), unique("activity")), **members)


def followed(**members):
    return changed(follow(unique("viewer"), unique("actor")), **members)


def unfollowed(**members):
    return changed(unfollow(unique("viewer"), unique("actor")), **members)


def marked(**members):
    return changed({"type": "notifications.read", "viewer_id": unique("viewer")}, **members)


def one_mark(**members):
    return marked(read=[changed({"notification_id": "like:0:live-1", "through": 5}, **members)])


def asked(**members):
    poll = open_poll(unique("actor"), unique("poll"), ["red", "blue"], instant(minutes=-1), instant(minutes=9))
    return changed(poll, **members)


def closed(**members):
    return changed(close_poll(unique("actor"), unique("poll")), **members)


def voted(choice="red", **members):
    return changed(vote(unique("viewer"), unique("poll"), choice), **members)


def fought(**members):
    return changed(open_battle(unique("actor"), unique("battle"), 100), **members)


def struck(**members):
    return changed(hit(unique("viewer"), unique("battle"), unique("hit"), 7), **members)


def spoken(**members):
    return changed(say(unique("room"), unique("message"), unique("author")), **members)


def unsaid(**members):
    return changed(unsay(unique("room"), unique("message"), unique("author")), **members)


def joined(**members):
    return changed(join(unique("room"), unique("viewer")), **members)


def left(**members):
    return changed(leave(unique("room"), unique("viewer")), **members)


DEEP = {"list": [1, 2.5, None, {"é": "\n"}], "empty": {}}
GOOD = {
    "a publish with no more than it needs": published(),
    "a publish with everything": published(kind="live", payload={"title": "Speedrun"}),
    "an update": updated(),
    "an update to null": updated(payload=None),
    "an update of the kind": updated(kind="a.b_c+d-9"),
    "a delete": deleted(),
    "a follow": followed(),
    "an unfollow": unfollowed(),
    "following oneself": followed(follower_id="me", followee_id="me"),
    "a kind that is null": published(kind=None),
    "32 characters of kind": published(kind="k" * 32),
    "a payload of text": published(payload=""),
    "a payload of a number": published(payload=-0.5),
    "a payload of false": published(payload=False),
    "a payload of depth": published(payload=DEEP),
    "unknown members": published(surplus=DEEP, Kind=1, at="whenever"),
    "members of other commands": deleted(kind=7, published_at=7, follower_id=[]),
    "ids of every character": followed(follower_id="Az09._:@-|+", followee_id="-"),
    "128 characters of id": published(activity_id=unique("a").ljust(128, "x")),
    "another offset": published(published_at="2026-01-01T09:00:00.5+09:00"),
    "small letters": published(published_at="2026-01-01t00:00:00z"),
    "twelve digits": unfollowed(at="2026-01-01T00:00:00.123456789012Z"),
    "a leap second": published(published_at="2016-12-31T23:59:60Z"),
    "29 February": followed(at="2024-02-29T00:00:00Z"),
    "the first instant": published(published_at="2015-01-01T00:00:00Z"),
    "a mark": one_mark(),
    "a mark with unknown members": one_mark(surplus=DEEP),
    "a mark of what there never was": one_mark(notification_id=""),
    "a mark of nothing of it": one_mark(through=0),
    "the greatest mark": one_mark(through=2**64 - 1),
    "no marks": marked(read=[]),
    "marks, and not all": marked(read=[], all=False),
    "marks, and nothing said of all": marked(read=[], all=None),
    "all": marked(all=True),
    "all, and no list": marked(all=True, read=None),
    "a poll": asked(),
    "a poll with a payload": asked(payload=DEEP),
    "a poll of 32 choices": asked(choices=[f"c{n}" for n in range(32)]),
    "64 characters of choice": asked(choices=["x" * 64, "Az09._:@-|+"]),
    "choices that differ in capitals": asked(choices=["red", "Red"]),
    "a poll of tomorrow": asked(opens_at=instant(days=1), closes_at=instant(days=2)),
    "a poll that closes in a year": asked(closes_at=instant(days=365)),
    "a poll of a millisecond": asked(opens_at="2026-01-01T00:00:00.000Z", closes_at="2026-01-01T00:00:00.001Z"),
    "an end": closed(),
    "an end without a poll": closed(poll_id=unique("nowhere")),
    "a vote": voted(),
    "a vote for what nobody asked": voted(choice="x" * 64),
    "a withdrawal": voted(choice=None),
    "a withdrawal with a choice": changed(voted(choice=None), choice=7),
    "a battle": fought(),
    "the weakest boss": fought(hp=1),
    "the strongest boss": fought(hp=10**15),
    "a battle with a payload": fought(payload="text"),
    "a hit": struck(),
    "the weakest hit": struck(damage=1),
    "the hardest hit": struck(damage=10**9),
    "a message": spoken(),
    "a message with a payload": spoken(payload=DEEP),
    "a message that is taken back before it is said": unsaid(),
    "a join": joined(),
    "a leave without a join": left(),
    "white space": json.dumps(published(), indent=2),
    "escapes": json.dumps(published(activity_id=unique("a"))).replace("actor", "\\u0061ctor"),
}
BAD = {
    "plain text": "hello",
    "an array": json.dumps([deleted()]),
    "a string": '"activity.deleted"',
    "null": "null",
    "two objects": json.dumps(deleted()) * 2,
    "a trailing comma": json.dumps(deleted())[:-1] + ",}",
    "NaN": json.dumps(published(payload=float("nan"))),
    "an empty object": {},
    "no type": deleted(type=...),
    "an unknown type": deleted(type="activity.exploded"),
    "a part of a fan-out": deleted(type="fanout.part", published_at=instant(), followers="0000-ffff"),
    "the rest of a command": {"type": "command.continued", "origin": "0", "command": deleted()},
    "an envelope of nobody's": {"type": "internal", "seal": "A" * 22, "command": {"type": "command.continued"}},
    "a type in capitals": deleted(type="ACTIVITY.DELETED"),
    "a type that is a number": deleted(type=1),
    "a publish without its instant": published(published_at=...),
    "a publish with `at` instead": published(published_at=..., at=instant()),
    "a publish without its actor": published(actor_id=...),
    "an update without payload": updated(payload=...),
    "an update without `at`": updated(at=...),
    "a delete without its activity": deleted(activity_id=...),
    "a follow without a follower": followed(follower_id=...),
    "an unfollow without a followee": unfollowed(followee_id=...),
    "an empty id": published(activity_id=""),
    "129 characters of id": published(actor_id="x" * 129),
    "an id with a hash": deleted(actor_id="a#b"),
    "an id with a newline at its end": followed(follower_id="a\n"),
    "an id with an accent": followed(followee_id="é"),
    "an id that is a number": updated(activity_id=17),
    "an id that is null": unfollowed(follower_id=None),
    "an instant without offset": published(published_at="2026-01-01T00:00:00"),
    "a date": followed(at="2026-01-01"),
    "30 February": published(published_at="2026-02-30T00:00:00Z"),
    "29 February of 2026": unfollowed(at="2026-02-29T00:00:00Z"),
    "hour 24": updated(at="2026-01-01T24:00:00Z"),
    "a leap second at noon": published(published_at="2026-01-01T12:00:60Z"),
    "an offset without colon": followed(at="2026-01-01T00:00:00+0100"),
    "an instant with a space": followed(at="2026-01-01 00:00:00Z"),
    "an instant with a newline at its end": followed(at="2026-01-01T00:00:00Z\n"),
    "unix seconds": published(published_at=1767225600),
    "an empty kind": published(kind=""),
    "33 characters of kind": published(kind="k" * 33),
    "a kind with a colon": updated(kind="a:b"),
    "a kind that is a number": published(kind=1),
    "a mark of nobody": marked(viewer_id=..., all=True),
    "neither marks nor all": marked(),
    "not all, and no marks": marked(all=False),
    "marks that are null": marked(read=None),
    "marks and all": marked(read=[], all=True),
    "all that is a text": marked(all="true"),
    "marks that are no list": marked(read={"notification_id": "like:0:live-1", "through": 5}),
    "a mark that is a text": marked(read=["like:0:live-1"]),
    "a mark without its notification": one_mark(notification_id=...),
    "a mark without its number": one_mark(through=...),
    "a mark of a number": one_mark(notification_id=7),
    "a mark below nothing": one_mark(through=-1),
    "a mark in between": one_mark(through=1.5),
    "a mark up to a text": one_mark(through="5"),
    "a mark beyond all numbers": one_mark(through=2**64),
    "a poll without choices": asked(choices=...),
    "choices that are null": asked(choices=None),
    "choices that are a text": asked(choices="red,blue"),
    "one choice": asked(choices=["red"]),
    "33 choices": asked(choices=[f"c{n}" for n in range(33)]),
    "a choice that is there twice": asked(choices=["red", "blue", "red"]),
    "a choice that is empty": asked(choices=["red", ""]),
    "65 characters of choice": asked(choices=["red", "x" * 65]),
    "a choice with a blank": asked(choices=["red", "dark blue"]),
    "a choice that is a number": asked(choices=["red", 7]),
    "a poll that never opens": asked(opens_at=...),
    "a poll that never closes": asked(closes_at=...),
    "a poll that closes on a date": asked(closes_at="2026-01-01"),
    "a poll of nobody": asked(actor_id=...),
    "a poll with an id of 129 characters": asked(poll_id="x" * 129),
    "an end of nobody": closed(actor_id=...),
    "an end without its instant": closed(at=...),
    "a vote without a choice": voted(choice="red") | {"choice": None},
    "a vote for nothing": changed(voted(), choice=...),
    "a vote for too much": voted(choice="x" * 65),
    "a vote of nobody": voted(viewer_id=...),
    "a vote at no time": voted(at=...),
    "a withdrawal from no poll": voted(choice=None, poll_id=...),
    "a boss without hit points": fought(hp=...),
    "a boss that is dead already": fought(hp=0),
    "a boss that is too strong": fought(hp=10**15 + 1),
    "a boss with half a hit point": fought(hp=0.5),
    "hit points that are a text": fought(hp="100"),
    "a battle of nobody": fought(actor_id=...),
    "a hit without its id": struck(hit_id=...),
    "a hit of nobody": struck(viewer_id=...),
    "a hit that heals": struck(damage=-7),
    "a hit that does nothing": struck(damage=0),
    "a hit that is too hard": struck(damage=10**9 + 1),
    "a hit of half a point": struck(damage=1.5),
    "a damage that is a text": struck(damage="7"),
    "a hit with a hash": struck(hit_id="a#b"),
    "a message without its id": spoken(message_id=...),
    "a message in no room": spoken(room_id=...),
    "a message of nobody": spoken(author_id=...),
    "a message of an actor": spoken(author_id=..., actor_id="anna"),
    "a message at no time": spoken(at=...),
    "a room with a hash": spoken(room_id="a#b"),
    "a message with an empty id": spoken(message_id=""),
    "129 characters of author": spoken(author_id="x" * 129),
    "nobody takes it back": unsaid(author_id=...),
    "a join of nobody": joined(viewer_id=...),
    "a join on a date": joined(at="2026-01-01"),
    "a leave from nowhere": left(room_id=...),
}


def test_the_schema_is_one():
    jsonschema_rs.meta.validate(SCHEMA)


def test_the_stack_knows_its_types(stack):
    """A body of no known type becomes a dead letter, which lists the types that are known."""
    [sent] = stack.send(json.dumps({"type": "no.such"}))
    stack.drain()
    [detail] = [letter["detail"] for letter in stack.dead_letters() if letter["id"] == sent]
    listed = re.search(r"expected (.*) or ([a-z.]+)", detail)
    assert sorted([*listed[1].split(", "), listed[2]]) == sorted(TYPES), detail


@pytest.mark.parametrize("type", TYPES)
def test_its_examples_are_commands(type):
    [example] = SCHEMA["$defs"][type]["examples"]
    assert example["type"] == type and accepted(json.dumps(example))


def documented():
    """(where, a body), for every command that a reader is shown."""
    for record in json.loads((ROOT / "tests/events/commands.json").read_text())["Records"]:
        yield "commands.json", record["body"]
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for block in re.findall(r"^```jsonl\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
            for line in block.splitlines():
                yield page.name, line


def test_documented_commands_are_commands():
    shown = list(documented())
    assert [json.loads(text)["type"] for where, text in shown if where == "PRODUCERS.md"] == TYPES
    for where, text in shown:
        assert accepted(text), f"{where}: {text}"


@pytest.fixture(scope="module")
def refused(stack):
    """The names of the bodies, good and bad, that became dead letters."""
    bodies = GOOD | BAD | UNSEEN
    sent = dict(zip(stack.send(*bodies.values()), bodies))
    stack.drain()
    return {sent[letter["id"]] for letter in stack.dead_letters() if letter["id"] in sent}


@pytest.mark.parametrize("name", GOOD)
def test_what_the_schema_accepts_the_stack_accepts(refused, name):
    assert accepted(body(GOOD[name]))
    assert name not in refused


# What the schema's description lists: no schema can say it.
UNSEEN = {
    "hit points with a point": json.dumps(fought()).replace(": 100,", ": 100.0,"),
    "hit points with an exponent": json.dumps(fought()).replace(": 100,", ": 1e2,"),
    "damage with a point": json.dumps(struck()).replace(": 7,", ": 7.0,"),
    "a poll that closes before it opens": asked(closes_at=instant(minutes=-2)),
    "a poll that closes as it opens": asked(opens_at="2026-01-01T00:00:00Z", closes_at="2026-01-01T01:00:00+01:00"),
    "a poll that opens in two years": asked(opens_at=instant(days=700), closes_at=instant(days=701)),
    "a poll that closes in a year and more": asked(closes_at=instant(days=367)),
    "a poll before all time": asked(opens_at="2014-12-31T23:59:59.999Z"),
    "an end ahead": closed(at=instant(days=1)),
    "a vote ahead": voted(at=instant(days=1)),
    "a hit ahead": struck(at=instant(days=1)),
    "choices that are given twice": json.dumps(asked())[:-1] + ', "choices": ["red", "blue"]}',
}


@pytest.mark.parametrize("name", UNSEEN)
def test_what_the_schema_cannot_see_becomes_a_dead_letter(refused, name):
    assert accepted(body(UNSEEN[name]))
    assert name in refused


@pytest.mark.parametrize("name", BAD)
def test_what_the_schema_refuses_becomes_a_dead_letter(refused, name):
    assert not accepted(body(BAD[name]))
    assert name in refused

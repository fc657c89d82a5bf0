"""Rooms: in order, each message once, whatever is repeated, deleted or killed in between; private ones for their members."""

import json
import random
import sqlite3
import subprocess

from conftest import NAGARE, Stack, instant, join, leave, say, unique, unsay
from test_http import bearing, token
from test_queries import QUERIES, TABLES
from test_queries import walk as pages

QUERY = "/v1/rooms/{room_id}/messages"


def path(room):
    return QUERY.format(room_id=room)


def page(stack, room, query="", headers=None):
    answer = stack.request(f"{path(room)}?{query}", headers=headers)
    assert answer.status == 200, answer.text
    return answer.json


def ids(answer):
    return [item["message_id"] for item in answer["items"]]


def walk(stack, room, query=""):
    """All messages, page by page."""
    answer = page(stack, room, query)
    found = ids(answer)
    while answer["next_cursor"]:
        answer = page(stack, room, f"limit=7&cursor={answer['next_cursor']}")
        found += ids(answer)
    return found


def test_a_conversation(stack):
    room, bob, eve = unique("room"), unique("bob"), unique("eve")
    said = [say(room, f"m{n:02}", random.choice([bob, eve]), instant(seconds=n - 60), payload={"n": n}) for n in range(30)]
    gone = [unsay(room, one["message_id"], one["author_id"]) for one in said[::5]]
    foreign = [unsay(room, said[1]["message_id"], unique("nobody"))]
    commands = (said + gone + foreign) * 2
    random.shuffle(commands)
    stack.apply(*commands)
    left = [one for n, one in enumerate(said) if n % 5]
    assert walk(stack, room, "limit=4") == [one["message_id"] for one in reversed(left)]
    assert walk(stack, room, "order=oldest") == [one["message_id"] for one in left]
    of_bob = [one["message_id"] for one in left if one["author_id"] == bob]
    assert walk(stack, room, f"order=oldest&author={bob}&limit=3") == of_bob
    first = page(stack, room, "order=oldest&limit=1")["items"][0]
    assert first == {name: left[0][name] for name in ("message_id", "author_id", "at", "payload")}


def test_every_room_equals_its_query():
    """Several rooms at once, in any order, some commands many times, and messages by others taken back in vain."""
    chance = random.Random(9)
    people, rooms = [f"{chance.choice('aZ_9')}{n}" for n in range(12)], [unique("room") for _ in range(5)]
    connection, commands = sqlite3.connect(":memory:"), []
    connection.executescript(TABLES)
    for n in range(1_500):
        room, author = chance.choice(rooms), chance.choice(people)
        # Few instants, so that ids decide.
        at = instant(days=-chance.choice([1, 1, 400]), seconds=chance.randrange(40))
        at = at[:-4] + "000Z"
        said = say(room, f"{chance.choice('aZ_9')}{n}", author, at, payload={"n": n, "ü": '"'})
        row = said | {"deleted": chance.random() < 0.2, "payload": json.dumps(said["payload"])}
        commands.append(said)
        if row["deleted"]:
            commands.append(unsay(room, said["message_id"], author))
        elif chance.random() < 0.1:
            commands.append(unsay(room, said["message_id"], chance.choice([one for one in people if one != author])))
        connection.execute("INSERT INTO messages VALUES (:room_id, :message_id, :author_id, :at, :payload, :deleted)", row)
    commands += chance.sample(commands, len(commands) // 4)
    chance.shuffle(commands)

    def answer(**parameters):
        cursor = connection.execute(QUERIES[QUERY], {"from": "", "to": "9", "limit": 10**6, "author": ""} | parameters)
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row)) for row in cursor]
        return [row | {"payload": json.loads(row["payload"])} for row in rows]

    with Stack() as stack:
        stack.send(*commands)
        stack.drain(120)
        assert stack.dead_letters() == []
        for room in rooms:
            for author in ["", *people]:
                expected, by = answer(room=room, author=author), {"author": author} if author else {}
                limit = chance.choice([7, 20, 100])
                assert pages(stack, path(room), limit=limit, **by) == expected, (room, author)
                assert pages(stack, path(room), limit=100, order="oldest", **by) == expected[::-1], (room, author)
                low, high = sorted(chance.choice(expected)["at"] for _ in range(2))
                between = {"from": low, "to": high}
                inside = answer(room=room, author=author, **between)
                assert pages(stack, path(room), limit=20, **by, **between) == inside, (room, author)


def test_an_id_belongs_to_the_first(stack):
    room, bob = unique("room"), unique("bob")
    first = say(room, "m", bob, instant(seconds=-5), payload="first")
    stack.apply(first)
    refused = stack.send(first | {"author_id": unique("eve")}, first | {"at": instant(seconds=-4)})
    assert [stack.dead_letter(id)["reason"] for id in refused] == ["conflict", "conflict"]
    stack.apply(first | {"payload": "second"})
    assert [item["payload"] for item in page(stack, room)["items"]] == ["first"]


def test_from_the_command_line(stack):
    room, bob, eve = unique("room"), unique("bob"), unique("eve")
    [report] = stack.cli_json("say", room, bob, "hi there", "--wait", "--json")
    assert (report["command"], report["state"]) == ("message.posted", "applied")
    message = report["room_message_id"]
    assert ids(page(stack, room)) == [message]
    shown = stack.cli("room", room).stdout
    assert "hi there" in shown and bob in shown and message in shown
    [item] = stack.cli_json("room", room, "--json")
    assert item["payload"] == {"text": "hi there"}
    assert stack.cli("room", room, "--author", eve).stdout == ""
    other = stack.cli("say", room, eve, "mine", "--message-id", message, "--wait", code=1)
    assert "conflict" in other.stderr
    assert "applied" in stack.cli("unsay", room, bob, message, "--wait").stdout
    assert "deleted" in stack.cli("say", room, bob, "hi there", "--message-id", message, "--at", item["at"], "--wait", code=1).stderr
    assert stack.cli("room", room).stdout == ""
    assert "applied" in stack.cli("join", room, bob, "--wait").stdout
    assert "403" in stack.cli("room", room, "--viewer", eve, code=1).stderr
    assert "applied" in stack.cli("leave", room, bob, "--wait").stdout
    assert "the leave of" in stack.cli("join", room, bob, "--at", instant(hours=-1), "--wait", code=1).stderr
    assert "A-Z" in stack.cli("say", "a room", bob, "hi", code=2).stderr


def test_followed_as_it_is_said(stack):
    room, bob = unique("room"), unique("bob")
    stack.apply(*(say(room, f"m{n}", bob, instant(seconds=n - 10), payload={"text": f"line {n}"}) for n in range(3)))
    follow = subprocess.Popen([NAGARE, "room", room, "--follow"], stdout=subprocess.PIPE, env=stack.env, text=True)
    try:
        lines = [follow.stdout.readline() for _ in range(3)]
        assert [line.split()[-1] for line in lines] == ["0", "1", "2"]
        for n in range(3, 6):
            stack.apply(say(room, f"m{n}", bob, payload={"text": f"line {n}"}))
            assert follow.stdout.readline().rstrip().endswith(f"line {n}")
    finally:
        follow.kill()
        follow.wait()


def test_an_audit_finds_what_is_missing(own_stack):
    said = [say("r", f"m{n}", "bob", instant(seconds=n - 60), payload={"n": n}) for n in range(5)]
    own_stack.apply(*said, say("s", "m0", "eve"), unsay("r", "m0", "bob"))
    own_stack.cli("audit", "--room", "r", "s")
    key = {"pk": {"S": "room#r#0"}, "sk": {"S": f"{said[2]['at']}#m2"}}
    table = {"TableName": own_stack.exports["NAGARE_LEDGER_TABLE"]}
    own_stack.dynamodb.delete_item(**table, Key=key)
    deleted = key | {"sk": {"S": f"{said[0]['at']}#m0"}}
    own_stack.dynamodb.put_item(**table, Item=deleted | {"author_id": {"S": "bob"}, "payload": {"S": "null"}, "arrived": {"N": "0"}})
    assert walk(own_stack, "r") == ["m4", "m3", "m1", "m0"]
    found = own_stack.cli("audit", "--room", "r", code=1)
    assert "missing  m2  in room r" in found.stdout and "extra    m0  in room r" in found.stdout
    assert "1 room audited: 2 differences" in found.stderr
    differences = [json.loads(line) for line in own_stack.cli("audit", "--sample", "9", "--json", code=1).stdout.splitlines()]
    of_row = {"room_id": "r", "pk": "room#r#0"}
    assert differences == [
        of_row | {"message_id": "m0", "difference": "extra", "reason": "deleted", "sk": deleted["sk"]["S"]},
        of_row | {"message_id": "m2", "difference": "missing", "reason": "absent", "sk": key["sk"]["S"]},
    ]
    assert "2 rooms audited: 2 differences, 2 mended" in own_stack.cli("audit", "--room", "r", "s", "--repair").stderr
    assert walk(own_stack, "r") == ["m4", "m3", "m2", "m1"]
    own_stack.cli("audit", "--sample", "9")


def test_private_from_the_first_word(own_stack):
    """A stranger who reads all the time reads nothing that is private, however late the joins are."""
    rooms = [f"room-{n}" for n in range(20)]
    commands = [one for room in rooms for one in (say(room, "m1", "bob", payload="secret", private=True), join(room, "bob", instant(seconds=-1)))]
    random.Random(4).shuffle(commands)
    own_stack.send(*commands)
    for _ in range(3):
        for room in rooms:
            for query in ("", "viewer=eve", "author=bob"):
                answer = own_stack.request(f"{path(room)}?{query}")
                assert answer.status == 403 or ids(answer.json) == [], answer.text
    own_stack.drain()
    for room in rooms:
        assert [own_stack.request(f"{path(room)}?{query}").status for query in ("", "viewer=eve")] == [403, 403]
        assert ids(page(own_stack, room, "viewer=bob")) == ["m1"]
    own_stack.cli("say", "alone", "bob", "hi", "--private", "--wait")
    assert "403" in own_stack.cli("room", "alone", "--viewer", "bob", code=1).stderr
    own_stack.cli("audit", "--sample", "9")


def test_late_or_ahead_each_comes_once(own_stack):
    own_stack.apply(say("r", "m0", "bob", instant(seconds=-100)))
    newer, found = page(own_stack, "r")["newer_cursor"], []
    for message, at in (("ahead", instant(minutes=4)), ("late", instant(seconds=-90)), ("old", instant(days=-3)), ("now", instant())):
        own_stack.apply(say("r", message, "bob", at))
        answer = page(own_stack, "r", f"cursor={newer}")
        newer, found = answer["newer_cursor"], found + ids(answer)
    assert found == ["ahead", "late", "old", "now"]
    assert ids(page(own_stack, "r", f"cursor={newer}")) == []


def test_a_private_room_is_its_members_alone():
    with Stack("--auth") as stack:
        room, bob, ann, eve = unique("room"), unique("bob"), unique("ann"), unique("eve")
        as_whom = {viewer: bearing(token(stack, sub=viewer)) for viewer in (bob, ann, eve)}
        status = lambda viewer, query="": stack.request(f"{path(room)}?{query}", headers=as_whom[viewer]).status
        stack.apply(say(room, "m1", bob, instant(seconds=-9)))
        assert [status(viewer) for viewer in (bob, ann, eve)] == [200, 200, 200]
        # A cursor from when it was open.
        cursor = page(stack, room, "limit=1", as_whom[eve])["newer_cursor"]
        stack.apply(join(room, bob, instant(seconds=-8)), join(room, ann, instant(seconds=-8)))
        assert [status(viewer) for viewer in (bob, ann, eve)] == [200, 200, 403]
        assert (status(eve, f"cursor={cursor}"), status(eve, f"viewer={bob}")) == (403, 403)
        # What was said before included.
        assert ids(page(stack, room, headers=as_whom[ann])) == ["m1"]
        theirs = page(stack, room, "limit=1", as_whom[ann])["newer_cursor"]
        stack.apply(leave(room, ann, instant(seconds=-7)), say(room, "m2", bob))
        assert (status(ann), status(ann, f"cursor={theirs}"), status(eve, f"cursor={theirs}")) == (403, 403, 403)
        assert ids(page(stack, room, headers=as_whom[bob])) == ["m2", "m1"]
        assert stack.request(path(room)).status == 401
        # The last one leaves: nobody reads it.
        stack.apply(leave(room, bob))
        assert [status(viewer) for viewer in (bob, ann, eve)] == [403, 403, 403]

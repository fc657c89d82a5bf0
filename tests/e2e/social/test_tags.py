"""Tags: whatever order they come in, both lists equal the queries that docs/QUERIES.md gives for them."""

import json
import random
import sqlite3
from datetime import datetime, timedelta, timezone

from conftest import Stack, delete, instant, profile, publish, tag, unique, untag, update, written
from test_queries import QUERIES, TABLES, walk

TAGGED, TAGS = "/v1/viewers/{viewer_id}/tagged", "/v1/activities/{activity_id}/tags"
ALL = 1_000_000


def history(chance):
    """Commands in any order, some of them many times, and the database that they come to."""
    now = datetime.now(timezone.utc)
    ago = lambda minutes: written(now - timedelta(minutes=minutes))
    # Ids whose order as bytes is not that of words.
    people = [f"{chance.choice('aZ_9')}{n}" for n in range(60)]
    ids, commands = [unique(f"{chance.choice('aZ_9')}{n}") for n in range(250)], []
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)
    for n, id in enumerate(ids):
        command = publish(chance.choice(people), id, ago(chance.choice([1, 2, 3, 60 * 24, 60 * 24 * 400])), payload={"n": n, "ü": '"'}, kind="image")
        row = command | {"deleted": chance.random() < 0.1, "payload": json.dumps(command["payload"])}
        commands.append(command)
        if chance.random() < 0.2:
            commands.append(update(command["actor_id"], id, {"edited": n}, ago(0.5), kind="edited"))
            row |= {"payload": json.dumps({"edited": n}), "kind": "edited"}
        if row["deleted"]:
            commands.append(delete(command["actor_id"], id))
        connection.execute("INSERT INTO activities VALUES (:activity_id, :actor_id, :kind, :published_at, :payload, :deleted)", row)
    # Some are in everything, and of some activities nobody knows. On a tie the untag wins.
    latest = {}
    for id in ids + [unique("unknown") for _ in range(20)]:
        for person in sorted({*chance.sample(people, chance.choice([0, 1, 3, 50])), *people[:2]}):
            for _ in range(chance.choice([1, 1, 2, 3])):
                make, at = chance.choice([tag, tag, tag, untag]), ago(chance.choice([5, 6, 7]))
                commands.append(make(id, person, at))
                latest[id, person] = max(latest.get((id, person), ("", False)), (at, make is untag))
    connection.executemany("INSERT INTO tags VALUES (?, ?)", [pair for pair, (_, undone) in latest.items() if not undone])
    for person in people[:30]:
        commands.append(profile(person, {"name": person, "of": [1.5, None]}))
        connection.execute("INSERT INTO profiles VALUES (?, ?)", (person, json.dumps(commands[-1]["payload"])))
    commands += chance.sample(commands, len(commands) // 5)
    chance.shuffle(commands)
    return commands, people, ids, connection


def test_both_lists_equal_the_queries():
    chance = random.Random(5)
    commands, people, ids, connection = history(chance)

    def answer(path, **parameters):
        cursor = connection.execute(QUERIES[path], {"from": "", "to": "9", "limit": ALL} | parameters)
        names = [column[0] for column in cursor.description]
        read = lambda name, text: json.loads(text) if name in ("payload", "profile") and text is not None else text
        return [{name: read(name, text) for name, text in zip(names, row)} for row in cursor]

    compared = 0
    with Stack() as stack:
        stack.send(*commands)
        stack.drain(300)
        assert stack.dead_letters() == []
        for person in people:
            path, expected = TAGGED.format(viewer_id=person), answer(TAGGED, viewer=person)
            limit = chance.choice([1, 7, 20, 100]) if len(expected) < 50 else 100
            assert walk(stack, path, limit=limit) == expected, person
            assert walk(stack, path, limit=100, order="oldest") == expected[::-1], person
            compared += len(expected)
            if expected:
                low, high = sorted(chance.choice(expected)["published_at"] for _ in range(2))
                between = {"from": low, "to": high}
                assert walk(stack, path, limit=20, **between) == answer(TAGGED, viewer=person, **between), person
        for activity in [*ids, unique("unknown")]:
            expected = answer(TAGS, activity=activity)
            assert walk(stack, TAGS.format(activity_id=activity), limit=chance.choice([3, 20, 100])) == expected, activity
            compared += len(expected)
        assert compared > 3_000
        stack.cli("audit", "--viewer", *people, "--activity", *ids)


def test_from_the_command_line(stack):
    actor, image, bob = unique("actor"), unique("img"), unique("bob")
    waiting = stack.cli("tag", image, bob, "--wait")
    assert "it is kept until the activity is published" in waiting.stdout
    assert f"{bob} is tagged in nothing" in stack.cli("tagged", bob).stderr
    stack.cli("publish", "--actor", actor, "--activity", image, "--wait")
    assert image in stack.cli("tagged", bob).stdout
    [report] = stack.cli_json("profile", "set", bob, "--payload", '{"name":"Bob"}', "--wait", "--json")
    assert (report["command"], report["state"]) == ("profile.updated", "applied")
    assert stack.read(f"/v1/activities/{image}/tags")["items"] == [{"tagged_id": bob, "profile": {"name": "Bob"}}]
    [report] = stack.cli_json("untag", image, bob, "--wait", "--json")
    assert (report["command"], report["state"]) == ("tag.deleted", "applied")
    assert stack.read(f"/v1/viewers/{bob}/tagged")["items"] == []
    late = stack.cli("tag", image, bob, "--at", instant(hours=-1), "--wait", code=1)
    assert "the untag of" in late.stderr
    assert "A-Z" in stack.cli("tag", image, "b ob", code=2).stderr


def test_what_is_left_behind_many_deleted_activities_is_printed(stack):
    actor, bob = unique("actor"), unique("bob")
    ids = [unique(f"img{n:03}") for n in range(120)]
    commands = [publish(actor, id, instant(seconds=n - 1_000)) for n, id in enumerate(ids)]
    commands += [tag(id, bob, instant(seconds=-1)) for id in ids]
    stack.send(*commands)
    stack.drain()
    stack.send(*[delete(actor, id) for id in ids[1:]])
    stack.drain()
    # Pages whose activities are all deleted are empty, and only the last has something.
    assert ids[0] in stack.cli("tagged", bob, "--limit", "1").stdout


def test_an_audit_finds_what_is_missing(own_stack):
    own_stack.apply(publish("anna", "img-1"), tag("img-1", "bob"), tag("img-1", "eve"))
    own_stack.cli("audit", "--activity", "img-1", "--viewer", "bob")
    [item] = own_stack.read("/v1/viewers/bob/tagged")["items"]
    key = {"pk": {"S": "person#bob#tagged"}, "sk": {"S": f"{item['published_at']}#img-1"}}
    own_stack.dynamodb.delete_item(TableName=own_stack.exports["NAGARE_LEDGER_TABLE"], Key=key)
    assert own_stack.read("/v1/viewers/bob/tagged")["items"] == []
    found = own_stack.cli("audit", "--activity", "img-1", code=1)
    assert f"missing  bob  {item['published_at']}#img-1" in found.stdout and "1 difference is left" in found.stderr
    assert "1 mended" in own_stack.cli("audit", "--activity", "img-1", "--repair").stderr
    assert own_stack.read("/v1/viewers/bob/tagged")["items"] == [item]

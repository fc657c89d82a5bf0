"""Every timeline equals the relational query that it replaces.

The query of the contract runs in SQLite over the same follows, publishes, updates, deletes and
unfollows that the stack was sent; every viewer is then read through the API, in pages, both ways and
in ranges. The graph is a generated one, and a real one where FOLLOWS_DATA_DIR has it.
"""

import csv
import gzip
import json
import os
import random
import sqlite3
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from conftest import Stack, delete, follow, publish, unfollow, update, written

QUERY = """
    SELECT a.activity_id, a.actor_id, a.kind, a.published_at, a.payload
    FROM activities a JOIN follows f ON f.followee_id = a.actor_id
    WHERE f.follower_id = :viewer AND NOT a.deleted AND a.published_at >= :retained_from
      AND a.published_at >= :from AND a.published_at < :to
    ORDER BY a.published_at DESC, a.activity_id DESC LIMIT :limit
"""
TABLES = """
    CREATE TABLE activities (activity_id TEXT PRIMARY KEY, actor_id, kind, published_at, payload, deleted);
    CREATE TABLE follows (follower_id, followee_id, PRIMARY KEY (follower_id, followee_id));
    CREATE INDEX by_actor ON activities (actor_id, published_at);
"""
ALL = 1_000_000


def generated():
    """A few hundred people; popularity falls off by a power."""
    chance = random.Random(11)
    people = [f"p{n}" for n in range(300)]
    weights = [1 / (n + 1) for n in range(300)]
    edges = {(chance.choice(people), actor) for actor in chance.choices(people, weights, k=3_000)}
    return sorted(edges)


def real(name):
    """A graph that takes minutes: asked for by name, and never because it happens to be there."""
    file = Path(os.environ.get("FOLLOWS_DATA_DIR") or "no such folder") / name
    if not file.exists():
        pytest.skip(f"FOLLOWS_DATA_DIR has no {name}")
    with gzip.open(file, "rt") as file:
        return [tuple(row) for row in list(csv.reader(file))[1:]]


def history(chance, edges):
    """What happens over the graph, and the state that a relational database would be in."""
    now = datetime.now(timezone.utc)

    def ago(**delta):
        return written(now - timedelta(**delta))

    actors = sorted({actor for _, actor in edges})
    popular = [actor for _, actor in chance.choices(edges, k=70)]
    authors = popular + chance.choices(actors, k=700)
    commands, activities, follows = [], {}, set(edges)
    for n, actor in enumerate(authors):
        age = {"days": chance.choice([0, 0, 1, 5, 29, 31]), "minutes": chance.choice([1, 2, 3, 700])}
        payload = {"n": n, "says": chance.choice(["a", "b", "ü", "\u0000", '"'])}
        command = publish(actor, f"a{chance.randrange(10**6)}-{n}", ago(**age), payload=payload, kind="live")
        commands.append(command)
        activities[command["activity_id"]] = command | {"deleted": False}
    for activity in chance.sample(sorted(activities), 70):
        actor = activities[activity]["actor_id"]
        commands.append(update(actor, activity, {"edited": activity}, ago(seconds=30), kind="edited"))
        activities[activity] |= {"payload": {"edited": activity}, "kind": "edited"}
    for activity in chance.sample(sorted(activities), 70):
        commands.append(delete(activities[activity]["actor_id"], activity))
        activities[activity]["deleted"] = True
    for edge in chance.sample(edges, len(edges) // 20):
        # Later than the import will be, and not too far in the future to be taken.
        commands.append(unfollow(*edge, ago(seconds=-200)))
        follows.discard(edge)
        if chance.random() < 0.3:
            commands.append(follow(*edge, ago(seconds=-230)))
            follows.add(edge)
    chance.shuffle(commands)
    return commands, activities, follows


def database(activities, follows):
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)
    rows = [
        (a["activity_id"], a["actor_id"], a["kind"], a["published_at"], json.dumps(a["payload"]), a["deleted"])
        for a in activities.values()
    ]
    connection.executemany("INSERT INTO activities VALUES (?, ?, ?, ?, ?, ?)", rows)
    connection.executemany("INSERT INTO follows VALUES (?, ?)", follows)
    return connection


def relational(connection, viewer, retained_from, limit, **range_):
    parameters = {"viewer": viewer, "retained_from": retained_from, "limit": limit, "from": "", "to": "9"}
    rows = connection.execute(QUERY, parameters | range_).fetchall()
    names = ("activity_id", "actor_id", "kind", "published_at", "payload")
    found = [dict(zip(names, row)) for row in rows]
    return [item | {"payload": json.loads(item["payload"])} for item in found]


def compare(stack, connection, viewer, chance):
    limit = chance.choice([7, 20, 100])
    pages = stack.walk(viewer, limit=limit)
    retained = pages[-1]["retained_from"]
    expected = relational(connection, viewer, retained, ALL)
    assert [item for page in pages for item in page["items"]] == expected, viewer
    assert pages[0]["items"] == relational(connection, viewer, retained, limit), viewer
    if expected and chance.random() < 0.3:
        low, high = sorted(chance.choice(expected)["published_at"] for _ in range(2))
        pages = stack.walk(viewer, limit=limit, order="oldest", **{"from": low, "to": high})
        expected = relational(connection, viewer, retained, ALL, **{"from": low, "to": high})
        assert [item for page in pages for item in page["items"]] == expected[::-1], viewer
    return len(expected)


@pytest.mark.parametrize("graph", ["generated", "anybeat.csv.gz"])
def test_every_timeline_equals_the_query(graph, tmp_path):
    edges = generated() if graph == "generated" else real(graph)
    chance = random.Random(graph)
    commands, activities, follows = history(chance, edges)
    connection = database(activities, follows)
    viewers = sorted({person for edge in edges for person in edge})
    with Stack() as stack:
        # The follows are imported in the middle: what was published before has to be brought in.
        half = len(commands) // 2
        first = [command for command in commands[:half] if not command["type"].startswith("follow")]
        stack.send(*first)
        file = tmp_path / "follows.csv"
        file.write_text("follower,followee\n" + "".join(f"{a},{b}\n" for a, b in edges))
        stack.cli("follows", "import", file, timeout=600)
        stack.send(*(command for command in commands if command not in first))
        stack.drain(600)
        assert stack.dead_letters() == []
        compared = sum(compare(stack, connection, viewer, chance) for viewer in viewers)
        print(f"{graph}: {len(viewers)} viewers, {compared} activities compared")
        audited = stack.cli("audit", "--sample", "200", timeout=600)
        assert "0 differences" in audited.stderr

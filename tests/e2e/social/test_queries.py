"""Every list equals the query that docs/QUERIES.md gives for it.

The queries run in SQLite over the same commands that the stack was sent, in another order; the lists are then read through
the API, in pages, both ways and in ranges. The graph is a generated one, and real ones where FOLLOWS_DATA_DIR has them.
"""

import json
import random
import re
import sqlite3
import urllib.parse
from datetime import datetime, timedelta, timezone

import pytest
from conftest import ROOT, Stack, delete, follow, profile, publish, spread, tag, unfollow, update, written
from test_sql import generated, real

PAGE = (ROOT / "docs/QUERIES.md").read_text(encoding="utf-8")
QUERIES = dict(re.findall(r"^## `GET ([^`]+)`\n.*?^```sql\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
TABLES = re.search(r"^```sql\n(CREATE.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[1]
ALL = 1_000_000
KINDS = ["post", "image", "live"]
# People whose lists are compared, half of them authors; in a real graph, and who publish.
MOST = 200
# What the friends of somebody's friends are tagged in: three lists, walked one after the other.
FRIENDS = """
    SELECT DISTINCT t.tagged_id, t.activity_id
    FROM follows f JOIN follows g ON g.follower_id = f.followee_id
    JOIN tags t ON t.tagged_id = g.followee_id JOIN activities a USING (activity_id)
    WHERE f.follower_id = :viewer AND NOT a.deleted
"""


class Model:
    """The commands, and the tables as they leave them."""

    def __init__(self, edges, chance):
        self.chance, self.commands = chance, []
        self.now = datetime.now(timezone.utc)
        self.people = sorted({person for edge in edges for person in edge})
        self.database = sqlite3.connect(":memory:")
        self.database.executescript(TABLES)
        self.database.create_function("spread", 1, spread)
        # Since when, where it is not for the import to say.
        self.follows = dict.fromkeys(edges)
        self.profiles = {}
        self.activities, self.tags = {}, set()

    def ago(self, **delta):
        return written(self.now - timedelta(**delta))

    def publish(self, number):
        for n in range(number):
            actor = self.chance.choice(self.people)
            at = self.ago(days=self.chance.choice([0, 1, 5, 29, 400]), minutes=self.chance.choice([1, 2, 700]))
            command = publish(actor, f"q{n}-{actor}", at, payload={"n": n}, kind=self.chance.choice(KINDS))
            self.commands.append(command)
            row = command | {"deleted": False}
            self.activities[command["activity_id"]] = row
            for minute in self.chance.sample(range(9), self.chance.choice([0, 0, 0, 1, 3])):
                kind, payload = self.chance.choice(KINDS), {"edited": minute}
                at = self.ago(hours=1, minutes=-minute)
                self.commands.append(update(actor, command["activity_id"], payload, at, kind=kind))
                if at > row.get("edited_at", ""):
                    row |= {"edited_at": at, "kind": kind, "payload": payload}
            if self.chance.random() < 0.15:
                self.commands.append(delete(actor, command["activity_id"]))
                row["deleted"] = True

    def leave(self):
        """Some edges are ended, later than the import will be, and not too far in the future to be taken."""
        for edge in self.chance.sample(sorted(self.follows), len(self.follows) // 20):
            self.commands.append(unfollow(*edge, self.ago(seconds=-200)))
            del self.follows[edge]
            if self.chance.random() < 0.3:
                self.follows[edge] = self.ago(seconds=-230)
                self.commands.append(follow(*edge, self.follows[edge]))

    def tag(self):
        for activity in self.chance.sample(sorted(self.activities), len(self.activities) // 2):
            for person in self.chance.sample(self.people, 8):
                self.commands.append(tag(activity, person, self.ago(minutes=5)))
                self.tags.add((activity, person))

    def introduce(self):
        """Half of them have a profile."""
        for person in self.chance.sample(self.people, len(self.people) // 2):
            self.profiles[person] = {"name": person, "of": [1.5, None]}
            self.commands.append(profile(person, self.profiles[person]))

    def store(self):
        rows = [
            (a["activity_id"], a["actor_id"], a["kind"], a["published_at"], json.dumps(a["payload"]), a["deleted"])
            for a in self.activities.values()
        ]
        self.database.executemany("INSERT INTO activities VALUES (?, ?, ?, ?, ?, ?)", rows)
        edges = [(*edge, since) for edge, since in self.follows.items()]
        self.database.executemany("INSERT INTO follows VALUES (?, ?, ?)", edges)
        profiles = [(person, json.dumps(payload)) for person, payload in self.profiles.items()]
        self.database.executemany("INSERT INTO profiles VALUES (?, ?)", profiles)
        self.database.executemany("INSERT INTO tags VALUES (?, ?)", sorted(self.tags))

    def friends_of_friends(self, person):
        count = """
            SELECT count(DISTINCT g.followee_id) FROM follows f JOIN follows g ON g.follower_id = f.followee_id
            WHERE f.follower_id = ?
        """
        return self.database.execute(count, [person]).fetchone()[0]

    def answer(self, path, **parameters):
        """What the query of a path says, newest first."""
        given = {"limit": ALL, "from": "", "to": "9"} | parameters
        cursor = self.database.execute(QUERIES[path], given)
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row)) for row in cursor]
        texts = {"payload", "profile"}
        read = lambda name, value: json.loads(value) if name in texts and value is not None else value
        return [{name: read(name, value) for name, value in row.items()} for row in rows]


def walk(stack, path, **parameters):
    """All items of a list, page by page. One whose reads take longer than those of one moment may ends early (docs/LIMITS.md), which depends on the machine: that
    pages are full otherwise is tested where time stands still (tests/functions/social/pages.rs)."""
    items, query, limit = [], list(parameters.items()), parameters["limit"]
    while True:
        parts = [(name, value) for name, values in query for value in (values if isinstance(values, list) else [values])]
        answer = stack.request(f"{path}?{urllib.parse.urlencode(parts)}")
        assert answer.status == 200, answer
        items += answer.json["items"]
        if answer.json["next_cursor"] is None:
            return items
        assert len(answer.json["items"]) <= limit
        query = [("limit", limit), ("cursor", answer.json["next_cursor"])]


def compare_activities(stack, model, actor):
    """The pages of one actor: of all kinds, of some, in a range, both ways."""
    path, chance = "/v1/actors/{actor_id}/activities", model.chance
    kinds = chance.choice([[], ["image"], ["image", "live"], ["none"]])
    limit = chance.choice([3, 20, 100])
    asked = {"actor": actor, "kinds": "," + ",".join(kinds) + "," if kinds else ""}
    expected = model.answer(path, **asked)
    where = path.format(actor_id=actor)
    given = {"kind": kinds, "limit": limit}
    assert walk(stack, where, **given) == expected, (actor, kinds)
    assert walk(stack, where, order="oldest", **given) == expected[::-1], (actor, kinds)
    if expected:
        low, high = sorted(chance.choice(expected)["published_at"] for _ in range(2))
        inside = model.answer(path, **asked, **{"from": low, "to": high})
        assert walk(stack, where, **given, **{"from": low, "to": high}) == inside, (actor, kinds)
    return len(expected)


def compare_follows(stack, model, person):
    """Whom one person follows, and who follows them."""
    compared = 0
    for path, parameter in (("/v1/viewers/{viewer_id}/following", "viewer"), ("/v1/actors/{actor_id}/followers", "actor")):
        expected = model.answer(path, **{parameter: person})
        shown = walk(stack, path.format(viewer_id=person, actor_id=person), limit=model.chance.choice([3, 20, 100]))
        for item, row in zip(shown, expected):
            # The import says since when itself.
            row["since"] = row["since"] or item["since"]
        assert shown == expected, (path, person)
        compared += len(expected)
    return compared


def compare_friends(stack, model, viewer):
    """What the friends of one person's friends are tagged in."""
    following = lambda person: {item["viewer_id"] for item in walk(stack, f"/v1/viewers/{person}/following", limit=100)}
    friends = set().union(*map(following, following(viewer)))
    tagged = lambda person: walk(stack, f"/v1/viewers/{person}/tagged", limit=100)
    shown = {(friend, item["activity_id"]) for friend in friends for item in tagged(friend)}
    assert shown == set(model.database.execute(FRIENDS, {"viewer": viewer})), viewer
    return len(shown)


@pytest.mark.parametrize("graph", ["generated", "anybeat.csv.gz", "twitch_mutual.csv.gz"])
def test_every_list_equals_its_query(graph, tmp_path):
    chance = random.Random(graph)
    edges = generated() if graph == "generated" else real(graph)
    if graph != "generated":
        some = set(chance.sample(sorted({person for edge in edges for person in edge}), MOST))
        edges = [edge for edge in edges if some & set(edge)][:20_000]
    model = Model(edges, chance)
    model.publish(700)
    model.leave()
    model.tag()
    model.introduce()
    model.store()
    commands = list(model.commands)
    chance.shuffle(commands)
    with Stack() as stack:
        half = len(commands) // 2
        stack.send(*(command for command in commands[:half] if not command["type"].startswith("follow")))
        file = tmp_path / "follows.csv"
        file.write_text("follower,followee\n" + "".join(f"{a},{b}\n" for a, b in edges))
        stack.cli("follows", "import", file, timeout=600)
        stack.send(*(command for command in commands[:half] if command["type"].startswith("follow")))
        stack.send(*commands[half:])
        stack.drain(600)
        assert stack.dead_letters() == []
        authors = sorted({activity["actor_id"] for activity in model.activities.values()})
        people = [who for group in (authors, model.people) for who in chance.sample(group, min(MOST // 2, len(group)))]
        compared = sum(compare_activities(stack, model, person) for person in people)
        for person in people[:3]:
            lines = stack.cli("page", person, "--kind", "image", "--limit", "2", "--all", "--json").stdout.splitlines()
            expected = model.answer("/v1/actors/{actor_id}/activities", actor=person, kinds=",image,")
            assert [json.loads(line) for line in lines] == expected, person
        followed = sum(compare_follows(stack, model, person) for person in people)
        few = [person for person in people if 1 < model.friends_of_friends(person) < 150][:12]
        tagged = sum(compare_friends(stack, model, person) for person in few)
        print(f"{graph}: {len(people)} people, {compared} activities, {followed} follows and {tagged} tags of friends' friends compared")
        assert compared > 100 and followed > 100 and tagged > 100

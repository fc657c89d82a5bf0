"""Likes: counted exactly, whatever is repeated, undone or killed in between."""

import random
import sqlite3

import pytest
from conftest import Stack, delete, instant, like, publish, unique, unlike, until
from test_sql import real


def likes(stack, activity, viewer=None):
    answer = stack.request(f"/v1/activities/{activity}" + (f"?viewer={viewer}" if viewer else ""))
    assert answer.status == 200, answer.text
    return answer.json["likes"]


def count(stack, activity):
    return likes(stack, activity)["count"]


def liked_by(stack, viewer):
    answer = stack.request(f"/v1/viewers/{viewer}/likes")
    assert answer.status == 200, answer.text
    return [item["activity_id"] for item in answer.json["items"]]


def counted(stack, activity, number):
    until(lambda: count(stack, activity) == number, f"{number} likes of {activity}")


def test_liked_undone_and_liked_again(stack):
    actor, activity, bob, eve = unique("actor"), unique("live"), unique("bob"), unique("eve")
    stack.send(like(bob, activity, instant(seconds=-9)))
    stack.drain()
    assert stack.request(f"/v1/activities/{activity}").status == 404
    stack.apply(publish(actor, activity), like(eve, activity), like(eve, activity), like(actor, activity))
    counted(stack, activity, 3)
    assert likes(stack, activity, bob) == {"count": 3, "liked": True}
    stack.apply(unlike(bob, activity, instant(seconds=-8)), like(bob, activity, instant(seconds=-8.5)))
    counted(stack, activity, 2)
    assert likes(stack, activity, bob) == {"count": 2, "liked": False}
    assert (liked_by(stack, bob), liked_by(stack, eve)) == ([], [activity])
    stack.apply(like(bob, activity))
    counted(stack, activity, 3)
    stack.apply(delete(actor, activity))
    assert stack.request(f"/v1/activities/{activity}").status == 404
    assert liked_by(stack, eve) == []


def test_from_the_command_line(stack):
    actor, activity, bob = unique("actor"), unique("live"), unique("bob")
    stack.apply(publish(actor, activity))
    assert "applied" in stack.cli("like", bob, activity, "--wait").stdout
    counted(stack, activity, 1)
    [report] = stack.cli_json("unlike", bob, activity, "--wait", "--json")
    assert (report["command"], report["state"]) == ("like.deleted", "applied")
    counted(stack, activity, 0)
    late = stack.cli("like", bob, activity, "--at", instant(hours=-1), "--wait", code=1)
    assert "the undo of" in late.stderr
    assert "A-Z" in stack.cli("like", "b ob", activity, code=2).stderr


def test_viewers_read_what_is_theirs():
    from test_http import bearing, token

    with Stack("--auth") as stack:
        stack.send(publish("anna", "live-1"), like("bob", "live-1"))
        stack.drain()
        for path, caller, status in (
            ("/v1/viewers/bob/likes", "bob", 200), ("/v1/viewers/bob/likes", "eve", 403),
            ("/v1/activities/live-1", "eve", 200), ("/v1/activities/live-1?viewer=eve", "eve", 200),
            ("/v1/activities/live-1?viewer=bob", "eve", 403),
        ):
            answer = stack.request(path, headers=bearing(token(stack, sub=caller)))
            assert answer.status == status, (path, caller, answer.text)
        assert stack.request("/v1/activities/live-1").status == 401


def test_killed_while_likes_go_on(tmp_path):
    """Everything that was accepted counts, once, although the stack dies while it folds."""
    chance = random.Random(5)
    viewers, activities = [f"v{n}" for n in range(60)], [f"a{n}" for n in range(4)]
    expected = {}
    for round in range(3):
        with Stack("--data-dir", str(tmp_path)) as stack:
            if round == 0:
                stack.send(*(publish("anna", activity) for activity in activities))
            for _ in range(200):
                viewer, activity, liked = chance.choice(viewers), chance.choice(activities), chance.random() < 0.7
                at = instant(seconds=-chance.randrange(1000))
                stack.send((like if liked else unlike)(viewer, activity, at))
                # On a tie the undo wins.
                expected.setdefault((viewer, activity), []).append((at, not liked))
            stack.kill()
    with Stack("--data-dir", str(tmp_path)) as stack:
        stack.drain()
        for activity in activities:
            theirs = [max(changes) for (_, of), changes in expected.items() if of == activity]
            counted(stack, activity, sum(not undone for _, undone in theirs))


def test_a_real_graph_against_group_by(own_stack):
    """Who follows whom in a real network, taken as likes; half of them twice, a tenth undone."""
    edges = real("anybeat.csv.gz")[:6_000]
    chance = random.Random(7)
    rows = [(follower, f"of-{followee}") for follower, followee in edges]
    undone = set(chance.sample(rows, len(rows) // 10))
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE likes (viewer, activity, PRIMARY KEY (viewer, activity))")
    database.executemany("INSERT OR IGNORE INTO likes VALUES (?, ?)", set(rows) - undone)
    commands = [like(*row, at=instant(minutes=-2)) for row in rows]
    commands += chance.sample(commands, len(commands) // 2) + [unlike(*row, at=instant(minutes=-1)) for row in undone]
    chance.shuffle(commands)
    activities = sorted({activity for _, activity in rows})
    own_stack.send(*(publish("anna", activity) for activity in activities), *commands)
    own_stack.drain(120)
    expected = dict(database.execute("SELECT activity, count(*) FROM likes GROUP BY activity"))
    most = max(expected, key=expected.get)
    counted(own_stack, most, expected[most])
    sample = chance.sample(activities, min(300, len(activities)))
    wrong = lambda: {a: (count(own_stack, a), expected.get(a, 0)) for a in sample if count(own_stack, a) != expected.get(a, 0)}
    until(lambda: not wrong(), "the counts of all of them")

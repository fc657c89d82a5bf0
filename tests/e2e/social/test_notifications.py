"""Notifications: an actor is told of every other viewer's like once, and a mark reads what was shown and no more."""

import random
import sqlite3

import pytest
from conftest import (
    Stack, delete, instant, like, mark_all_read, mark_read, publish, read_instant, unique, unlike, until,
)
from test_sql import real


def rows(page):
    """What a page says, without ids and instants."""
    return [(one["activity_id"], one["state"], one["count"], one["viewers"]) for one in page["items"]]


def told(stack, viewer, unread, *expected):
    """Waits until a viewer is told of exactly this, and returns the page."""
    end = {}

    def is_so():
        end["page"] = stack.notifications(viewer, "limit=100")
        return (end["page"]["unread_count"], rows(end["page"])) == (unread, list(expected))

    try:
        until(is_so, f"{unread} unread of {viewer}")
    except AssertionError as late:
        raise AssertionError(f"{late}: {expected}, and not {end['page']}") from None
    return end["page"]


def walk(stack, viewer, query=""):
    """All notifications, page after page."""
    page = stack.notifications(viewer, query)
    items = page["items"]
    while page["next_cursor"] is not None:
        assert page["items"], "a page that goes on is not empty"
        limit = [part for part in query.split("&") if part.startswith("limit=")]
        page = stack.notifications(viewer, "&".join([f"cursor={page['next_cursor']}", *limit]))
        items += page["items"]
    return items


def test_what_comes_after_the_answer_stays_unread(stack):
    anna, activity = unique("anna"), unique("live")
    bob, carl, dan, eve, fred = (unique(name) for name in ("bob", "carl", "dan", "eve", "fred"))
    assert stack.notifications(anna) == {"viewer_id": anna, "unread_count": 0, "items": [], "next_cursor": None}
    first, last = instant(seconds=-50), instant(seconds=-40)
    # One comes before its publish. One's own is no news, and a repetition none either.
    stack.apply(like(bob, activity, first), publish(anna, activity, instant(seconds=-60)))
    stack.apply(like(bob, activity, instant(seconds=-45)), like(anna, activity), like(carl, activity, last))
    [item] = told(stack, anna, 2, (activity, "unread", 2, [carl, bob]))["items"]
    assert item == {
        "notification_id": item["notification_id"], "kind": "like", "activity_id": activity, "state": "unread", "count": 2,
        "through": 2, "viewers": [carl, bob], "first_at": first, "last_at": last, "read_at": None,
    }

    stack.apply(like(dan, activity, instant(seconds=-30)))
    [grown] = told(stack, anna, 3, (activity, "unread", 3, [dan, carl, bob]))["items"]
    assert grown["notification_id"] == item["notification_id"]
    # The mark is of the answer from before.
    stack.apply(mark_read(anna, item))
    read = (activity, "read", 2, [carl, bob])
    new, old = told(stack, anna, 1, (activity, "unread", 1, [dan]), read)["items"]
    assert old["notification_id"] == item["notification_id"] != new["notification_id"]
    assert abs((read_instant(old["read_at"]) - read_instant(instant())).total_seconds()) < 60

    # Repeated, smaller, unknown, somebody else's: none of these changes anything, and none is a dead letter.
    unknown = [{"notification_id": id, "through": 9} for id in ("", activity, new["notification_id"] + "x")]
    stack.apply(
        mark_read(anna, item), mark_read(anna, item | {"through": 1}), mark_read(anna, *unknown), mark_read(anna),
        mark_read(bob, new), mark_all_read(bob),
        # Undone and done again: told of once.
        unlike(bob, activity, instant(seconds=-20)), like(bob, activity, instant(seconds=-10)),
        like(eve, activity, instant(seconds=-9)),
    )
    told(stack, anna, 2, (activity, "unread", 2, [eve, dan]), read)
    # More than there is marks what there is, and not what is to come.
    stack.apply(mark_read(anna, new | {"through": 1000}))
    told(stack, anna, 0, (activity, "read", 2, [eve, dan]), read)
    stack.apply(like(fred, activity, instant(seconds=-5)))
    told(stack, anna, 1, (activity, "unread", 1, [fred]), (activity, "read", 2, [eve, dan]), read)
    assert stack.dead_letters() == []


@pytest.mark.parametrize("marks", [(2, 4), (4, 2)])
def test_two_marks_of_one_notification(stack, marks):
    """In whatever order they come, the one that reaches further counts."""
    anna, activity = unique("anna"), unique("live")
    viewers = [unique("viewer") for _ in range(5)]
    stack.apply(publish(anna, activity), *(like(v, activity, instant(seconds=n - 50)) for n, v in enumerate(viewers)))
    [item] = told(stack, anna, 5, (activity, "unread", 5, viewers[:-4:-1]))["items"]
    stack.apply(*(mark_read(anna, item | {"through": through}) for through in marks))
    read = (activity, "read", 4, [viewers[3], viewers[2], viewers[1]])
    page = told(stack, anna, 1, (activity, "unread", 1, [viewers[4]]), read)
    assert page["items"][1]["notification_id"] == item["notification_id"]


def test_all_are_marked(stack):
    anna, one, other, bob, eve = unique("anna"), unique("live"), unique("live"), unique("bob"), unique("eve")
    at = [instant(seconds=n - 30) for n in range(5)]
    stack.apply(publish(anna, one), publish(anna, other), like(bob, one, at[0]), like(bob, other, at[1]), like(eve, one, at[2]))
    told(stack, anna, 3, (one, "unread", 2, [eve, bob]), (other, "unread", 1, [bob]))
    stack.apply(mark_all_read(anna))
    read = [(one, "read", 2, [eve, bob]), (other, "read", 1, [bob])]
    told(stack, anna, 0, *read)
    assert stack.notifications(anna, "state=unread")["items"] == []
    stack.apply(like(eve, other, at[3]))
    told(stack, anna, 1, (other, "unread", 1, [eve]), *read)
    assert rows(stack.notifications(anna, "state=unread")) == [(other, "unread", 1, [eve])]


def test_a_deleted_activity_notifies_of_nothing(stack):
    anna, one, other, bob, eve = unique("anna"), unique("live"), unique("live"), unique("bob"), unique("eve")
    at = [instant(seconds=n - 30) for n in range(5)]
    stack.apply(publish(anna, one), publish(anna, other), like(bob, one, at[0]), like(bob, other, at[1]))
    page = told(stack, anna, 2, (other, "unread", 1, [bob]), (one, "unread", 1, [bob]))
    stack.apply(mark_read(anna, page["items"][1]), like(eve, one, at[2]))
    page = told(stack, anna, 2, (one, "unread", 1, [eve]), (other, "unread", 1, [bob]), (one, "read", 1, [bob]))
    stack.apply(delete(anna, one), mark_read(anna, page["items"][0]))
    told(stack, anna, 1, (other, "unread", 1, [bob]))


def test_pages_show_each_once_the_latest_first(stack):
    """More activities than a viewer's inbox has room for; a third of them are marked as read."""
    anna, chance = unique("anna"), random.Random(3)
    activities = [unique("an-activity-with-a-name-of-some-length") for _ in range(60)]
    at = {activity: instant(seconds=n - 100) for n, activity in enumerate(chance.sample(activities, len(activities)))}
    latest = sorted(activities, key=at.get, reverse=True)
    stack.send(*(publish(anna, activity) for activity in activities))
    stack.send(*(like(viewer, activity, at[activity]) for activity in activities for viewer in ("bob", "eve")))
    stack.drain()
    page = told(stack, anna, 120, *((activity, "unread", 2, ["eve", "bob"]) for activity in latest))
    stack.apply(mark_read(anna, *page["items"][::3]))
    states = ["read" if n % 3 == 0 else "unread" for n in range(60)]
    told(stack, anna, 80, *((activity, state, 2, ["eve", "bob"]) for activity, state in zip(latest, states)))
    for limit in (1, 7, 60):
        assert [one["activity_id"] for one in walk(stack, anna, f"limit={limit}")] == latest, limit
        unread = walk(stack, anna, f"state=unread&limit={limit}")
        assert [one["activity_id"] for one in unread] == [a for a, state in zip(latest, states) if state == "unread"], limit
    assert len(stack.notifications(anna)["items"]) == 20
    # One from far behind comes to the front.
    stack.apply(like("dan", latest[-1], instant(seconds=-1)))
    until(lambda: stack.notifications(anna, "limit=1")["items"][0]["activity_id"] == latest[-1], "it to be the first")
    assert len(walk(stack, anna, "limit=9")) == 60
    stack.apply(mark_all_read(anna))
    until(lambda: stack.notifications(anna)["unread_count"] == 0, "all to be read")
    assert walk(stack, anna, "state=unread&limit=9") == [] and len(walk(stack, anna, "limit=9")) == 60


def test_what_cannot_be_asked_for(stack):
    anna, bob, eve = unique("anna"), unique("bob"), unique("eve")
    activities = [unique("live"), unique("live")]
    stack.apply(*(command for a in activities for command in (publish(anna, a), like(bob, a))))
    until(lambda: stack.notifications(anna)["unread_count"] == 2, "two likes")
    cursor = stack.notifications(anna, "limit=1")["next_cursor"]
    for path, parameter in (
        (f"/v1/notifications/{eve}?cursor={cursor}", "cursor"), (f"/v1/notifications/{anna}?cursor=x{cursor}", "cursor"),
        (f"/v1/viewers/{anna}/likes?cursor={cursor}", "cursor"), (f"/v1/timelines/{anna}?cursor={cursor}", "cursor"),
        (f"/v1/notifications/{anna}?state=read", "state"), (f"/v1/notifications/{anna}?limit=0", "limit"),
        ("/v1/notifications/a%20b", "viewer_id"),
    ):
        answer = stack.request(path)
        assert (answer.status, answer.json["parameter"]) == (400, parameter), path
    assert stack.request(f"/v1/notifications/{anna}", "POST").status == 405


def test_viewers_read_what_is_theirs():
    from test_http import bearing, token

    with Stack("--auth") as stack:
        stack.apply(publish("anna", "live-1"), like("bob", "live-1"))
        own = bearing(token(stack, sub="anna"))
        until(lambda: stack.notifications("anna", headers=own)["unread_count"] == 1, "one like")
        for viewer, caller, status in (("anna", "anna", 200), ("anna", "bob", 403), ("bob", "bob", 200)):
            answer = stack.request(f"/v1/notifications/{viewer}", headers=bearing(token(stack, sub=caller)))
            assert answer.status == status, (viewer, caller, answer.text)
        assert stack.request("/v1/notifications/anna").status == 401


def test_from_the_command_line(stack):
    anna, activity, viewers = unique("anna"), unique("live"), [unique("viewer") for _ in range(5)]
    at = [instant(seconds=n - 30) for n in range(5)]
    stack.apply(publish(anna, activity), *(like(viewer, activity, when) for viewer, when in zip(viewers, at)))
    page = told(stack, anna, 5, (activity, "unread", 5, viewers[:-4:-1]))
    assert stack.cli_json("notifications", anna, "--json") == page["items"]
    names = ", ".join(viewers[:-4:-1])
    shown = stack.cli("notifications", anna, "--unread", "--read")
    assert shown.stdout.splitlines() == [f"{at[4]}  unread  {names} and 2 others liked {activity}"]
    assert "5 likes are unread" in shown.stderr
    told(stack, anna, 0, (activity, "read", 5, viewers[:-4:-1]))
    assert stack.cli("notifications", anna).stdout.splitlines() == [f"{at[4]}  read    {names} and 2 others liked {activity}"]
    nothing = stack.cli("notifications", anna, "--unread", "--read")
    assert nothing.stdout == "" and "no notifications" in nothing.stderr
    assert "A-Z" in stack.cli("notifications", "an na", code=2).stderr


def counts_of(stack, viewer, state):
    """How many likes of each activity are read, or unread."""
    counts = {}
    for one in walk(stack, viewer, "limit=100"):
        if one["state"] == state:
            counts[one["activity_id"]] = counts.get(one["activity_id"], 0) + one["count"]
    return counts


def test_killed_while_likes_and_marks_go_on(tmp_path):
    """Whatever was accepted is told of once, and read as far as the marks say, although the stack dies while it folds."""
    chance = random.Random(11)
    viewers, activities = [f"v{n}" for n in range(60)], [f"a{n}" for n in range(4)]
    liked, read = {activity: set() for activity in activities}, {}
    for round in range(4):
        with Stack("--data-dir", str(tmp_path)) as stack:
            if round == 0:
                stack.send(*(publish("anna", activity) for activity in activities))
            # What was marked before the stack died is read by now, or soon.
            until(lambda: counts_of(stack, "anna", "read") == read, f"{read} to be read")
            for _ in range(120):
                viewer, activity = chance.choice(viewers), chance.choice(activities)
                undone = chance.random() < 0.3
                stack.send((unlike if undone else like)(viewer, activity, instant(seconds=-chance.randrange(1000))))
                if not undone:
                    liked[activity].add(viewer)
            shown = [one for one in walk(stack, "anna", "limit=3") if one["state"] == "unread"]
            for one in {item["activity_id"]: item for item in shown}.values():
                through = chance.randint(1, one["through"])
                stack.send(mark_read("anna", one | {"through": through}))
                read[one["activity_id"]] = read.get(one["activity_id"], 0) + through
            stack.kill()
    with Stack("--data-dir", str(tmp_path)) as stack:
        stack.drain()
        until(lambda: counts_of(stack, "anna", "read") == read, f"{read} to be read")
        unread = {a: len(of_it) - read.get(a, 0) for a, of_it in liked.items() if len(of_it) > read.get(a, 0)}
        until(lambda: counts_of(stack, "anna", "unread") == unread, f"{unread} to be unread")
        assert stack.notifications("anna")["unread_count"] == sum(unread.values())


def test_a_real_graph_against_group_by(own_stack):
    """Who follows whom in a real network, taken as likes; half of them twice, a tenth undone, which is told of all the same."""
    edges = real("anybeat.csv.gz")[:6_000]
    chance = random.Random(7)
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE likes (viewer, actor, PRIMARY KEY (viewer, actor))")
    database.executemany("INSERT OR IGNORE INTO likes VALUES (?, ?)", edges)
    commands = [like(follower, f"of-{followee}", instant(minutes=-2)) for follower, followee in edges]
    commands += chance.sample(commands, len(commands) // 2)
    undone = chance.sample(sorted(set(edges)), len(edges) // 10)
    commands += [unlike(follower, f"of-{followee}", instant(minutes=-1)) for follower, followee in undone]
    actors = sorted({followee for _, followee in edges})
    commands += [publish(actor, f"of-{actor}", instant(minutes=-3)) for actor in actors]
    chance.shuffle(commands)
    own_stack.send(*commands)
    own_stack.drain(120)
    expected = dict(database.execute("SELECT actor, count(*) FROM likes WHERE viewer <> actor GROUP BY actor"))
    sample = chance.sample(actors, min(300, len(actors)))
    unread = lambda actor: own_stack.notifications(actor)["unread_count"]
    wrong = lambda: {a: (unread(a), expected.get(a, 0)) for a in sample if unread(a) != expected.get(a, 0)}
    until(lambda: not wrong(), "all to be told of")

"""Sizes and rates: many commands at once, or one person who repeats one. Nothing grows beyond its bound, and nobody else waits."""

import os
from datetime import timedelta

from conftest import (
    Stack,
    instant,
    like,
    mark_read,
    open_poll,
    publish,
    read_instant,
    say,
    unique,
    until,
    update,
    vote,
    written,
)

# A row has all votes of its viewer, so twice as many take four times as long: 4,000 take minutes.
VOTES = int(os.environ.get("NAGARE_VOTES", "800"))
LIKES = 50
EDITS = int(os.environ.get("NAGARE_EDITS", "1500"))
"""Six thousand take a minute."""


def sizes(stack, name):
    """The size of each item of a table, by its sort key, as DynamoDB counts it."""

    def size(value):
        (kind, held), = value.items()
        match kind:
            case "M":
                return 3 + sum(len(name) + size(inner) for name, inner in held.items())
            case "L":
                return 3 + sum(1 + size(inner) for inner in held)
            case "SS":
                return sum(map(len, held))
            case "N":
                return (len(held.strip("-0.")) + 1) // 2 + 1
            case _:
                return len(held) if kind in "SB" else 1

    pages = stack.dynamodb.get_paginator("scan").paginate(TableName=stack.exports[name])
    items = [item for page in pages for item in page["Items"]]
    return {item["sk"]["S"]: sum(len(name) + size(value) for name, value in item.items()) for item in items}


def test_votes_of_one_viewer_for_a_poll_that_nobody_opened_hold_up_nobody(own_stack):
    stack = own_stack
    poll, actor, activity = unique("poll"), unique("actor"), unique("live")
    opens_at, closes_at = instant(minutes=-30), instant(minutes=30)
    stack.apply(publish(actor, activity))
    begin = read_instant(opens_at)
    votes = [
        vote("bob", poll, ["red", "blue"][n % 2], written(begin + timedelta(milliseconds=7 * n + 1)))
        for n in range(VOTES)
    ]
    stack.send(*votes, *[like(f"v{n}", activity) for n in range(LIKES)])
    stack.drain()
    until(lambda: stack.request(f"/v1/activities/{activity}").json["likes"]["count"] == LIKES, "all likes are counted")
    blocks = {key: size for key, size in sizes(stack, "NAGARE_VIEWS_TABLE").items() if key.startswith("waiting#")}
    assert blocks and max(blocks.values()) < 131_072, blocks
    stack.apply(open_poll(actor, poll, ["red", "blue"], opens_at, closes_at))
    shown = until(
        lambda: (answer := stack.request(f"/v1/polls/{poll}?viewer=bob").json)["votes"] == 1 and answer, "one vote"
    )
    assert [choice["votes"] for choice in shown["choices"]] == [0, 1] and shown["vote"] == "blue", shown
    assert stack.dead_letters() == []


def test_edits_at_once_are_in_effect_where_calls_are_slow():
    with Stack("--faults=slow=10ms") as stack:
        activities = [unique("live") for _ in range(20)]
        stack.send(*(publish("anna", activity) for activity in activities))
        stack.drain()
        begin = read_instant(instant(seconds=-EDITS))
        edits = ((activities[n % 20], n, written(begin + timedelta(seconds=n))) for n in range(EDITS))
        stack.send(*(update("anna", activity, n, at) for activity, n, at in edits))
        stack.drain(180)
        shown = [stack.read(f"/v1/activities/{activity}")["payload"] for activity in activities]
        assert shown == list(range(EDITS - 20, EDITS)), shown
        lists = sizes(stack, "NAGARE_LEDGER_TABLE")
        assert lists["changes"] <= 1_024, lists["changes"]
        assert stack.dead_letters() == []


def test_likes_and_marks_of_one_actor_come_together(own_stack):
    """More views of one actor than a transaction takes, and as many marks, in one batch of changes."""
    stack, actor = own_stack, unique("actor")
    activities = [unique("live") for _ in range(59)]
    stack.send(*(publish(actor, activity) for activity in activities))
    stack.send(*(like(f"v{n}", activities[7]) for n in range(42)))
    stack.drain()
    told = lambda: [one for one in stack.notifications(actor)["items"] if one["activity_id"] == activities[7]]
    [item] = until(lambda: [one for one in told() if one["count"] == 42], "forty-two likes")
    marks = [mark_read(actor, item | {"through": through}) for through in range(1, 43)]
    stack.send(*(like("eve", activity) for activity in activities), *marks)
    stack.drain()
    until(lambda: stack.notifications(actor)["unread_count"] == 59, "fifty-nine likes that are not read")
    counts = [stack.read(f"/v1/activities/{activity}")["likes"]["count"] for activity in activities]
    assert sum(counts) == 59 + 42, counts
    assert stack.dead_letters() == []


def test_a_room_is_private_again_after_a_restore_under_warm_functions(own_stack):
    stack, room = own_stack, unique("room")
    table = stack.exports["NAGARE_LEDGER_TABLE"]
    read = lambda: stack.request(f"/v1/rooms/{room}/messages?viewer=eve").status

    def items():
        pages = stack.dynamodb.get_paginator("scan").paginate(TableName=table)
        return [item for page in pages for item in page["Items"]]

    stack.apply(say(room, "before", "bob"))
    saved = items()
    stack.apply(say(room, "secret", "bob", private=True))
    assert read() == 403
    for item in items():
        stack.dynamodb.delete_item(TableName=table, Key={name: item[name] for name in ("pk", "sk")})
    for item in saved:
        stack.dynamodb.put_item(TableName=table, Item=item)
    assert read() == 200
    stack.apply(say(room, "again", "bob", private=True))
    assert read() == 403
    assert stack.dead_letters() == []

"""One person repeats one command thousands of times: nothing grows beyond its bound, and nobody else waits."""

import os
from datetime import timedelta

from conftest import instant, like, open_poll, publish, read_instant, unique, until, vote, written

# A row has all votes of its viewer, so twice as many take four times as long: 4,000 take minutes.
VOTES = int(os.environ.get("NAGARE_VOTES", "800"))
LIKES = 50


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
            case _:
                return len(held) if kind in "SNB" else 1

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

"""Bursts, while every call of a table takes a while: what comes at once is in effect at the pace of the calls, nothing becomes a
dead letter, and nothing that everybody writes grows.

    python -m pytest tests/e2e/test_bursts.py -rP      prints how long it took
"""

import time

import pytest

from conftest import Stack, delete, follow, instant, plain, publish, unique, update

EDITS = 1_500
# The whole takes three seconds on an idle machine. What is behind by a redelivery takes minutes.
LONGEST = 40


@pytest.fixture(scope="module")
def slow():
    with Stack("--faults=slow=10ms") as stack:
        yield stack


def changes(stack):
    """The change log, as it is stored."""
    key = {"pk": {"S": "changes#0"}, "sk": {"S": "changes"}}
    table = stack.exports["NAGARE_LEDGER_TABLE"]
    return plain(stack.dynamodb.get_item(TableName=table, Key=key, ConsistentRead=True)["Item"])


def test_edits_and_deletes_at_once_are_in_effect_at_the_pace_of_calls(slow):
    actor, viewer = unique("actor"), unique("viewer")
    ids = [f"{actor}-{n:04}" for n in range(EDITS)]
    slow.send(follow(viewer, actor, instant(minutes=-2)))
    slow.drain()
    at = instant(minutes=-1)
    slow.send(*(publish(actor, id, at) for id in ids))
    slow.drain(LONGEST)
    # A reader that keeps records.
    assert len(slow.timeline(viewer, limit=100)) == 100
    began = time.monotonic()
    slow.send(*(delete(actor, id) if n % 2 else update(actor, id, n) for n, id in enumerate(ids)))
    slow.drain(LONGEST)
    took = time.monotonic() - began
    print(f"{EDITS} edits and deletes in {took:.1f} s: {EDITS / took:.0f} a second")
    assert slow.dead_letters() == []
    assert len(changes(slow)["latest"]) <= 90
    shown = slow.page(viewer, limit=100)["items"]
    expected = [(id, n) for n, id in enumerate(ids) if n % 2 == 0][-100:][::-1]
    assert [(item["activity_id"], item["payload"]) for item in shown] == expected

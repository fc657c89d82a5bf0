"""Events on the deployed stack: the keeper makes periods, and events go into them.

Periods are days at least, so a test of minutes sees none end. Nor can one be sealed here: the emulator takes the policy of one table
for that of all, which the keeper is denied. What follows is tried on the local stack (tests/e2e/history/test_events.py).
"""

import pytest
from conftest import instant, unique, until
from deployed import Deployed, keep, let_streams_be_mapped, poll, tell_the_shard


@pytest.fixture(scope="module")
def owner():
    stack = Deployed()
    poll(stack, concurrency=2)
    tell_the_shard(stack)
    let_streams_be_mapped()
    return stack


def recorded(tenant, id, at):
    return {"type": "event.recorded", "tenant_id": tenant, "customer_id": "c-1", "event_id": id, "name": "login", "at": at,
            "properties": {"from": "web"}}


def test_events_are_recorded_in_the_period_that_the_keeper_has_made(owner):
    tenant = unique("tenant")
    until(lambda: "current" in [row["state"] for row in keep(owner).values()], "the keeper to make the table of today")
    event = recorded(tenant, "e-1", instant(minutes=-1))
    conflict = recorded(tenant, "e-1", event["at"]) | {"name": "logout"}
    owner.apply(event, event)
    path = f"/v1/tenants/{tenant}/customers/c-1/events"
    [found] = owner.read(path)["items"]
    assert found == {name: event[name] for name in ("event_id", "name", "at", "properties")}
    owner.send(conflict)
    owner.drain()
    until(lambda: "event-conflict" in [one["reason"] for one in owner.dead_letters()], "the conflict to be a dead letter")
    assert owner.read(path)["items"] == [found]
    owner.cli("dead-letters", "drop", "--reason", "event-conflict")

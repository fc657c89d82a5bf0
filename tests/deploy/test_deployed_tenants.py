"""What tenants send to the deployed intake with their tokens, and what the deployed reader shows of it: events, summaries, alerts, payloads.

Alerts by day need a day, so they are tried on the local stack (tests/e2e/history/test_tenants.py).
"""

import json

import pytest
from conftest import instant, unique, until
from deployed import invoke_the_latest, keep, let_streams_be_mapped, mappings, tell_the_shard
from tokens import bearer, jwt_stack


@pytest.fixture(scope="module")
def stack():
    """The stack, in which what is of today is recorded and folded."""
    stack, _ = jwt_stack()
    tell_the_shard(stack)
    let_streams_be_mapped()
    current = lambda: [period for period, row in keep(stack).items() if row["state"] == "current"]
    [period] = until(current, "the keeper to make the table of today")
    table = stack.exports["NAGARE_EVENTS_TABLE_PREFIX"] + period
    until(lambda: keep(stack) and mappings(table), "its stream to be mapped")
    invoke_the_latest(table)
    return stack


class Tenant:
    """A tenant with a token of its own."""

    def __init__(self, stack):
        self.stack, self.id = stack, unique("tenant")
        self.headers = bearer(jwt_stack()[1].token(unique("backend"), tenant_id=self.id))

    def request(self, target, method="GET", data=None):
        return self.stack.request(f"/v1/tenants/{self.id}/{target}", method, self.headers, data)

    def post(self, *events):
        return self.request("events", "POST", json.dumps({"events": events}).encode())

    def read(self, target):
        answer = self.request(target)
        assert answer.status == 200, answer.text
        return answer.json

    def summary(self, customer):
        """What is known of a customer; nothing of one whom nobody knows yet."""
        answer = self.request(f"customers/{customer}")
        return answer.json if answer.status == 200 else {"events": 0}

    def counted(self, customer, number):
        return until(lambda: (found := self.summary(customer))["events"] >= number and found, f"{number} events to be counted")


@pytest.fixture
def tenant(stack):
    return Tenant(stack)


def event(id, name="login", customer="c-9"):
    return {"customer_id": customer, "event_id": id, "name": name, "at": instant(minutes=-1), "properties": {"plan": "pro"}}


def test_what_is_sent_is_recorded_and_counted_once(stack, tenant):
    events = [event("e-1"), event("e-2"), event("e-3", "order")]
    answer = tenant.post(*events)
    assert (answer.status, answer.json) == (202, {"accepted": 3}), answer.text
    found = tenant.counted("c-9", 3)
    assert {name: one["count"] for name, one in found["names"].items()} == {"login": 2, "order": 1}
    # An event that comes after the repetition is counted, so that is folded as well.
    assert tenant.post(*events).status == 202
    stack.drain()
    last = event("e-4")
    assert tenant.post(last).status == 202
    found = tenant.counted("c-9", 4)
    assert (found["events"], found["names"]["login"]["count"], found["last_at"]) == (4, 3, last["at"])
    shown = tenant.read("customers/c-9/events")["items"]
    assert sorted(one["event_id"] for one in shown) == ["e-1", "e-2", "e-3", "e-4"]
    assert [one["properties"] for one in shown] == [{"plan": "pro"}] * 4
    assert [(one["name"], one["count"]) for one in tenant.read("names")["items"]] == [("login", 3), ("order", 1)]
    assert stack.dead_letters() == []


def test_a_token_reaches_its_own_tenant_alone(stack, tenant):
    other = Tenant(stack)
    assert other.post(event("theirs")).status == 202
    events, mine = f"/v1/tenants/{other.id}/events", json.dumps({"events": [event("mine")]}).encode()
    for headers in (tenant.headers, bearer(jwt_stack()[1].token(other.id))):
        assert stack.request(events, "POST", headers, mine).status == 403
        assert stack.request(f"/v1/tenants/{other.id}/customers/c-9", headers=headers).status == 403
    assert stack.fetch("POST", events, data=mine).status == 401
    stack.drain()
    assert [one["event_id"] for one in other.read("customers/c-9/events")["items"]] == ["theirs"]


def test_a_rule_alerts_and_a_customer_has_a_payload(stack, tenant):
    rule = {"type": "rule.defined", "tenant_id": tenant.id, "rule_id": "activated", "at": instant(minutes=-2),
            "when": {"event": "login", "count": 3, "within": "ever"}}
    payload = {"type": "customer.updated", "tenant_id": tenant.id, "customer_id": "c-9", "at": instant(minutes=-2),
                "payload": {"name": "Bob Ltd"}}
    # Before the rule two of three, so the projector decides; and of another all three, so the writer does.
    assert tenant.post(*(event(f"e-{n}") for n in range(2)), *(event(f"e-{n}", customer="c-1") for n in range(3))).status == 202
    tenant.counted("c-9", 2)
    tenant.counted("c-1", 3)
    stack.apply(rule, payload)
    alerts = lambda: {(one["rule_id"], one["customer_id"], one["state"]) for one in tenant.read("alerts")["items"]}
    until(lambda: alerts() == {("activated", "c-1", "unread")}, "the writer to decide")
    assert tenant.post(event("e-2")).status == 202
    until(lambda: alerts() == {("activated", customer, "unread") for customer in ("c-1", "c-9")}, "the projector to decide")
    assert tenant.summary("c-9")["payload"] == {"name": "Bob Ltd"}
    assert stack.dead_letters() == []


def test_a_mistake_refuses_the_whole_and_queues_nothing(stack, tenant):
    answer = tenant.post(event("a"), event("b", customer="a#b"), {"name": "x"})
    assert answer.status == 400, answer.text
    assert [(one["index"], one["member"]) for one in answer.json["errors"]] == [(1, "customer_id"), (2, "customer_id")]
    assert tenant.post().status == 400
    assert stack.waiting() == 0
    assert tenant.read("customers/c-9/events")["items"] == []

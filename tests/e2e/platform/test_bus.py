"""The event bus of a local stack: what is decided is told there, each by the functions that decide it."""

import json
import subprocess
import threading
import urllib.error
import urllib.request

import boto3
import jsonschema_rs
import pytest

from conftest import (
    NAGARE, ROOT, Stack, close_poll, follow, hit, instant, open_battle, open_poll, publish, unique, until,
)

SCHEMA = json.loads((ROOT / "docs/schemas/outbound.schema.json").read_text())
OUTBOUND = jsonschema_rs.validator_for(SCHEMA, validate_formats=True)
TYPES = [one["properties"]["detail-type"]["const"] for one in SCHEMA["oneOf"]]


def kept(stack, *options):
    """What the bus has, as targets of rules are given it. Each is as the schema says."""
    events = stack.cli_json("bus", "--json", *options)
    for event in events:
        if event["source"] == "nagare":
            OUTBOUND.validate(event)
    return events


def about(stack, kind, /, **members):
    """The details of events of a type that say this."""
    details = [event["detail"] for event in kept(stack, "--type", kind)]
    return [detail for detail in details if members.items() <= detail.items()]


def test_each_decision_is_told(stack):
    bob, anna, activity, poll, battle, tenant = map(unique, ("bob", "anna", "live", "mvp", "dragon", "acme"))
    begun, end = instant(minutes=-2), instant(minutes=-1)
    title = {"title": "Speedrun"}
    stack.send(
        follow(bob, anna, begun),
        publish(anna, activity, begun, kind="live", payload=title),
        open_poll(anna, poll, ["red", "blue"], instant(minutes=-5), instant(minutes=5)),
        close_poll(anna, poll, end),
        open_battle(anna, battle, 10, begun),
        hit(bob, battle, "h-1", 4, begun),
        hit(bob, battle, "h-2", 9, end),
        {"type": "rule.defined", "tenant_id": tenant, "rule_id": "r", "at": begun,
         "when": {"event": "login", "count": 1, "within": "ever"}},
        {"type": "event.recorded", "tenant_id": tenant, "customer_id": "c-9", "event_id": "e", "name": "login", "at": begun},
    )
    told = {
        "activity.published": dict(activity_id=activity, actor_id=anna, kind="live", payload=title, at=begun),
        "follow.created": dict(follower_id=bob, followee_id=anna, at=begun),
        "poll.closed": dict(poll_id=poll, actor_id=anna, at=end),
        "battle.defeated": dict(battle_id=battle, actor_id=anna, hp=10, hits=2),
        "alert.raised": dict(tenant_id=tenant, customer_id="c-9", rule_id="r", period="ever", events=1),
    }
    assert list(told) == TYPES
    ids = {}
    for kind, members in told.items():
        ids[kind] = {one["id"] for one in until(lambda: about(stack, kind, **members), f"{kind} on the bus")}
        assert len(ids[kind]) == 1, kind
    # As the last hit says that landed last: which one it was is decided by who folds.
    [defeated, *_] = about(stack, "battle.defeated", battle_id=battle)
    last = stack.request(f"/v1/battles/{battle}").json["last_hit"]
    assert {**defeated["last_hit"], "at": defeated["at"]} == last
    [alert, *_] = about(stack, "alert.raised", tenant_id=tenant)
    listed = stack.request(f"/v1/tenants/{tenant}/alerts").json["items"]
    assert [(one["alert_id"], one["decided_at"]) for one in listed] == [(alert["alert_id"], alert["at"])]
    # Said again, it is told again as the same.
    stack.send(publish(anna, activity, begun, kind="live", payload=title), follow(bob, anna, begun))
    for kind, members in list(told.items())[:2]:
        again = until(lambda: (found := about(stack, kind, **members)) and len(found) > 1 and found, f"{kind} again")
        assert {one["id"] for one in again} == ids[kind]


def test_what_comes_is_shown_while_it_is_followed(stack):
    actor, kind = unique("anna"), "activity.published"
    process = subprocess.Popen(
        [NAGARE, "bus", "--follow", "--type", kind], env=stack.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    seen = []
    threading.Thread(target=lambda: seen.extend(iter(process.stdout.readline, "")), daemon=True).start()
    try:
        for number in range(3):
            at = instant()
            stack.send(publish(actor, f"{actor}-{number}", at), follow(unique("bob"), actor))
            line = until(lambda: [one for one in list(seen) if f"{actor}-{number}" in one], "the event")[0]
            assert line.startswith(f"{at}  {kind}") and '"version"' not in line
    finally:
        process.kill()
        process.wait()
    assert not [line for line in seen if "follow.created" in line]


def test_any_sdk_puts_events_there(stack):
    client = boto3.client(
        "events", endpoint_url=stack.env["AWS_ENDPOINT_URL_EVENTBRIDGE"], region_name="us-east-1",
        aws_access_key_id="local", aws_secret_access_key="local",
    )
    name, source = stack.env["NAGARE_EVENT_BUS_NAME"], unique("mine")
    entry = {"Source": source, "DetailType": "x", "Detail": '{"n":1.0}', "EventBusName": name}
    said = client.put_events(Entries=[entry, {**entry, "Detail": "nonsense"}])
    assert said["FailedEntryCount"] == 1 and said["Entries"][1]["ErrorCode"] == "MalformedDetail"
    [event] = [one for one in kept(stack) if one["source"] == source]
    assert event["id"] == said["Entries"][0]["EventId"] and event["detail"] == {"n": 1.0}
    # As on AWS: what is for no bus is taken and dropped.
    assert client.put_events(Entries=[{**entry, "EventBusName": "other"}])["FailedEntryCount"] == 0
    assert len([one for one in kept(stack) if one["source"] == source]) == 1


def test_a_page_reaches_no_bus(stack):
    url = stack.env["AWS_ENDPOINT_URL_EVENTBRIDGE"]
    for method, data in (("GET", None), ("POST", b"{}")):
        request = urllib.request.Request(url, data, {"Origin": "http://localhost:5173"}, method=method)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request)
        assert refused.value.code == 403


def test_nothing_is_told_before_something_happens():
    with Stack() as empty:
        printed = empty.cli("bus")
        assert printed.stdout == "" and "nothing has been sent" in printed.stderr


def test_none_of_it_is_lost_where_calls_fail():
    """A fifth of all calls goes wrong, the bus's among them."""
    with Stack("--faults=errors=4%,resets=4%,lost-answers=4%,leftovers=4%,throttles=4%,duplicates=10%,seed=5") as stack:
        actor = unique("anna")
        commands = []
        for number in range(60):
            commands.append(publish(actor, f"{actor}-{number}"))
            commands.append(follow(f"{actor}-f{number}", actor))
        stack.send(*commands)
        stack.drain()
        published = {one["activity_id"]: one["id"] for one in about(stack, "activity.published", actor_id=actor)}
        followed = {one["follower_id"]: one["id"] for one in about(stack, "follow.created", followee_id=actor)}
        assert set(published) == {f"{actor}-{number}" for number in range(60)}
        assert set(followed) == {f"{actor}-f{number}" for number in range(60)}
        assert len({*published.values(), *followed.values()}) == 120

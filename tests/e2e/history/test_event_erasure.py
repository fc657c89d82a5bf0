"""`nagare forget --tenant`: events leave tables, archives and dead letters; everything else stays and can be proven."""

import json
import urllib.request

from conftest import Stack
from test_events import SETTINGS, START, event, history, lines, periods, s3, send

DAYS = ("2013-01-01", "2013-01-03")


def archived(stack):
    client, bucket = s3(stack), stack.exports["NAGARE_ARCHIVE_BUCKET"]
    keys = [it["Key"] for it in client.list_objects_v2(Bucket=bucket)["Contents"]]
    objects = [key for key in keys if key.endswith(".jsonl.gz")]
    events = [
        (line["tenant_id"], line["customer_id"], line["event_id"])
        for key in objects
        for line in lines(client.get_object(Bucket=bucket, Key=key)["Body"].read())
    ]
    listed = [
        it["key"]
        for key in keys
        if "manifest" in key
        for it in json.loads(client.get_object(Bucket=bucket, Key=key)["Body"].read())["objects"]
    ]
    assert sorted(listed) == sorted(objects)
    return sorted(events)


def forget(stack, *of, code=0):
    told = stack.cli("forget", *of, "--json", code=code)
    return json.loads(told.stdout)


def audit(stack, *tenants):
    for tenant in tenants:
        stack.cli("audit", "--tenant", tenant)
    stack.cli("events", "verify")


def test_a_customer_and_a_tenant_are_forgotten():
    with Stack("--clock", START, *SETTINGS) as stack:
        at = [f"{day}T00:00:00Z" for day in DAYS]
        everybody = [("acme", "c-1"), ("acme", "c-2"), ("other", "c-1")]
        send(stack, *(event("old", at[0], customer, tenant) for tenant, customer in everybody))
        conflict = event("old", at[0], "c-2") | {"name": "logout"}
        both = {"type": "events.recorded", "events": [conflict, event("old", at[0], "c-1") | {"name": "x"}]}
        send(stack, conflict, both)
        stack.cli("events", "advance", "--to", at[1])
        send(stack, *(event("new", at[1], customer, tenant) for tenant, customer in everybody))
        stack.cli("events", "advance", "--to", "2013-01-03T01:00:00Z")
        assert periods(stack)[DAYS[0]]["state"] == "verified"
        audit(stack, "acme", "other")
        letters = stack.cli_json("dead-letters", "list", "--json")
        assert len(letters) == 3

        # One customer, from a table that takes events, one that is sealed, and its archive.
        told = forget(stack, "--tenant", "acme", "--customer", "c-2")
        assert (told["events"], told["archived_events"], told["objects_rewritten"]) == (2, 1, 1)
        assert (told["dead_letters"], told["dead_letters_left"], told["periods_left"]) == (2, [], [])
        assert history(stack, "c-2") == [] and history(stack, "c-1") == ["old", "new"]
        assert archived(stack) == [("acme", "c-1", "old"), ("other", "c-1", "old")]
        audit(stack, "acme", "other")
        assert periods(stack)[DAYS[0]]["events"] == 2

        # What is sent afterwards is recorded.
        send(stack, event("new", at[1], "c-2"))
        assert history(stack, "c-2") == ["new"]

        # A whole tenant, from tables and from the archive of one that is gone.
        stack.cli("events", "advance", "--to", "2013-01-05T00:00:00Z")
        assert periods(stack)[DAYS[0]]["state"] == "dropped"
        told = forget(stack, "--tenant", "acme")
        assert (told["events"], told["archived_events"], told["objects_deleted"]) == (2, 1, 1)
        assert archived(stack) == [("other", "c-1", "old")]
        audit(stack, "acme", "other")
        with urllib.request.urlopen(f"{stack.exports['NAGARE_API_URL']}/v1/tenants/acme/archives") as answer:
            assert json.load(answer)["items"] == []
        assert stack.cli_json("dead-letters", "list", "--json") == []

        # Time goes on, and the rest is archived and dropped.
        stack.cli("events", "advance", "--to", "2013-01-08T00:00:00Z")
        assert periods(stack)[DAYS[1]]["state"] == "dropped"
        assert archived(stack) == [("other", "c-1", "new"), ("other", "c-1", "old")]
        audit(stack, "other")
        again = forget(stack, "--tenant", "acme")
        assert (again["events"], again["archived_events"], again["dead_letters"]) == (0, 0, 0)


def test_what_is_asked_for_has_to_be_clear():
    with Stack() as stack:
        stack.cli("forget", code=2)
        stack.cli("forget", "--customer", "c", code=2)
        stack.cli("forget", "zoe", "--tenant", "acme", code=2)

"""Events on the deployed stack: the keeper makes periods, events go into them, and a period that is over is archived.

Periods are days at least, so a test of minutes sees none end. What it sees instead is one that ended long ago: its table is
there with an event in it, the ledger says that it is planned, and the keeper takes it all the way to a verified archive.
"""

import gzip
import hashlib
import json
import os
import ssl
import urllib.request

import boto3
import pytest
from conftest import instant, unique, until
from deployed import Deployed, poll, tell_the_shard

OLD, OLD_AT = "2020-02", "2020-02-29T12:00:00.000Z"


@pytest.fixture(scope="module")
def owner():
    stack = Deployed()
    poll(stack, concurrency=2)
    tell_the_shard(stack)
    return stack


def keep(owner):
    """Has the keeper look at all periods, as its schedule does. What it finds it says in its rows."""
    functions = boto3.client("lambda")
    named = [one["FunctionName"] for one in functions.list_functions()["Functions"] if "period-keeper" in one["FunctionName"]]
    [name] = named
    answer = functions.invoke(FunctionName=name, Payload=b"{}")
    said = answer["Payload"].read().decode()
    assert "FunctionError" not in answer, said
    return {row["period"]: row for row in owner.cli_json("events", "periods", "--json")}


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
    until(lambda: [one["reason"] for one in owner.dead_letters()] == ["event-conflict"], "the conflict to be a dead letter")
    assert owner.read(path)["items"] == [found]
    owner.cli("dead-letters", "drop", "--all")


def test_a_period_that_is_over_is_archived_with_proof(owner):
    tenant, dynamodb = unique("tenant"), boto3.client("dynamodb")
    table = owner.exports["NAGARE_EVENTS_TABLE_PREFIX"] + OLD
    dynamodb.create_table(
        TableName=table, BillingMode="PAY_PER_REQUEST", DeletionProtectionEnabled=True,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )
    event = recorded(tenant, "e-1", OLD_AT)
    item = {"pk": f"{tenant}#c-1", "sk": f"{OLD_AT}#e-1", "name": "login", "properties": json.dumps(event["properties"])}
    dynamodb.put_item(TableName=table, Item={name: {"S": text} for name, text in item.items()})
    planned = {"pk": {"S": "events#periods"}, "sk": {"S": OLD}, "state": {"S": "planned"}, "version": {"N": "1"}}
    dynamodb.put_item(TableName=owner.exports["NAGARE_LEDGER_TABLE"], Item=planned)
    until(lambda: keep(owner)[OLD]["state"] == "verified", "the period to be archived and read back")
    [archive] = owner.read(f"/v1/tenants/{tenant}/archives")["items"]
    assert (archive["period"], archive["state"], archive["events"]) == (OLD, "verified", 1)
    [object] = archive["objects"]
    trust = ssl.create_default_context(cafile=os.environ["AWS_CA_BUNDLE"])
    with urllib.request.urlopen(object["url"], context=trust) as answer:
        packed = answer.read()
    assert (len(packed), hashlib.sha256(packed).hexdigest()) == (object["bytes"], object["sha256"])
    [line] = gzip.decompress(packed).splitlines()
    assert json.loads(line) == {name: value for name, value in event.items() if name != "type"}
    # It is sealed: nobody adds to it any more, whatever they may do otherwise.
    late = recorded(tenant, "e-2", OLD_AT)
    owner.send(late)
    owner.drain()
    until(lambda: [one["reason"] for one in owner.dead_letters()] == ["event-too-late"], "what is too late to be a dead letter")
    owner.cli("dead-letters", "drop", "--all")

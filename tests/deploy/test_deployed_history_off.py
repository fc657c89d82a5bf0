"""A second stack beside the first, without the event history."""

import json

import boto3
import pytest
from conftest import follow, instant, publish, unique
from deployed import Deployed, deploy, poll

NAME = "nagare-plain"
FUNCTIONS = {"FanoutWriter", "TimelineReader", "DlqAlerter", "Projector"}
TABLES = {"TimelinesTable", "LedgerTable", "FactsTable", "ViewsTable", "DeadLettersTable"}


@pytest.fixture(scope="module")
def stack():
    deploy("Stage=plain", "Authorization=iam", "History=off", name=NAME)
    stack = Deployed(name=NAME)
    poll(stack, concurrency=2)
    return stack


def recorded():
    return {"tenant_id": "acme", "customer_id": "c-1", "event_id": unique("event"), "name": "login", "at": instant(minutes=-1)}


def test_nothing_of_the_history_is_there(stack):
    of_type = {}
    for one in boto3.client("cloudformation").describe_stack_resources(StackName=NAME)["StackResources"]:
        of_type.setdefault(one["ResourceType"], set()).add(one["LogicalResourceId"])
    assert of_type["AWS::Lambda::Function"] == FUNCTIONS
    assert of_type["AWS::DynamoDB::Table"] == TABLES
    assert not {"AWS::S3::Bucket", "AWS::Scheduler::Schedule"} & set(of_type)
    tables = boto3.client("dynamodb").list_tables()["TableNames"]
    assert not [name for name in tables if name.startswith("nagare-plain-events-")]
    assert (stack.exports["NAGARE_HISTORY"], stack.exports["NAGARE_ARCHIVE_BUCKET"]) == ("off", "")


def test_its_routes_are_unknown_paths(stack):
    unknown = stack.request("/v1/unknown")
    event = json.dumps({"events": [recorded()]}).encode()
    for answer in (unknown, stack.request("/v1/tenants/acme/customers"), stack.request("/v1/tenants/acme/events", "POST", data=event)):
        assert (answer.status, answer.json["detail"]) == (404, unknown.json["detail"])


def test_its_commands_are_dead_letters_and_timelines_work(stack):
    bob, anna, live = unique("viewer"), unique("actor"), unique("live")
    [sent] = stack.send({"type": "event.recorded", **recorded()})
    stack.apply(follow(bob, anna), publish(anna, live, instant(seconds=-1)))
    assert stack.timeline(bob) == [live]
    letter = stack.dead_letter(sent)
    assert (letter["reason"], letter["verified"]) == ("history-off", True)
    assert "deploy it with History=on" in letter["detail"]
    assert [one["id"] for one in stack.dead_letters()] == [sent]

"""A producer that knows nothing but the printed exports: boto3 and the `aws` command line."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import boto3
import pytest

from conftest import (
    Stack, clean_environment, delete, follow, instant, plain, publish, read_instant, run, unfollow, unique,
)

RETENTION = timedelta(days=30)


@pytest.fixture
def bare(stack, monkeypatch, tmp_path):
    """This process's own environment, emptied of everything that is not an export."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "NAGARE_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in stack.exports.items():
        monkeypatch.setenv(name, value)


def test_follow_publish_read(stack, bare):
    sqs, dynamodb = boto3.client("sqs"), boto3.client("dynamodb")
    at = instant(seconds=-5)
    queue = os.environ["NAGARE_QUEUE_URL"]
    sqs.send_message(
        QueueUrl=queue, MessageBody=json.dumps(follow("bob", "anna")), MessageGroupId="anna"
    )
    sqs.send_message(
        QueueUrl=queue,
        MessageBody=json.dumps(publish("anna", "live-8391", at, kind="live", payload={"title": "Speedrun"})),
        MessageGroupId="anna",
    )
    stack.drain()
    answer = dynamodb.query(
        TableName=os.environ["NAGARE_TIMELINES_TABLE"],
        KeyConditionExpression="viewer_id = :viewer",
        ExpressionAttributeValues={":viewer": {"S": "bob"}},
    )
    [item] = answer["Items"]
    assert set(item["viewer_id"]) == {"S"} and set(item["sort_key"]) == {"S"}
    assert set(item["expires_at"]) == {"N"}
    entry = plain(item)
    assert entry["viewer_id"] == "bob"
    # The instant in fixed width, something between, the id.
    assert re.fullmatch(re.escape(at) + r".{1,3}live-8391", entry["sort_key"])
    leaves = (read_instant(at) + RETENTION).timestamp()
    assert leaves - 1 <= entry["expires_at"] <= leaves + 1

    [activity] = stack.page("bob")["items"]
    assert activity == {
        "activity_id": "live-8391",
        "actor_id": "anna",
        "kind": "live",
        "published_at": at,
        "payload": {"title": "Speedrun"},
    }


def test_the_table_is_what_the_contract_says(stack):
    table = stack.dynamodb.describe_table(TableName=stack.table)["Table"]
    keys = {key["KeyType"]: key["AttributeName"] for key in table["KeySchema"]}
    assert keys == {"HASH": "viewer_id", "RANGE": "sort_key"}
    types = {one["AttributeName"]: one["AttributeType"] for one in table["AttributeDefinitions"]}
    assert types == {"viewer_id": "S", "sort_key": "S"}
    assert not table.get("GlobalSecondaryIndexes") and not table.get("LocalSecondaryIndexes")


def test_all_tables_named_are_there(stack):
    named = [value for name, value in stack.exports.items() if re.fullmatch(r"NAGARE_\w+_TABLE", name)]
    assert len(named) >= 2, "the timelines, and the source of truth"
    assert set(named) <= set(stack.dynamodb.list_tables()["TableNames"])


def test_byte_order_is_time_order_and_between_works_on_dates(stack):
    viewer, actor = unique("viewer"), unique("actor")
    days = [instant(days=-n) for n in (9, 8, 7, 6)]
    stack.send(follow(viewer, actor), *(publish(actor, unique("day"), at) for at in days))
    stack.drain()
    assert [entry["sort_key"][:24] for entry in stack.entries(viewer)] == days
    # By hand, as in the console: from one date to the next.
    answer = stack.dynamodb.query(
        TableName=stack.table,
        KeyConditionExpression="viewer_id = :viewer AND sort_key BETWEEN :from AND :to",
        ExpressionAttributeValues={
            ":viewer": {"S": viewer},
            ":from": {"S": days[1][:10]},
            ":to": {"S": days[3][:10]},
        },
    )
    assert [item["sort_key"]["S"][:24] for item in answer["Items"]] == days[1:3]


def test_an_entry_is_one_write_unit_even_with_the_longest_ids(stack):
    viewer, actor, activity = "v" * 128, "a" * 128, "x" * 128
    at = instant(seconds=-1)
    stack.send(follow(viewer, actor), publish(actor, activity, at, payload="p" * 4094, kind="k" * 32))
    stack.drain()
    [entry] = stack.entries(viewer)
    size = sum(len(name) + len(str(value)) for name, value in entry.items())
    assert size < 1024


def test_duplicates_make_one_entry(stack):
    viewer, actor = unique("viewer"), unique("actor")
    commands = [follow(viewer, actor), publish(actor, unique("twice"))]
    stack.send(*commands * 10)
    stack.drain()
    assert len(stack.entries(viewer)) == 1


def test_entries_go_with_unfollow_and_delete(stack):
    viewer, actor = unique("viewer"), unique("actor")
    first, second = unique("a"), unique("a")
    stack.send(follow(viewer, actor, instant(seconds=-9)), publish(actor, first), publish(actor, second))
    stack.drain()
    stack.apply(delete(actor, first))
    [entry] = stack.entries(viewer)
    assert entry["sort_key"].endswith(second)
    stack.apply(unfollow(viewer, actor, instant(seconds=-8)))
    assert stack.entries(viewer) == []


def test_a_bad_body_becomes_a_dead_letter_and_comes_back_under_its_id(own_stack):
    stack = own_stack
    bad = '{"type":"activity.published","activity_id":"no actor, no instant"}'
    stack.sqs.send_message(QueueUrl=stack.queue_url, MessageBody=bad)
    stack.drain()
    [letter] = stack.dead_letters()
    assert letter["id"] and letter["reason"]
    shown = stack.cli("dead-letters", "show", letter["id"]).stdout
    assert json.loads(shown)["body"] == bad

    stack.cli("dead-letters", "redrive", letter["id"])
    stack.drain()
    [again] = stack.dead_letters()
    assert (again["id"], again["reason"]) == (letter["id"], letter["reason"])

    stack.cli("dead-letters", "drop", letter["id"])
    assert stack.dead_letters() == []
    # The answer is no.
    for command in ("show", "redrive", "drop"):
        done = stack.cli("dead-letters", command, letter["id"], code=1)
        assert letter["id"] in done.stderr


def test_redrive_all_brings_back_what_is_still_wrong_and_drop_takes_one(own_stack):
    stack = own_stack
    stack.apply(publish("anna", "one", instant(minutes=-1)))
    stack.send(publish("ben", "one", instant(minutes=-1)), "not json")
    stack.drain()
    before = {letter["id"]: letter["reason"] for letter in stack.dead_letters()}
    assert len(before) == 2
    stack.cli("dead-letters", "redrive", "--all")
    stack.drain()
    assert {letter["id"]: letter["reason"] for letter in stack.dead_letters()} == before
    # Only what it was told to.
    one, other = before
    stack.cli("dead-letters", "drop", one)
    assert [letter["id"] for letter in stack.dead_letters()] == [other]


def test_redrive_goes_on_past_a_letter_that_cannot_be_read(own_stack):
    """Of a long body a part is missing: that letter is told of and kept, and the others are sent."""
    stack = own_stack
    [broken] = stack.send("x" * 700_000)
    for command in (publish("anna", "one"), follow("bob", "anna")):
        stack.sqs.send_message(QueueUrl=stack.exports["NAGARE_DEAD_LETTER_QUEUE_URL"], MessageBody=json.dumps(command))
    stack.drain()
    table = stack.exports["NAGARE_DEAD_LETTERS_TABLE"]
    [part] = [item for item in stack.dynamodb.scan(TableName=table)["Items"] if item["part"]["S"].endswith("#0001")]
    stack.dynamodb.delete_item(TableName=table, Key={name: part[name] for name in ("id", "part")})
    # Two of them came from nobody knows where, so they are named.
    done = stack.cli("dead-letters", "redrive", *(letter["id"] for letter in stack.dead_letters()), code=1)
    assert "2 dead letters sent again" in done.stdout
    assert broken in done.stderr and "1 dead letter was not sent again" in done.stderr
    stack.drain()
    assert stack.timeline("bob") == ["one"]
    assert [letter["id"] for letter in stack.dead_letters()] == [broken]


def test_the_queue_answers_for_its_numbers(stack):
    stack.drain()
    answer = stack.sqs.get_queue_attributes(QueueUrl=stack.queue_url, AttributeNames=["All"])
    attributes = answer["Attributes"]
    assert attributes["ApproximateNumberOfMessages"] == "0"
    assert attributes["ApproximateNumberOfMessagesNotVisible"] == "0"
    assert attributes["ApproximateNumberOfMessagesDelayed"] == "0"
    # Five receives in all, then a dead letter.
    assert json.loads(attributes["RedrivePolicy"])["maxReceiveCount"] in (5, "5")


def test_a_delayed_message_is_counted_and_not_yet_in_effect(own_stack):
    stack = own_stack
    command = json.dumps(follow("bob", "anna"))
    stack.sqs.send_message(QueueUrl=stack.queue_url, MessageBody=command, DelaySeconds=900)
    answer = stack.sqs.get_queue_attributes(QueueUrl=stack.queue_url, AttributeNames=["All"])
    assert answer["Attributes"]["ApproximateNumberOfMessagesDelayed"] == "1"


# The `aws` command line ------------------------------------------------------------------------------

def aws(env, *args):
    beside = Path(sys.executable).with_name("aws")
    program = str(beside) if beside.exists() else shutil.which("aws")
    if program is None:
        pytest.skip("the aws command line is not installed")
    env = env | {"AWS_PAGER": ""}
    done = subprocess.run([program, *args, "--output", "json"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout.strip() else None


def test_the_aws_command_line_sends_asks_and_reads(stack):
    viewer, actor, activity = unique("viewer"), unique("actor"), unique("activity")
    stack.send(follow(viewer, actor))
    stack.drain()
    command = json.dumps(publish(actor, activity, instant(seconds=-1)))
    sent = aws(stack.env, "sqs", "send-message", "--queue-url", stack.queue_url, "--message-body", command)
    assert sent["MessageId"]
    stack.drain()
    asked = aws(
        stack.env, "sqs", "get-queue-attributes", "--queue-url", stack.queue_url,
        "--attribute-names", "ApproximateNumberOfMessages",
    )
    assert asked["Attributes"] == {"ApproximateNumberOfMessages": "0"}
    found = aws(
        stack.env, "dynamodb", "query", "--table-name", stack.table,
        "--key-condition-expression", "viewer_id = :v",
        "--expression-attribute-values", json.dumps({":v": {"S": viewer}}),
    )
    assert found["Count"] == 1 and found["Items"][0]["sort_key"]["S"].endswith(activity)


# `nagare` itself -------------------------------------------------------------------------------------

def test_the_command_line_does_what_the_commands_do(stack):
    viewer, actor, activity = unique("viewer"), unique("actor"), unique("activity")
    stack.cli("follow", viewer, actor)
    stack.cli("publish", "--actor", actor, "--activity", activity, "--kind", "live", "--payload", '{"n":1.50}')
    stack.drain()
    [line] = stack.cli("timeline", viewer, "--json").stdout.splitlines()
    assert json.loads(line)["kind"] == "live" and "1.50" in line

    stack.cli("update", "--actor", actor, "--activity", activity, "--payload", '"new"', "--kind", "post")
    stack.drain()
    [activity_now] = stack.cli_json("timeline", viewer, "--json")
    assert (activity_now["payload"], activity_now["kind"]) == ("new", "post")
    assert activity in stack.cli("timeline", viewer).stdout

    stack.cli("unfollow", viewer, actor)
    stack.drain()
    assert stack.cli_json("timeline", viewer, "--json") == []
    stack.cli("follow", viewer, actor)
    stack.drain()
    assert len(stack.cli_json("timeline", viewer, "--json")) == 1
    stack.cli("delete", "--actor", actor, "--activity", activity)
    stack.drain()
    assert stack.cli_json("timeline", viewer, "--json") == []


def test_the_timeline_command_passes_its_options_on(stack):
    viewer, actor = unique("viewer"), unique("actor")
    at = [instant(minutes=-n) for n in range(9, 0, -1)]
    names = [unique("t") for _ in at]
    stack.send(follow(viewer, actor), *(publish(actor, name, when) for name, when in zip(names, at)))
    stack.drain()

    def shown(*options):
        return [one["activity_id"] for one in stack.cli_json("timeline", viewer, "--json", *options)]

    assert shown() == names[::-1]
    assert shown("--limit", "2") == names[:-3:-1]
    assert shown("--limit", "2", "--all") == names[::-1]
    assert shown("--limit", "4", "--all", "--order", "oldest") == names
    assert shown("--from", at[2], "--to", at[5], "--order", "oldest") == names[2:5]


def test_publish_at_and_file(stack, tmp_path):
    viewer, actor = unique("viewer"), unique("actor")
    one, two, at = unique("p"), unique("p"), instant(hours=-2)
    stack.cli("publish", "--actor", actor, "--activity", one, "--at", at)
    file = tmp_path / "commands.jsonl"
    commands = [follow(viewer, actor), publish(actor, two, instant(hours=-1))]
    file.write_text("".join(json.dumps(command) + "\n" for command in commands))
    stack.cli("publish", "--file", file)
    stack.drain()
    items = stack.page(viewer, order="oldest")["items"]
    assert [item["activity_id"] for item in items] == [one, two]
    assert (items[0]["published_at"], items[0]["kind"], items[0]["payload"]) == (at, "post", None)


def test_ctrl_c_ends_the_stack_cleanly():
    with Stack() as stack:
        stack.process.send_signal(signal.SIGINT)
        assert stack.process.wait(timeout=20) == 0


def test_the_sample_shows_a_timeline_at_once():
    with Stack("--sample") as stack:
        # Ready means loaded. The last messages may be in effect before they have left the queue.
        viewers = {entry["viewer_id"] for entry in stack.entries()}
        assert len(viewers) >= 12
        assert stack.page(sorted(viewers)[0])["items"]
        assert stack.dead_letters() == []


def test_a_stack_starts_empty(own_stack):
    assert own_stack.entries() == [] and own_stack.dead_letters() == []


def test_help_and_version_need_no_stack(tmp_path):
    env = clean_environment(tmp_path)
    for args in (["--help"], ["--version"], ["up", "--help"]):
        assert run(args, env).returncode == 0

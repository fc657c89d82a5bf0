"""The tables of docs/LOCAL.md, "What works of DynamoDB and SQS": every row is tried, and every call has a row."""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.parse
from pathlib import Path

import boto3
import botocore.parsers
import pytest
import requests
from botocore import xform_name
from botocore.config import Config
from botocore.exceptions import ClientError

from conftest import ROOT, Stack, clean_environment, follow, unique, until

SECTIONS = dict(re.findall(r"^#{2,3} (.+?)\n(.*?)(?=^#{2,3} |\Z)", (ROOT / "docs/LOCAL.md").read_text(), re.M | re.S))


def rows(section):
    """The cells of each row of a section's table."""
    lines = [line for line in SECTIONS[section].splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[1:]]


def calls(section):
    """(call, what the table says about it), for every call that a table names."""
    return [(call, said) for names, said in rows(section) for call in re.findall(r"`(\w+)`", names)]


def code_of(call):
    with pytest.raises(ClientError) as refused:
        call()
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert refused.value.response["Error"]["Message"]
    return refused.value.response["Error"]["Code"]


@pytest.mark.parametrize("service, section", [("dynamodb", "DynamoDB"), ("sqs", "SQS")])
def test_every_call_has_one_row(service, section):
    known = boto3.client(service, region_name="us-east-1").meta.service_model.operation_names
    assert sorted(call for call, _ in calls(section)) == sorted(known)


# DynamoDB -------------------------------------------------------------------------------------------------

class Tables:
    """Tries one call each. What is written is read again."""

    def __init__(self, stack):
        self.db, self.table = stack.dynamodb, stack.exports["NAGARE_TIMELINES_TABLE"]

    def key(self, sort_key="1"):
        return {"viewer_id": {"S": self.viewer}, "sort_key": {"S": sort_key}}

    def put(self, sort_key="1", n="0"):
        self.db.put_item(TableName=self.table, Item={**self.key(sort_key), "n": {"N": n}})

    def n(self, sort_key="1"):
        item = self.db.get_item(TableName=self.table, Key=self.key(sort_key)).get("Item")
        return item and item["n"]["N"]

    def query(self):
        return self.db.query(
            TableName=self.table,
            KeyConditionExpression="viewer_id = :viewer",
            ExpressionAttributeValues={":viewer": {"S": self.viewer}},
        )["Items"]

    def count(self):
        """An update that shows how often it was applied."""
        adds = {"UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
        return {"Update": {"TableName": self.table, "Key": self.key(), **adds}}

    def try_call(self, call):
        self.viewer = unique("tried")
        getattr(self, call)()

    def GetItem(self):
        assert self.n() is None
        self.put(n="7")
        assert self.n() == "7"

    def PutItem(self):
        self.put()
        new = {"TableName": self.table, "Item": self.key(), "ConditionExpression": "attribute_not_exists(viewer_id)"}
        assert code_of(lambda: self.db.put_item(**new)) == "ConditionalCheckFailedException"

    def BatchGetItem(self):
        self.put()
        keys = [self.key(), self.key("2")]
        found = self.db.batch_get_item(RequestItems={self.table: {"Keys": keys}})["Responses"][self.table]
        assert len(found) == 1

    def Query(self):
        for sort_key in "132":
            self.put(sort_key)
        assert [item["sort_key"]["S"] for item in self.query()] == ["1", "2", "3"]

    def TransactGetItems(self):
        self.put()
        gets = [{"Get": {"TableName": self.table, "Key": self.key(sort_key)}} for sort_key in "12"]
        found = self.db.transact_get_items(TransactItems=gets)["Responses"]
        assert ["Item" in one for one in found] == [True, False]

    def UpdateItem(self):
        self.db.update_item(**self.count()["Update"])
        assert self.n() == "1"

    def DeleteItem(self):
        self.put()
        self.db.delete_item(TableName=self.table, Key=self.key())
        assert self.n() is None

    def BatchWriteItem(self):
        self.put("2")
        writes = [{"PutRequest": {"Item": self.key()}}, {"DeleteRequest": {"Key": self.key("2")}}]
        assert self.db.batch_write_item(RequestItems={self.table: writes})["UnprocessedItems"] == {}
        assert self.query() == [self.key()]

    def TransactWriteItems(self):
        """Twice with the same token, then with other actions, then with another token."""
        token = unique("token")
        for _ in range(2):
            self.db.transact_write_items(TransactItems=[self.count()], ClientRequestToken=token)
        assert self.n() == "1"
        other = {"Delete": {"TableName": self.table, "Key": self.key()}}
        again = lambda: self.db.transact_write_items(TransactItems=[other], ClientRequestToken=token)  # noqa: E731
        assert code_of(again) == "IdempotentParameterMismatchException"
        self.db.transact_write_items(TransactItems=[self.count()])
        assert self.n() == "2"

    def ListTables(self):
        assert self.table in self.db.list_tables()["TableNames"]

    def DescribeTable(self):
        assert self.db.describe_table(TableName=self.table)["Table"]["TableStatus"] == "ACTIVE"

    def DescribeTimeToLive(self):
        found = self.db.describe_time_to_live(TableName=self.table)["TimeToLiveDescription"]
        assert found == {"TimeToLiveStatus": "ENABLED", "AttributeName": "expires_at"}

    def of_events(self):
        """A table that is made for the call."""
        self.events = f"nagare-events-{self.viewer}"
        attributes = [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk")]
        keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
        table = {"KeySchema": keys, "AttributeDefinitions": attributes, "BillingMode": "PAY_PER_REQUEST"}
        made = self.db.create_table(TableName=self.events, DeletionProtectionEnabled=True, **table)
        self.arn = made["TableDescription"]["TableArn"]
        return self.db.describe_table(TableName=self.events)["Table"]

    def CreateTable(self):
        assert self.of_events()["TableStatus"] == "ACTIVE"

    def UpdateTable(self):
        assert self.of_events()["DeletionProtectionEnabled"] is True
        self.db.update_table(TableName=self.events, DeletionProtectionEnabled=False)
        described = self.db.describe_table(TableName=self.events)["Table"]
        assert not described.get("DeletionProtectionEnabled")

    def DeleteTable(self):
        self.of_events()
        assert code_of(lambda: self.db.delete_table(TableName=self.events)) == "ValidationException"
        self.db.update_table(TableName=self.events, DeletionProtectionEnabled=False)
        self.db.delete_table(TableName=self.events)
        assert self.events not in self.db.list_tables()["TableNames"]
        assert code_of(lambda: self.db.delete_table(TableName=self.table)) == "ValidationException"

    def UpdateContinuousBackups(self):
        self.of_events()
        on = {"PointInTimeRecoveryEnabled": True}
        self.db.update_continuous_backups(TableName=self.events, PointInTimeRecoverySpecification=on)
        found = self.db.describe_continuous_backups(TableName=self.events)["ContinuousBackupsDescription"]
        assert found["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "ENABLED"

    def DescribeContinuousBackups(self):
        self.of_events()
        found = self.db.describe_continuous_backups(TableName=self.events)["ContinuousBackupsDescription"]
        assert found["PointInTimeRecoveryDescription"]["PointInTimeRecoveryStatus"] == "DISABLED"

    def PutResourcePolicy(self):
        self.of_events()
        deny = {"Effect": "Deny", "Principal": "*", "Action": ["dynamodb:PutItem"], "Resource": self.arn}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [deny]})
        self.db.put_resource_policy(ResourceArn=self.arn, Policy=policy)
        item = {"pk": {"S": "acme#c-9"}, "sk": {"S": "1"}}
        assert code_of(lambda: self.db.put_item(TableName=self.events, Item=item)) == "AccessDeniedException"
        return policy, item

    def GetResourcePolicy(self):
        policy, _ = self.PutResourcePolicy()
        assert self.db.get_resource_policy(ResourceArn=self.arn)["Policy"] == policy

    def DeleteResourcePolicy(self):
        _, item = self.PutResourcePolicy()
        self.db.delete_resource_policy(ResourceArn=self.arn)
        self.db.put_item(TableName=self.events, Item=item)

    def Scan(self):
        """2,100 small items: DynamoDB would have them on one page."""
        sort_keys = [f"{n:04}" for n in range(2_100)]
        for start in range(0, len(sort_keys), 25):
            writes = [{"PutRequest": {"Item": self.key(sort_key)}} for sort_key in sort_keys[start:start + 25]]
            self.db.batch_write_item(RequestItems={self.table: writes})
        page = self.db.scan(TableName=self.table)
        assert page["ScannedCount"] == 2_000 and "LastEvaluatedKey" in page
        pages = self.db.get_paginator("scan").paginate(TableName=self.table)
        found = [item["sort_key"]["S"] for page in pages for item in page["Items"] if item["viewer_id"]["S"] == self.viewer]
        assert sorted(found) == sort_keys


@pytest.mark.parametrize("call, said", calls("DynamoDB"), ids=lambda x: x.split()[0])
def test_dynamodb(stack, call, said):
    if not said.startswith("refused"):
        return Tables(stack).try_call(call)
    # Without parameters: what is not served is not served with any.
    assert code_of(without_parameters(stack, "dynamodb", call)) == re.search(r"`(\w+)`", said)[1]


def without_parameters(stack, service, call):
    """The call as boto3 sends it, with nothing in it."""
    endpoint = stack.exports[f"AWS_ENDPOINT_URL_{service.upper()}"]
    keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any", "region_name": "eu-north-1"}
    # Not with its host in front, as some calls have it, and not looked for elsewhere.
    config = Config(parameter_validation=False, inject_host_prefix=False)
    unchecked = boto3.client(service, endpoint_url=endpoint, config=config, **keys)
    return getattr(unchecked, xform_name(call))


def test_there_are_no_streams(stack):
    endpoint = stack.exports["AWS_ENDPOINT_URL_DYNAMODB"]
    keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any", "region_name": "us-east-1"}
    streams = boto3.client("dynamodbstreams", endpoint_url=endpoint, **keys)
    assert code_of(streams.list_streams) == "ValidationException"


@pytest.mark.parametrize("life", ["restart", "kill"])
def test_a_token_outlives_the_process(tmp_path, life):
    """And a transaction that is sent again after `kill -9` is still applied once."""
    viewer, token = unique("viewer"), unique("token")
    for _ in range(3):
        stack = Stack("--data-dir", tmp_path / "data")
        tables = Tables(stack)
        tables.viewer = viewer
        tables.db.transact_write_items(TransactItems=[tables.count()], ClientRequestToken=token)
        assert tables.n() == "1"
        if life == "kill":
            stack.kill()
        else:
            stack.process.send_signal(signal.SIGINT)
            assert stack.process.wait(30) == 0
            stack.kill()


# SQS --------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def idle():
    """A stack whose functions hang as soon as they have taken some messages, and leave the others to us."""
    with Stack("--faults=hangs=100%") as running:
        yield running


class Queues:
    """Tries one call each, on the queue of commands."""

    def __init__(self, stack):
        self.sqs, self.url = stack.sqs, stack.exports["NAGARE_QUEUE_URL"]
        self.at = {"QueueUrl": self.url}

    def send(self, **more):
        return self.sqs.send_message(**self.at, MessageBody=json.dumps({"type": "tried"}), **more)

    def counted(self, name):
        found = self.sqs.get_queue_attributes(**self.at, AttributeNames=["All"])["Attributes"]
        return int(found[f"ApproximateNumberOfMessages{name}"])

    def GetQueueUrl(self):
        assert self.sqs.get_queue_url(QueueName=self.url.rsplit("/", 1)[1])["QueueUrl"] == self.url

    def ListQueues(self):
        assert self.url in self.sqs.list_queues()["QueueUrls"]

    def PurgeQueue(self):
        self.send(DelaySeconds=900)
        self.sqs.purge_queue(**self.at)
        assert self.counted("Delayed") == 0

    def GetQueueAttributes(self):
        before = self.counted("Delayed")
        self.send(DelaySeconds=900)
        assert self.counted("Delayed") == before + 1
        assert "Attributes" not in self.sqs.get_queue_attributes(**self.at, AttributeNames=["Policy"])

    def SendMessage(self):
        trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}}
        answer = self.send(MessageSystemAttributes=trace)
        assert answer["MessageId"] and "MD5OfMessageSystemAttributes" not in answer

    def SendMessageBatch(self):
        entries = [{"Id": str(n), "MessageBody": json.dumps({"type": "tried"})} for n in range(10)]
        assert len(self.sqs.send_message_batch(**self.at, Entries=entries)["Successful"]) == 10


@pytest.mark.parametrize("call, said", calls("SQS"), ids=lambda x: x.split()[0])
def test_sqs(idle, call, said):
    if not said.startswith("refused"):
        return getattr(Queues(idle), call)()
    assert code_of(without_parameters(idle, "sqs", call)) == re.search(r"`(\w+)`", said)[1]


# Clients ----------------------------------------------------------------------------------------------------

# One call of each service, as any version of boto3 takes it.
ASK = """
import json, os, sys, boto3, botocore
from botocore.exceptions import ClientError
said = {"versions": [boto3.__version__, botocore.__version__]}
for service, call in (
    ("DynamoDB", lambda: boto3.client("dynamodb").describe_table(TableName=os.environ["NAGARE_LEDGER_TABLE"])),
    ("SQS", lambda: boto3.client("sqs").send_message(QueueUrl=os.environ["NAGARE_QUEUE_URL"], MessageBody=sys.argv[1])),
):
    try:
        call()
        said[service] = "works"
    except ClientError as error:
        said[service] = [error.response["Error"]["Code"], str(error)]
print(json.dumps(said))
"""


def environment(stack, home):
    # boto3 has read AWS_ENDPOINT_URL_* since July 2023.
    return {**clean_environment(home), **stack.exports}


def installed(name):
    """The interpreter of an environment with the packages of one requirements file."""
    directory = ROOT / "target/clients-venv" / name
    script = f'. tests/venv.sh; install "{directory}" "tests/clients/requirements-{name}.txt"'
    done = subprocess.run(["bash", "-euc", script], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return directory / "bin/python"


PYTHONS = {
    "boto3 1.44.5": lambda: Path(sys.executable),
    "boto3 1.28.81 with botocore 1.31.81": lambda: installed("json"),
    "boto3 1.28.80 with botocore 1.31.80": lambda: installed("query"),
}
COMMANDS = {
    "aws-cli 1.46.2": (
        ["aws", "dynamodb", "list-tables"],
        ["aws", "sqs", "get-queue-url", "--queue-name", "nagare-commands"],
    ),
    # What `nagare` itself is built with.
    "aws-sdk-dynamodb 1.136.0 and aws-sdk-sqs 1.119.0 (Rust)": (
        [os.environ.get("NAGARE_BIN", str(ROOT / "target/release/nagare")), "dead-letters", "list"],
        [os.environ.get("NAGARE_BIN", str(ROOT / "target/release/nagare")), "follow", "bob", "anna"],
    ),
}


def test_each_client_has_one_row():
    assert sorted(client for client, *_ in rows("Protocols and clients")) == sorted([*PYTHONS, *COMMANDS])


@pytest.mark.parametrize("client, dynamodb, sqs", rows("Protocols and clients"), ids=lambda x: x[:30])
def test_a_client(stack, tmp_path, client, dynamodb, sqs):
    env = environment(stack, tmp_path)
    versions = re.findall(r"\d+\.\d+\.\d+", client)
    if client in COMMANDS:
        for command in COMMANDS[client]:
            subprocess.run(command, env=env, capture_output=True, timeout=60, check=True)
        pinned = (ROOT / "Cargo.toml").read_text() + (ROOT / "tests/e2e/requirements.in").read_text()
        assert all(f"={version}" in pinned for version in versions)
        assert (dynamodb, sqs) == ("works", "works")
        return
    done = subprocess.run([PYTHONS[client](), "-c", ASK, json.dumps(follow("bob", "anna"))], env=env, capture_output=True, text=True, timeout=60, check=True)
    said = json.loads(done.stdout)
    assert set(versions) <= set(said["versions"])
    assert said["DynamoDB"] == dynamodb
    if sqs.startswith("refused"):
        code, message = said["SQS"]
        assert f"refused: `{code}`" == sqs
        assert message in SECTIONS["Protocols and clients"]
    else:
        assert said["SQS"] == sqs


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_the_query_protocol_is_refused_in_its_own_language(stack, method):
    """Whatever is asked, and whoever asks: the parser is botocore's for that protocol."""
    form = {"Action": "SendMessage", "Version": "2012-11-05", "QueueUrl": stack.exports["NAGARE_QUEUE_URL"], "MessageBody": "{}"}
    stack.drain()
    url, before = stack.exports["AWS_ENDPOINT_URL_SQS"], stack.waiting()
    if method == "POST":
        headers = {"content-type": "application/x-www-form-urlencoded; charset=utf-8"}
        answer = requests.post(url, urllib.parse.urlencode(form), headers=headers, timeout=10)
    else:
        answer = requests.get(url, form, timeout=10)
    assert (answer.status_code, answer.headers["content-type"]) == (400, "text/xml")
    parser = botocore.parsers.create_parser("query")
    said = parser.parse({"status_code": 400, "headers": answer.headers, "body": answer.content}, None)
    assert (said["Error"]["Code"], said["Error"]["Type"]) == ("UnsupportedProtocol", "Sender")
    assert "JSON protocol" in said["Error"]["Message"] and said["ResponseMetadata"]["RequestId"]
    assert stack.waiting() == before

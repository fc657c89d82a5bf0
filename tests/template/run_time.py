"""The requests that functions and tools make at run time, as botocore's service models describe them, for the local stack and the tests.

    python run_time.py          prints the table
    python run_time.py --write  writes it to tools/local/src/aws_models.json

The table has the shapes of these operations alone: types, required members, lengths, ranges, patterns and choices.
"""

import json
import re
import sys

import models
from expand import ROOT

TABLE = ROOT / "tools/local/src/aws_models.json"
OPERATIONS = {
    "cloudwatch": ["GetMetricData"],
    "dynamodb": [
        "BatchGetItem", "BatchWriteItem", "CreateTable", "DeleteItem", "DeleteResourcePolicy", "DeleteTable", "DescribeContinuousBackups",
        "DescribeTable", "DescribeTimeToLive", "GetItem", "GetResourcePolicy", "ListTables", "PutItem", "PutResourcePolicy", "Query", "Scan",
        "TransactGetItems", "TransactWriteItems", "UpdateContinuousBackups", "UpdateItem", "UpdateTable",
    ],
    "events": ["PutEvents"],
    "lambda": ["CreateEventSourceMapping", "DeleteEventSourceMapping", "ListEventSourceMappings"],
    "s3": ["DeleteObject", "GetObject", "ListObjectsV2", "PutObject"],
    "sqs": ["GetQueueAttributes", "GetQueueUrl", "PurgeQueue", "SendMessage", "SendMessageBatch"],
}
# Members that nothing sends: sources that are neither queues nor streams, and what expressions have replaced.
LEFT_OUT = {
    "AmazonManagedKafkaEventSourceConfig", "AttributesToGet", "AttributeUpdates", "ConditionalOperator", "DocumentDBEventSourceConfig",
    "Expected", "KeyConditions", "LoggingConfig", "MetricsConfig", "ProvisionedPollerConfig", "QueryFilter", "Queues", "ScanFilter",
    "SelfManagedEventSource", "SelfManagedKafkaEventSourceConfig", "SourceAccessConfigurations", "Topics",
}
# Limits that the documentation of a service has and its model has not.
DOCUMENTED = {
    # https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html: bytes
    "s3.ObjectKey": {"most": 1024},
    # https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/rbac-considerations.html: bytes
    "dynamodb.ResourcePolicy": {"most": 20480},
    # https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
    "cloudwatch.MetricDataQueries": {"most": 500},
    # https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-events-structure.html
    "events.PutEventsRequestEntry.Source": {"most": 256},
    "events.PutEventsRequestEntry.DetailType": {"most": 128},
    # https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
    "sqs.SendMessageRequest.MessageGroupId": {"least": 1, "most": 128},
    "sqs.SendMessageBatchRequestEntry.MessageGroupId": {"least": 1, "most": 128},
    "sqs.SendMessageBatchRequestEntry.Id": {"least": 1, "most": 80, "pattern": "[A-Za-z0-9_-]+"},
    "sqs.SendMessageBatchRequestEntryList": {"least": 1, "most": 10},
    "sqs.SendMessageRequest.DelaySeconds": {"least": 0, "most": 900},
    "sqs.SendMessageBatchRequestEntry.DelaySeconds": {"least": 0, "most": 900},
}


def pattern_of(text):
    """As a crate without look-around and classes of Unicode reads it. None if it cannot."""
    text = text.removeprefix("^").removesuffix("$")
    text = re.sub(r"\\u([0-9A-Fa-f]{4})", r"\\u{\1}", text).replace(r"\d", "[0-9]")
    return None if re.search(r"\\p|\(\?[!=<]|&&", text) or text in (".*", r"[\s\S]*") else text


class Table:
    def __init__(self):
        self.shapes, self.operations, self.used = {}, {}, set()
        for service, operations in OPERATIONS.items():
            model = models.service(service)
            for name in operations:
                self.operations[f"{service}.{name}"] = self.named(service, model.operation_model(name).input_shape)
        unused = set(DOCUMENTED) - self.used
        assert not unused, f"no request has {unused}"

    def named(self, service, shape, place=None):
        """The name of a shape, which is added. One whose limits are documented for a member has that member's name; one without a
        limit is named after its type."""
        name = place if place in DOCUMENTED else f"{service}.{shape.name}"
        if name not in self.shapes:
            # A value of DynamoDB contains others.
            self.shapes[name] = {}
            described = self.described(service, shape) | DOCUMENTED.get(name, {})
            self.used |= {name} & set(DOCUMENTED)
            if set(described) == {"type"}:
                del self.shapes[name]
                name = shape.type_name
                self.shapes[name] = {"type": name}
            else:
                self.shapes[name] = described
        return name

    def described(self, service, shape):
        found = {"type": shape.type_name}
        if shape.type_name == "structure":
            # An object's other members are headers.
            members = {name: member for name, member in shape.members.items() if service != "s3" or name in ("Bucket", "Key")}
            members = {name: member for name, member in members.items() if name not in LEFT_OUT}
            found["members"] = {name: self.named(service, member, f"{service}.{shape.name}.{name}") for name, member in members.items()}
            if shape.required_members:
                found["required"] = sorted(shape.required_members)
        elif shape.type_name == "list":
            found["member"] = self.named(service, shape.member)
        elif shape.type_name == "map":
            found |= {"key": self.named(service, shape.key), "member": self.named(service, shape.value)}
        for ours, theirs in (("least", "min"), ("most", "max"), ("choices", "enum")):
            if theirs in shape.metadata:
                found[ours] = shape.metadata[theirs]
        if pattern := pattern_of(shape.metadata.get("pattern", ".*")):
            found["pattern"] = pattern
        return found

    def text(self):
        line = lambda value: json.dumps(value, separators=(",", ":"), sort_keys=True)
        part = lambda values: ",\n".join(f"  {json.dumps(name)}: {line(values[name])}" for name in sorted(values))
        return f'{{\n"operations": {{\n{part(self.operations)}\n}},\n"shapes": {{\n{part(self.shapes)}\n}}\n}}\n'


if __name__ == "__main__":
    text = Table().text()
    if sys.argv[1:] == ["--write"]:
        TABLE.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)

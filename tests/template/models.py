"""What AWS's own models say of a resource: the CloudFormation schemas of cfn-lint, and the requests in botocore's service models."""

import json
import re
from functools import lru_cache

import botocore.session
import jsonschema
import regex
from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

REGION = "us-east-1"
# The requests that make a resource of each type, and the members whose names differ.
REQUESTS = {
    "AWS::ApiGatewayV2::Api": [("apigatewayv2", "CreateApi", {})],
    "AWS::ApiGatewayV2::Authorizer": [("apigatewayv2", "CreateAuthorizer", {})],
    "AWS::ApiGatewayV2::Integration": [("apigatewayv2", "CreateIntegration", {})],
    "AWS::ApiGatewayV2::Route": [("apigatewayv2", "CreateRoute", {})],
    "AWS::ApiGatewayV2::Stage": [("apigatewayv2", "CreateStage", {})],
    "AWS::Budgets::Budget": [("budgets", "CreateBudget", {})],
    "AWS::Chatbot::SlackChannelConfiguration": [
        ("chatbot", "CreateSlackChannelConfiguration", {"SlackWorkspaceId": "SlackTeamId", "GuardrailPolicies": "GuardrailPolicyArns"})
    ],
    "AWS::CloudWatch::Alarm": [("cloudwatch", "PutMetricAlarm", {})],
    "AWS::CloudWatch::Dashboard": [("cloudwatch", "PutDashboard", {})],
    "AWS::CodeDeploy::Application": [("codedeploy", "CreateApplication", {})],
    "AWS::CodeDeploy::DeploymentGroup": [("codedeploy", "CreateDeploymentGroup", {})],
    "AWS::DynamoDB::Table": [("dynamodb", "CreateTable", {}), ("dynamodb", "UpdateTimeToLive", {})],
    "AWS::Events::Rule": [("events", "PutRule", {})],
    "AWS::IAM::ManagedPolicy": [("iam", "CreatePolicy", {})],
    "AWS::IAM::Role": [("iam", "CreateRole", {})],
    "AWS::KMS::Key": [("kms", "CreateKey", {"KeyPolicy": "Policy"})],
    "AWS::Lambda::Alias": [("lambda", "CreateAlias", {})],
    "AWS::Lambda::EventInvokeConfig": [("lambda", "PutFunctionEventInvokeConfig", {})],
    "AWS::Lambda::EventSourceMapping": [("lambda", "CreateEventSourceMapping", {})],
    "AWS::Lambda::Function": [("lambda", "CreateFunction", {}), ("lambda", "PutFunctionConcurrency", {})],
    "AWS::Lambda::Permission": [("lambda", "AddPermission", {})],
    "AWS::Lambda::Version": [("lambda", "PublishVersion", {})],
    "AWS::Logs::LogGroup": [("logs", "CreateLogGroup", {}), ("logs", "PutRetentionPolicy", {})],
    "AWS::S3::Bucket": [("s3", "CreateBucket", {"BucketName": "Bucket"})],
    "AWS::S3::BucketPolicy": [("s3", "PutBucketPolicy", {"PolicyDocument": "Policy"})],
    "AWS::SNS::Topic": [("sns", "CreateTopic", {"TopicName": "Name"})],
    "AWS::SNS::TopicPolicy": [],
    "AWS::SQS::Queue": [("sqs", "CreateQueue", {})],
    "AWS::SQS::QueuePolicy": [],
    "AWS::Scheduler::Schedule": [("scheduler", "CreateSchedule", {})],
    "AWS::SecretsManager::Secret": [("secretsmanager", "CreateSecret", {}), ("secretsmanager", "GetRandomPassword", {})],
}
# API Gateway's model writes lengths into names.
LENGTH_IN_NAME = re.compile(r"LengthBetween(\d+)And(\d+)")


def text_of(value):
    """A value as a request carries it: documents are JSON."""
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value, separators=(",", ":")) if isinstance(value, dict | list) else str(value)


def number_of(value):
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


@lru_cache
def compiled(pattern):
    """Patterns are of Java or JavaScript; `regex` knows their classes."""
    return regex.compile(pattern)


# --- Requests -------------------------------------------------------------------------------------


@lru_cache
def service(name):
    return botocore.session.get_session().get_service_model(name)


def by_requests(kind, properties):
    """Complaints of the requests that make this resource."""
    for name, operation, renamed in REQUESTS[kind]:
        members = {renamed.get(key, key): value for key, value in properties.items()}
        yield from by_shape(service(name).operation_model(operation).input_shape, members, operation)
    for policy in properties.get("Policies", []) if kind == "AWS::IAM::Role" else []:
        yield from by_shape(service("iam").operation_model("PutRolePolicy").input_shape, policy, "PutRolePolicy")


def by_shape(shape, value, path):
    if shape.type_name == "structure":
        if not isinstance(value, dict):
            return
        members = {name.lower(): member for name, member in shape.members.items()}
        for key, inner in value.items():
            if member := members.get(key.lower()):
                yield from by_shape(member, inner, f"{path}.{key}")
        return
    if shape.type_name == "list" and isinstance(value, list):
        yield from out_of_bounds(shape, len(value), f"{path}: a list of")
        for index, inner in enumerate(value):
            yield from by_shape(shape.member, inner, f"{path}[{index}]")
        return
    if shape.type_name == "map" and isinstance(value, dict):
        yield from out_of_bounds(shape, len(value), f"{path}: a map of")
        for key, inner in value.items():
            yield from by_shape(shape.key, key, f"{path} key {key}")
            yield from by_shape(shape.value, inner, f"{path}.{key}")
        return
    if shape.type_name == "string":
        text = text_of(value)
        yield from out_of_bounds(shape, len(text), f"{path}: a length of")
        if (choices := shape.metadata.get("enum")) and text not in choices:
            yield f"{path}: {text!r} is not among {choices}"
        if (pattern := shape.metadata.get("pattern")) and not compiled(pattern).fullmatch(text):
            yield f"{path}: {text!r} does not match {pattern}"
    elif (number := number_of(value)) is not None:
        yield from out_of_bounds(shape, number, f"{path}:")


def out_of_bounds(shape, number, what):
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if named := LENGTH_IN_NAME.search(shape.name):
        least, most = int(named[1]), int(named[2])
    if (least is not None and number < least) or (most is not None and number > most):
        yield f"{what} {number:g} is not from {least} to {most}"


# --- CloudFormation schemas -----------------------------------------------------------------------


def _bounded(keyword, within):
    def check(validator, bound, value, schema):
        number = number_of(value)
        if number is not None and not within(number, bound):
            yield jsonschema.ValidationError(f"{value} breaks {keyword} {bound}")

    return check


def _long(keyword, within):
    def check(validator, bound, value, schema):
        text = text_of(value)
        if _scalar(validator, value) and not within(len(text), bound):
            yield jsonschema.ValidationError(f"a length of {len(text)} breaks {keyword} {bound}: {text!r}")

    return check


def _pattern(validator, pattern, value, schema):
    if not isinstance(value, dict | list) and not compiled(pattern).search(text_of(value)):
        yield jsonschema.ValidationError(f"{value!r} does not match {pattern}")


def _enum(validator, choices, value, schema):
    if text_of(value) not in {text_of(choice) for choice in choices}:
        yield jsonschema.ValidationError(f"{value!r} is not among {choices}")


def _scalar(_, value):
    return not isinstance(value, dict | list) and value is not None


LENIENT = jsonschema.validators.extend(
    jsonschema.Draft7Validator,
    {
        "maxLength": _long("maxLength", lambda length, bound: length <= bound),
        "minLength": _long("minLength", lambda length, bound: length >= bound),
        "minimum": _bounded("minimum", lambda number, bound: number >= bound),
        "maximum": _bounded("maximum", lambda number, bound: number <= bound),
        "pattern": _pattern,
        "enum": _enum,
    },
    # CloudFormation turns scalars into each other: the value of a parameter is a text.
    type_checker=jsonschema.Draft7Validator.TYPE_CHECKER.redefine_many({
        "string": _scalar,
        "integer": lambda _, value: (number := number_of(value)) is not None and number == int(number),
        "number": lambda _, value: number_of(value) is not None,
        "boolean": lambda _, value: text_of(value) in ("true", "false"),
    }),
)


@lru_cache
def schema_of(kind):
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(REGION, kind).schema
    return LENIENT(schema)


def by_schema(kind, properties):
    """Complaints of the resource's schema."""
    for error in schema_of(kind).iter_errors(properties):
        yield f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}"

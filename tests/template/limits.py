"""AWS takes every value that the template can give it: each property, for the default, the shortest and the longest values of all
parameters and for each condition, is compared with AWS's own models (models.py), and with the limits that these do not have.
"""

import copy
import json
import re
import tomllib
from functools import lru_cache

import models
import pytest
import render
import run_time
from breaks import drop_at, properties, replace_at, set_at
from expand import ROOT, expand, source


def size(document):
    """As IAM counts it: without white space."""
    return len(re.sub(r"\s", "", models.text_of(document)))


def at_most(number, most, what):
    return [f"{what}: {number} is more than {most}"] if number > most else []


# --- Limits that no model has ---------------------------------------------------------------------


def of_function(it):
    variables = it["Environment"]["Variables"]
    yield from at_most(sum(len(f"{name}{value}".encode()) for name, value in variables.items()), 4096, "bytes of variables")
    yield from at_most(len(it.get("Layers", [])), 5, "layers")
    yield from at_most(int(it["Timeout"]), 900, "seconds of a call")
    # The request that the keeper makes, but for the stream.
    mapping = json.loads(variables.get("NAGARE_STREAM_MAPPING", "{}"))
    yield from models.by_shape(models.service("lambda").operation_model("CreateEventSourceMapping").input_shape, mapping, "NAGARE_STREAM_MAPPING")


def of_role(it):
    yield from at_most(sum(size(policy["PolicyDocument"]) for policy in it.get("Policies", [])), 10240, "characters of policies")
    yield from at_most(size(it["AssumeRolePolicyDocument"]), 2048, "characters of the trust policy")


def of_queue_policy(it):
    statements = it["PolicyDocument"]["Statement"]
    principals = [principal for one in statements for principal in (listed(one["Principal"]["AWS"]) if isinstance(one["Principal"], dict) else ["*"])]
    yield from at_most(len(models.text_of(it["PolicyDocument"]).encode()), 8192, "bytes of the policy")
    yield from at_most(len(statements), 20, "statements")
    yield from at_most(len(principals), 50, "principals")
    yield from at_most(sum(len(keys) for one in statements for keys in one.get("Condition", {}).values()), 10, "conditions")


QUEUE = {
    "DelaySeconds": (0, 900),
    "MaximumMessageSize": (1024, 1048576),
    "MessageRetentionPeriod": (60, 1209600),
    "ReceiveMessageWaitTimeSeconds": (0, 20),
    "VisibilityTimeout": (0, 43200),
}


def of_queue(it):
    for name, (least, most) in QUEUE.items():
        if not least <= int(it.get(name, least)) <= most:
            yield f"{name}: {it[name]} is not from {least} to {most}"
    if not re.fullmatch("[A-Za-z0-9_-]{1,80}", it["QueueName"]):
        yield f"{it['QueueName']} is not the name of a queue"


def of_alarm(it):
    metrics = [one["MetricStat"] for one in it.get("Metrics", []) if "MetricStat" in one]
    period = max(int(one["Period"]) for one in metrics) if metrics else int(it["Period"])
    yield from at_most(period * int(it["EvaluationPeriods"]), 604800 if period >= 3600 else 86400, "seconds that are evaluated")
    yield from at_most(len(metrics), 10, "metrics of an expression")
    if it.get("Metrics") and sum(one.get("ReturnData", True) for one in it["Metrics"]) != 1:
        yield "an alarm watches one expression"


def of_dashboard(it):
    try:
        widgets = json.loads(it["DashboardBody"])["widgets"]
    except ValueError as error:
        yield f"the body is not JSON: {error}"
        return
    counts = [len(widget["properties"].get("metrics", [])) for widget in widgets]
    yield from at_most(len(widgets), 500, "widgets")
    yield from at_most(max(counts), 500, "metrics of a widget")
    yield from at_most(sum(counts), 2500, "metrics")
    for widget in widgets:
        yield from at_most(len(widget["properties"].get("alarms", [])), 100, "alarms of a widget")


def of_rule(it):
    yield from at_most(len(models.text_of(it.get("EventPattern", {}))), 2048, "characters of the event pattern")
    if "ScheduleExpression" in it:
        yield from of_schedule(it)


SCHEDULE = re.compile(
    r"rate\((1 (minute|hour|day)|(?!1 )[1-9][0-9]* (minutes|hours|days))\)"
    r"|cron\((\S+ \S+ (\? \S+ \S+|\S+ \S+ \?) \S+)\)|at\(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\)"
)


def of_schedule(it):
    if not SCHEDULE.fullmatch(it["ScheduleExpression"]):
        yield f"{it['ScheduleExpression']} is not a schedule"


def of_route(it):
    yield from at_most(len(it.get("AuthorizationScopes", [])), 10, "scopes of a route")


def of_authorizer(it):
    yield from at_most(len(it["JwtConfiguration"]["Audience"]), 50, "audiences")


def document_of(name, most, what):
    return lambda it: at_most(len(models.text_of(it[name]).encode()), most, what)


LIMITS = {
    "AWS::ApiGatewayV2::Authorizer": of_authorizer,
    "AWS::ApiGatewayV2::Route": of_route,
    "AWS::CloudWatch::Alarm": of_alarm,
    "AWS::CloudWatch::Dashboard": of_dashboard,
    "AWS::Events::Rule": of_rule,
    "AWS::IAM::ManagedPolicy": lambda it: at_most(size(it["PolicyDocument"]), 6144, "characters of the policy"),
    "AWS::IAM::Role": of_role,
    "AWS::KMS::Key": document_of("KeyPolicy", 32768, "bytes of the policy"),
    "AWS::Lambda::Function": of_function,
    "AWS::S3::BucketPolicy": document_of("PolicyDocument", 20480, "bytes of the policy"),
    "AWS::SNS::TopicPolicy": document_of("PolicyDocument", 30720, "bytes of the policy"),
    "AWS::SQS::Queue": of_queue,
    "AWS::SQS::QueuePolicy": of_queue_policy,
    "AWS::Scheduler::Schedule": of_schedule,
}


def of_template(template):
    """Of CloudFormation itself."""
    counts = {"Parameters": 200, "Resources": 500, "Outputs": 200}
    for part, most in counts.items():
        yield from at_most(len(template[part]), most, part)
        for name in template[part]:
            if not re.fullmatch("[A-Za-z0-9]{1,255}", name):
                yield f"{name} is not a logical name"
    yield from at_most(len(json.dumps(template).encode()), 1_000_000, "bytes of the template")
    yield from at_most(len(template["Description"].encode()), 1024, "bytes of the description")
    routes = [one for one in template["Resources"].values() if one["Type"] == "AWS::ApiGatewayV2::Route"]
    yield from at_most(len(routes), 300, "routes of an API")
    for name, parameter in template["Parameters"].items():
        for text in ("Description", "ConstraintDescription"):
            yield from at_most(len(parameter.get(text, "")), 4000, f"characters of the {text} of {name}")
    for name, output in template["Outputs"].items():
        yield from at_most(len(output.get("Description", "").encode()), 1024, f"bytes of the description of {name}")


# --- The template ---------------------------------------------------------------------------------


def listed(value):
    return value if isinstance(value, list) else [value]


def bounds_of(template):
    """The values of each parameter, and complaints of those that have no longest one."""
    bounds, complaints = {}, []
    for name, parameter in template["Parameters"].items():
        try:
            bounds[name] = render.values_of(name, parameter)
        except render.Unbounded as error:
            complaints.append(f"parameter {error}")
            continue
        complaints += at_most(len(bounds[name]["longest"].encode()), 4096, f"bytes of the parameter {name}")
    return bounds, complaints


@lru_cache(maxsize=None)
def complaints_about(kind, text):
    """Everything in which AWS would refuse a resource with these properties."""
    it = json.loads(text)
    return [*models.by_schema(kind, it), *models.by_requests(kind, it), *LIMITS.get(kind, lambda it: ())(it)]


def complaints_of(template):
    """Everything in which AWS would refuse the template, for some values of its parameters."""
    bounds, complaints = bounds_of(template)
    complaints += of_template(template)
    if len(bounds) < len(template["Parameters"]):
        return complaints
    turned = set()
    for logical, resource in template["Resources"].items():
        kind, seen, conditions = resource["Type"], set(), render.dependencies(template, resource)[1]
        assert kind in models.REQUESTS, f"no request makes a {kind}"
        for rendering in render.variants(template, logical, bounds):
            turned |= {(name, rendering.condition(name)) for name in conditions}
            if not rendering.exists(logical):
                continue
            seen.add(json.dumps(rendering.properties(logical), sort_keys=True))
        assert seen, f"{logical} was never rendered"
        complaints += [f"{logical}: {one}" for text in sorted(seen) for one in complaints_about(kind, text)]
    assert {name for name, _ in turned} == set(template["Conditions"])
    assert len(turned) == 2 * len(template["Conditions"]), "each condition is seen both ways"
    return list(dict.fromkeys(complaints))


@pytest.fixture(scope="module")
def written():
    return source()


@pytest.mark.parametrize("canary", ["false", "true"], ids=["plain", "canary"])
def test_aws_takes_every_value(canary):
    assert complaints_of(expand({"CanaryDeployment": canary})) == []


def test_the_names_and_tags_of_samconfig_are_taken():
    config = tomllib.loads((ROOT / "samconfig.toml").read_text(encoding="utf-8"))
    for environment in ("dev", "prod"):
        given = config[environment]["deploy"]["parameters"]
        tags = dict(tag.split("=", 1) for tag in given["tags"])
        assert list(models.by_shape(
            models.service("cloudformation").operation_model("CreateStack").input_shape,
            {"StackName": given["stack_name"], "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]},
            "CreateStack",
        )) == []


# --- What each limit is for -----------------------------------------------------------------------

# The description of the reader's versions as it was: 254 characters with the defaults.
IN_FULL = (
    "${Stage}, ${Architecture}, retention ${RetentionDays}, parked after ${IdleDays}, events by ${EventPeriod}, ${EventLatenessDays} late, "
    "${EventDays}, ${EventArchiveDays} days, tracing ${Tracing}, log ${LogLevel} of one in ${LogOneIn}, cache "
    "${PublicCacheSeconds} s, authorization ${Authorization}, tenants by ${TenantClaim}, cursors ${CursorSeal} of "
    "${FirstCursorSealGeneration} and ${SecondCursorSealGeneration}"
)
STATEMENT = {"Sid": "More", "Effect": "Allow", "Action": [f"dynamodb:Action{n}" for n in range(500)], "Resource": {"Fn::GetAtt": "LedgerTable.Arn"}}
BREAKS = {
    "versions that are described in full": (
        set_at(*properties("TimelineReader", "VersionDescription", {"Fn::Sub": IN_FULL})),
        r"TimelineReaderVersion\w+: PublishVersion.Description: a length of \d+ is not from 0 to 256",
    ),
    "a description of settings that is too long": (
        set_at("Parameters", "LogLevel", "MaxLength", 900),
        r"FanoutWriterSettings: CreatePolicy.Description: a length of \d+",
    ),
    "a parameter without an end": (drop_at("Parameters", "JwtIssuer", "MaxLength"), "JwtIssuer: .* has no MaxLength"),
    "a number without an end": (drop_at("Parameters", "ApiRateLimit", "MaxValue"), "ApiRateLimit needs"),
    "more variables than a function holds": (
        set_at(*properties("EventIntake", "Environment", "Variables", "NAGARE_MORE", {"Fn::Sub": "${JwtAudience}"})),
        "EventIntake: bytes of variables",
    ),
    "a role that may too much": (
        lambda template: template["Resources"]["ProjectorRole"]["Properties"]["Policies"][0]["PolicyDocument"]["Statement"].append(STATEMENT),
        "ProjectorRole: characters of policies",
    ),
    "more producers than a policy holds": (set_at("Parameters", "Producers", "MaxLength", 4096), "CommandQueuePolicy: bytes of the policy"),
    "a scope that is too long": (
        set_at("Parameters", "JwtScopes", "AllowedPattern", "^([a-z]{1,65}(,[a-z]{1,65}){0,9})?$"),
        "a length of 65 is not from 1 to 64",
    ),
    "more scopes than a route has": (
        set_at("Parameters", "JwtScopes", "AllowedPattern", "^([a-z]{1,64}(,[a-z]{1,64}){0,10})?$"),
        "scopes of a route: 11",
    ),
    "an alarm that looks back too far": (
        set_at("Parameters", "KeeperStoppedHours", "MaxValue", 200),
        "KeeperStoppedAlarm: seconds that are evaluated: 720000",
    ),
    "an alarm that is described at length": (
        set_at(*properties("CommandsAgeAlarm", "AlarmDescription", "x" * 1025)),
        "CommandsAgeAlarm: PutMetricAlarm.AlarmDescription",
    ),
    "an alarm of a name that is too long": (
        set_at(*properties("CommandsAgeAlarm", "AlarmName", {"Fn::Sub": "nagare-${Stage}-" + "x" * 240})),
        "CommandsAgeAlarm: PutMetricAlarm.AlarmName",
    ),
    "a stage of a name that is too long for a queue": (
        set_at("Parameters", "Stage", "AllowedPattern", "^[a-z][a-z0-9-]{0,79}$"),
        "is not the name of a queue",
    ),
    "a retention that logs do not have": (
        set_at("Parameters", "LogRetentionDays", "AllowedValues", [1, 2, 30]),
        "is not among",
    ),
    "an event pattern that is too long": (
        set_at(*properties("BusIsThere", "EventPattern", {"source": ["x" * 2048]})),
        "BusIsThere: characters of the event pattern",
    ),
    "a malformed schedule": (
        set_at(*properties("KeeperSchedule", "ScheduleExpression", "rate(1 minutes)")),
        "KeeperSchedule: .* is not a schedule",
    ),
    "a dashboard that is not JSON": (
        replace_at(*properties("Dashboard", "DashboardBody", "Fn::Sub", 0, '"widgets": [', '"widgets": [,')),
        "Dashboard: the body is not JSON",
    ),
    "a function that waits too long": (set_at("Globals", "Function", "Timeout", 901), "seconds of a call: 901"),
    "a mapping of the keeper that Lambda refuses": (
        replace_at(*properties("PeriodKeeper", "Environment", "Variables", "NAGARE_STREAM_MAPPING", "Fn::Sub", ": 900", ": 901")),
        "PeriodKeeper: NAGARE_STREAM_MAPPING.TumblingWindowInSeconds: 901",
    ),
    "a queue that keeps too long": (set_at(*properties("CommandQueue", "MessageRetentionPeriod", 1209601)), "MessageRetentionPeriod"),
    "a writer alone": (set_at("Parameters", "WriterMaximumConcurrency", "MinValue", 1), "MaximumConcurrency"),
    "an issuer that may be empty": (
        lambda template: template["Rules"].pop("JwtIsConfigured"),
        "JwtAuthorizer: CreateAuthorizer.JwtConfiguration.Issuer: a length of 0",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_it_is_noticed(name, written):
    change, complaint = BREAKS[name]
    broken = copy.deepcopy(written)
    change(broken)
    found = complaints_of(expand(None, broken))
    assert any(re.search(complaint, one) for one in found), found[:5]


def test_the_local_stack_has_the_models_of_requests():
    """The committed table is the one that follows from the pinned botocore (run_time.py --write)."""
    assert run_time.TABLE.read_text(encoding="utf-8") == run_time.Table().text()

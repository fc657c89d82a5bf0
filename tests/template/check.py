"""What has to be true of the expanded template, and what it has to agree on with the code.

Linters know AWS; these checks know Nagare. What the code has the tests of the functions write down
(tests/functions/platform/constants.rs). breaks.py shows of each check that it can fail.
"""

import json
import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache

import pytest
import yaml
from cloudwatch import Expression
from expand import ROOT, expand, source
from render import Rendering, with_history

# Each with what wakes it: a queue, or the stream of a table; or the API, or a schedule.
FUNCTIONS = {
    "FanoutWriter": "CommandQueue.Arn",
    "TimelineReader": None,
    "HistoryReader": None,
    "EventIntake": None,
    "DlqAlerter": "DeadLetterQueue.Arn",
    "Projector": "FactsTable.StreamArn",
    "HistoryProjector": "FactsTable.StreamArn",
    "PeriodKeeper": None,
}
QUEUES_OF = {name: source.removesuffix(".Arn") for name, source in FUNCTIONS.items() if source and source.endswith("Queue.Arn")}
STREAMS_OF = {name: source for name, source in FUNCTIONS.items() if source and source.endswith(".StreamArn")}
TABLES = {
    "timelines": "TimelinesTable",
    "ledger": "LedgerTable",
    "facts": "FactsTable",
    "views": "ViewsTable",
    "dead_letters": "DeadLettersTable",
}
# What can be made again.
DERIVED = {"timelines", "views"}
SECRETS = {"TimelineReader": {"CursorSecret", "SecondCursorSecret"}, "FanoutWriter": {"InternalSecret", "SecondInternalSecret"}}
SECRETS["HistoryReader"] = SECRETS["TimelineReader"]
# Their dead letters are known by their seal, and what a projector puts there is a command that only the writer takes.
SECRETS["Projector"] = SECRETS["HistoryProjector"] = SECRETS["DlqAlerter"] = SECRETS["FanoutWriter"]
# The queue that SQS moves dead letters from: the alerter compares its ARN and calls nothing there.
COMPARED = {"DlqAlerter": {"CommandQueue"}}
# The reader signs addresses of objects, and calls the bucket for nothing.
COMPARED["HistoryReader"] = {"ArchiveBucket"}
# The keeper names them to Lambda, for the mappings that it makes, and the queue to CloudWatch.
COMPARED["PeriodKeeper"] = {"HistoryProjector", "DeadLetterQueue", "CommandQueue"}
RECEIVE = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"}
# Lambda refuses a mapping if its function's role lacks one of these.
FOLLOW = {"dynamodb:DescribeStream", "dynamodb:GetRecords", "dynamodb:GetShardIterator", "dynamodb:ListStreams"}
LOG = {"logs:CreateLogStream", "logs:PutLogEvents"}
# Where the tests of the functions write down what each of them calls, and on what (tests/world/observed.rs).
OBSERVED = ROOT / "target" / "observed"
OBSERVERS = ("functions", "model")
RESOURCES = {
    "timelines": "TimelinesTable.Arn",
    "ledger": "LedgerTable.Arn",
    "facts": "FactsTable.Arn",
    "views": "ViewsTable.Arn",
    "dead_letters": "DeadLettersTable.Arn",
    "commands": "CommandQueue.Arn",
    "dead": "DeadLetterQueue.Arn",
    "events": "the tables of events",
    "archive": "the objects of archives",
    "any": "*",
    "mappings": "the mappings of streams",
    "bus": "the event bus",
}
# What has a name only once the keeper has made it: by how the name begins.
BY_PREFIX = {
    "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/nagare-${Stage}-events-*": "the tables of events",
    "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/nagare-${Stage}-events-*/stream/*": "the streams of events",
    "${ArchiveBucket.Arn}/events/*": "the objects of archives",
    "arn:${AWS::Partition}:lambda:${AWS::Region}:${AWS::AccountId}:event-source-mapping:*": "the mappings of streams",
    "arn:${AWS::Partition}:events:${AWS::Region}:${AWS::AccountId}:event-bus/${EventBusName}": "the event bus",
}
# What is granted for no call of the function: addresses that the reader signs, and that S3 says of an object that it is missing.
NOT_CALLED = {
    "HistoryReader": {"the objects of archives": {"s3:GetObject"}},
    "PeriodKeeper": {"ArchiveBucket.Arn": {"s3:ListBucket"}},
}


def by_the_service(function):
    """{resource: actions} that Lambda does with the role of a function: it takes from the queue or the stream, and
    sends what it gave up of a stream to the dead-letter queue."""
    if function in QUEUES_OF:
        return {FUNCTIONS[function]: set(RECEIVE)}
    if function in STREAMS_OF:
        followed = {FUNCTIONS[function]: set(FOLLOW), "DeadLetterQueue.Arn": {"sqs:SendMessage"}}
        # The keeper maps the streams of events to the projector of history.
        return {**followed, "the streams of events": set(FOLLOW)} if function == "HistoryProjector" else followed
    return {}


@lru_cache
def observed():
    """(role, action, resource, pattern of the partition or None) of each call that the functions were seen to make."""
    seen = set()
    for test in OBSERVERS:
        path = OBSERVED / f"{test}.txt"
        assert path.exists(), f"{path} is not there: cargo test --locked -p tests --test {test}"
        for line in path.read_text(encoding="utf-8").splitlines():
            function, action, resource, *partition = line.split()
            role = "".join(word.title() for word in function.split("-")) + "Role"
            seen.add((role, action, RESOURCES[resource], partition[0] if partition else None))
    return seen


@lru_cache
def calls():
    """{role: {resource: actions}} that the functions were seen to call."""
    seen = {f"{name}Role": {} for name in FUNCTIONS}
    for role, action, resource, _ in observed():
        seen[role].setdefault(resource, set()).add(action)
    return seen


def partitions():
    """{resource: {role: {action: patterns}}} of the partitions that were written, of the tables that several roles write."""
    seen = {}
    for role, action, resource, partition in observed():
        if partition:
            seen.setdefault(resource, {}).setdefault(role, {}).setdefault(action, set()).add(partition)
    return {resource: roles for resource, roles in seen.items() if len(roles) > 1}


def permissions():
    """{role: {resource: actions}} that the functions need: what they call, what Lambda does for them, and their
    logs."""
    needed = {}
    for name in FUNCTIONS:
        role = needed.setdefault(f"{name}Role", {f"{name}Logs.Arn": set(LOG)})
        for found in (by_the_service(name), NOT_CALLED.get(name, {}), calls()[f"{name}Role"]):
            for resource, actions in found.items():
                role[resource] = role.get(resource, set()) | actions
    return needed


# --- The template ---------------------------------------------------------------------------------


@dataclass
class Stack:
    """The template as written, as CloudFormation gets it (`whole`), and what that is with the event history."""

    written: dict
    whole: dict

    @cached_property
    def expanded(self):
        return with_history(self.whole)

    @property
    def resources(self):
        return self.expanded["Resources"]

    def of_type(self, *types):
        return {name: r for name, r in self.resources.items() if r["Type"] in types}

    def properties(self, name):
        return self.resources[name].get("Properties", {})

    def default(self, parameter):
        return self.expanded["Parameters"][parameter]["Default"]


@pytest.fixture(scope="module", params=["false", "true"], ids=["plain", "canary"])
def stack(request):
    return Stack(source(), expand({"CanaryDeployment": request.param}))


def listed(value):
    return value if isinstance(value, list) else [value]


def walk(value, path=()):
    """Every value inside a value, with the way to it."""
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from walk(inner, (*path, key))


def branches(value):
    """What a value may be, whichever way its conditions turn out."""
    if isinstance(value, dict) and set(value) == {"Fn::If"}:
        _, yes, no = value["Fn::If"]
        return [*branches(yes), *branches(no)]
    return [value]


def named(value):
    """`Name` of a Ref, `Name.Attribute` of a GetAtt; None of anything else."""
    if isinstance(value, dict) and "Ref" in value:
        return value["Ref"]
    if isinstance(value, dict) and "Fn::GetAtt" in value:
        target = value["Fn::GetAtt"]
        return target if isinstance(target, str) else ".".join(target)
    return None


def granted_on(resource):
    """What a policy names, as RESOURCES has it."""
    if resource == "*":
        return resource
    pattern = resource.get("Fn::Sub") if isinstance(resource, dict) else None
    return BY_PREFIX.get(pattern) if isinstance(pattern, str) else named(resource)


def names_in(value):
    """Everything that a value refers to."""
    found = set()
    for path, inner in walk(value):
        if name := named(inner):
            found.add(name.split(".")[0])
        if path and path[-1] == "Fn::Sub":
            text = inner if isinstance(inner, str) else inner[0]
            found.update(re.findall(r"\$\{([A-Za-z0-9]+)[.}]", text))
    return found


def statements(stack):
    """Every policy statement in the stack, with the resource it is written in."""
    for name, resource in stack.resources.items():
        for path, value in walk(resource.get("Properties", {})):
            if path and path[-1] == "Statement":
                for statement in listed(value):
                    for one_of_them in branches(statement):
                        if one_of_them != {"Ref": "AWS::NoValue"}:
                            yield name, one_of_them


def mapping_of(stack, function):
    """The event source mapping of a function; it invokes the function's alias."""
    mappings = stack.of_type("AWS::Lambda::EventSourceMapping").values()
    found = [m["Properties"] for m in mappings if named(m["Properties"]["FunctionName"]) == f"{function}Aliaslive"]
    assert len(found) == 1, f"{function} has {len(found)} event source mappings to its alias"
    return found[0]


# --- The code -------------------------------------------------------------------------------------


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


@lru_cache
def code():
    """The constants of the code, and what it was seen to log."""
    path = OBSERVED / "constants.json"
    assert path.exists(), f"{path} is not there: cargo test --locked -p tests --test functions constants"
    return json.loads(path.read_text(encoding="utf-8"))


# The functions behind the API, each with the beginning of the names of what leads to it.
DOORS = {"Reader": "TimelineReader", "History": "HistoryReader", "Intake": "EventIntake"}


# --- Who may do what ------------------------------------------------------------------------------


PREFLIGHTS = ["OPTIONS /{proxy+}", "OPTIONS /v1/tenants/{proxy+}"]
# What no other route takes: of tenants, and of all else.
REST = {"$default", "ANY /v1/tenants/{proxy+}"}


def test_every_route_has_an_authorizer(stack):
    """But preflights, which have routes where there is CORS only."""
    routes = stack.of_type("AWS::ApiGatewayV2::Route")
    routes = {name: r for name, r in routes.items() if r["Properties"]["RouteKey"] not in PREFLIGHTS or r.get("Condition") != "UseCors"}
    keys = {r["Properties"]["RouteKey"] for r in routes.values()}
    assert keys == {*code()["api"]["routes"], *REST} and len(keys) > 20
    for name, route in routes.items():
        properties = route["Properties"]
        kind = properties.get("AuthorizationType", "NONE")
        authorizer = properties.get("AuthorizerId")
        # By one and the same condition: never a JWT route without its authorizer.
        assert kind == {"Fn::If": ["UseJwt", "JWT", "AWS_IAM"]}, f"{name}: {kind}"
        assert authorizer == {"Fn::If": ["UseJwt", {"Ref": "JwtAuthorizer"}, {"Ref": "AWS::NoValue"}]}, name
    authorizer = stack.resources["JwtAuthorizer"]
    assert authorizer["Condition"] == "UseJwt"
    scopes = {"Fn::If": ["UseScopes", {"Fn::Split": [",", {"Ref": "JwtScopes"}]}, {"Ref": "AWS::NoValue"}]}
    for name, route in routes.items():
        assert route["Properties"].get("AuthorizationScopes") == scopes, name
    wanted = {"Fn::And": [{"Condition": "UseJwt"}, {"Fn::Not": [{"Fn::Equals": [{"Ref": "JwtScopes"}, ""]}]}]}
    assert stack.expanded["Conditions"]["UseScopes"] == wanted
    jwt = authorizer["Properties"]["JwtConfiguration"]
    assert named(jwt["Issuer"]) == "JwtIssuer" and names_in(jwt["Audience"]) == {"JwtAudience"}


def test_the_document_of_the_api_names_what_the_code_names(stack):
    """docs/openapi.yaml: the routes, and the types of problems."""
    document = yaml.safe_load(read("docs/openapi.yaml"))
    assert {f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods} == set(code()["api"]["routes"])
    described = document["components"]["schemas"]["Problem"]["properties"]["type"]["enum"]
    assert set(described) == {f"urn:nagare:problem:{name}" for name in code()["api"]["problems"]} | {"about:blank"}


def test_pages_of_the_named_origins_may_call_and_no_others(stack):
    """And the local API does the same."""
    cors = stack.properties("HttpApi")["CorsConfiguration"]
    assert cors["Fn::If"][0] == "UseCors" and cors["Fn::If"][2] == {"Ref": "AWS::NoValue"}
    assert stack.expanded["Conditions"]["UseCors"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "CorsOrigins"}, ""]}]}
    assert stack.default("CorsOrigins") == ""
    assert cors["Fn::If"][1] == {"AllowOrigins": {"Fn::Split": [",", {"Ref": "CorsOrigins"}]}, **code()["api"]["cors"]}


def test_a_preflight_needs_no_token_and_reaches_nothing(stack):
    """The routes for any method have an authorizer, and would refuse it. What a reader answers: tests/functions/platform/reader.rs."""
    routes = [r for r in stack.of_type("AWS::ApiGatewayV2::Route").values() if r["Properties"]["RouteKey"] in PREFLIGHTS]
    assert {r["Properties"]["RouteKey"] for r in routes} == set(PREFLIGHTS) and len(routes) == len(PREFLIGHTS)
    assert code()["api"]["preflight"] == PREFLIGHTS
    for route in routes:
        assert route["Condition"] == "UseCors"
        assert route["Properties"]["AuthorizationType"] == "NONE"


def test_origins_are_written_as_browsers_send_them(stack):
    pattern = stack.expanded["Parameters"]["CorsOrigins"]["AllowedPattern"]
    page, other = "https://app.example.com", "http://localhost:5173"
    for text in ("", "*", page, f"{other},{page}"):
        assert re.fullmatch(pattern, text), text
    for text in (f"{page}/", "https://App.example.com", "app.example.com", f"{page}, {other}", f"{page},", "null"):
        assert not re.fullmatch(pattern, text), text


def test_nothing_else_invokes_a_function_by_http(stack):
    serverless = ("AWS::Serverless::HttpApi", "AWS::ApiGateway::RestApi", "AWS::Lambda::Url")
    assert not stack.of_type(*serverless)
    assert len(stack.of_type("AWS::ApiGatewayV2::Api")) == 1
    for name, permission in stack.of_type("AWS::Lambda::Permission").items():
        by = {"EventsBehindAlarm"} if name == "EventsBehindPermission" else {"HttpApi"}
        assert by <= names_in(permission["Properties"]["SourceArn"]), name


def test_the_reader_is_never_open(stack):
    """Neither reader is, nor is the intake. Each mode of the API has one of theirs, that demands what this one's authorizer finds out."""
    for function in ("TimelineReader", "HistoryReader", "EventIntake"):
        environment = stack.properties(function)["Environment"]["Variables"]
        assert environment["NAGARE_AUTHORIZATION"] == {"Fn::If": ["UseJwt", "jwt", "iam"]}, function
        # The same claims for both: a caller who may read a tenant's data may send it.
        assert environment["NAGARE_VIEWER_CLAIM"] == {"Ref": "ViewerClaim"}, function
        assert environment["NAGARE_TENANT_CLAIM"] == {"Ref": "TenantClaim"}, function
    assert stack.default("ViewerClaim") == code()["api"]["viewer_claim"]
    assert stack.default("TenantClaim") == code()["api"]["tenant_claim"]
    assert stack.expanded["Rules"]["ClaimsDiffer"]["Assertions"][0]["Assert"] == {
        "Fn::Not": [{"Fn::Equals": [{"Ref": "ViewerClaim"}, {"Ref": "TenantClaim"}]}]
    }
    pattern = stack.expanded["Parameters"]["TenantClaim"]["AllowedPattern"]
    assert all(re.fullmatch(pattern, name) for name in ("tenant_id", "custom:team", "https://example.com/t", "subject"))
    assert not any(re.fullmatch(pattern, name) for name in ("", "sub", "two words", "x" * 129))
    assert set(code()["api"]["modes"]) == {"jwt", "iam", "open"}
    assert stack.expanded["Conditions"]["UseJwt"] == {"Fn::Equals": [{"Ref": "Authorization"}, "jwt"]}
    assert stack.expanded["Parameters"]["Authorization"]["AllowedValues"] == ["jwt", "iam"]
    assert stack.default("Authorization") == "jwt"


def test_services_act_for_this_account_only(stack):
    """A service that assumes a role, or is let in by a policy, does so on behalf of this account. Lambda is
    not asked: it tells of no source account when it assumes a role."""
    seen = set()
    trusted = [(name, s) for name, s in statements(stack) if s["Effect"] == "Allow"]
    for name, role in stack.of_type("AWS::IAM::Role").items():
        trusted += [(name, s) for s in listed(role["Properties"]["AssumeRolePolicyDocument"]["Statement"])]
    for name, statement in trusted:
        principal = statement.get("Principal")
        service = principal.get("Service") if isinstance(principal, dict) else None
        if service in (None, "lambda.amazonaws.com"):
            continue
        condition = statement.get("Condition", {}).get("StringEquals", {})
        assert condition.get("aws:SourceAccount") == {"Ref": "AWS::AccountId"}, f"{name}: {service}"
        seen.add(service)
    services = ("codedeploy", "chatbot", "cloudwatch", "scheduler", "budgets")
    assert seen == {f"{service}.amazonaws.com" for service in services}


# IAM narrows these by no resource; one of them by a condition, which has a check of its own.
OF_NO_RESOURCE = {"lambda:CreateEventSourceMapping", "lambda:ListEventSourceMappings", "cloudwatch:GetMetricData"}


def test_no_policy_has_a_wildcard(stack):
    seen = 0
    for name, statement in statements(stack):
        seen += 1
        if statement["Effect"] == "Deny":
            continue
        assert "NotAction" not in statement and "NotResource" not in statement, name
        assert statement.get("Principal") not in ("*", {"AWS": "*"}), f"{name}: anybody"
        if stack.resources[name]["Type"] == "AWS::KMS::Key":
            # In a key's policy `*` is this key, and the account's root stands for its IAM policies.
            root = "root" in json.dumps(statement["Principal"])
            assert root or "*" not in json.dumps(statement["Action"]), name
            continue
        for action in listed(statement["Action"]):
            assert "*" not in action, f"{name}: {action}"
        if statement.get("Sid") == "Trace" or set(listed(statement["Action"])) <= OF_NO_RESOURCE:
            continue
        for path, value in walk(statement.get("Resource", [])):
            assert not (isinstance(value, str) and "*" in value and value not in BY_PREFIX), f"{name}: {value}"
    assert seen > 10


def test_no_managed_policy(stack):
    for name, resource in stack.resources.items():
        properties = resource.get("Properties", {})
        assert not properties.get("ManagedPolicyArns"), name
        if resource["Type"] == "AWS::IAM::ManagedPolicy":
            effects = {s["Effect"] for s in listed(properties["PolicyDocument"]["Statement"])}
            assert effects == {"Deny"}, name
    for name, function in stack.written["Resources"].items():
        assert "Policies" not in function.get("Properties", {}) or function["Type"] == "AWS::IAM::Role", name


def test_each_function_has_a_role_of_its_own_that_may_do_exactly_what_it_does(stack):
    for function in FUNCTIONS:
        role = f"{function}Role"
        assert named(stack.properties(function)["Role"]) == f"{role}.Arn"
        granted = {}
        for name, statement in statements(stack):
            if name == role and "Resource" in statement and statement.get("Sid") != "Trace":
                if statement["Effect"] == "Deny":
                    continue
                for resource in listed(statement["Resource"]):
                    granted.setdefault(granted_on(resource), set()).update(listed(statement["Action"]))
        assert granted == permissions()[role], role
    # Nor does anything else make a role.
    others = {"DeploymentRole", "SlackRole", "KeeperScheduleRole"}
    assert set(stack.of_type("AWS::IAM::Role")) == set(permissions()) | others
    assert not stack.of_type("AWS::IAM::Policy")


# What makes, changes or drops tables.
OF_TABLES = {"CreateTable", "UpdateTable", "DeleteTable", "UpdateContinuousBackups", "PutResourcePolicy", "DeleteResourcePolicy"}


def test_the_keeper_has_no_power_over_other_tables(stack):
    """Whatever else it is granted. Nor has anybody else over any."""
    denied = {}
    for name, statement in statements(stack):
        actions = {action.removeprefix("dynamodb:") for action in listed(statement["Action"])}
        if statement["Effect"] == "Allow" and actions & OF_TABLES:
            assert name == "PeriodKeeperRole"
            assert [granted_on(one) for one in listed(statement["Resource"])] == ["the tables of events"]
        if statement["Effect"] == "Deny" and name == "PeriodKeeperRole":
            denied[statement["Sid"]] = statement
    tables = denied["NoOtherTables"]
    assert {action.removeprefix("dynamodb:") for action in tables["Action"]} == OF_TABLES
    assert granted_on(tables["NotResource"]) == "the tables of events" and "Resource" not in tables
    assert denied["NoOtherRoles"]["Action"] == ["iam:PassRole", "sts:AssumeRole"]
    assert denied["NoOtherRoles"]["Resource"] == "*"
    seen = [s for n, s in statements(stack) if n == "PeriodKeeperRole" and listed(s["Action"]) == ["s3:ListBucket"]]
    assert [found.get("Condition") for found in seen] == [{"StringLike": {"s3:prefix": "events/*"}}]
    assert code()["events"]["prefix"] == "events/"
    # It is told of the tables that it may make.
    for function in ("FanoutWriter", "HistoryReader", "HistoryProjector", "PeriodKeeper"):
        told = stack.properties(function)["Environment"]["Variables"]["NAGARE_EVENTS_TABLE_PREFIX"]
        assert told == {"Fn::Sub": "nagare-${Stage}-events-"}, function


def test_the_keeper_is_woken_in_time(stack):
    [(_, schedule)] = stack.of_type("AWS::Scheduler::Schedule").items()
    properties = schedule["Properties"]
    assert properties["ScheduleExpression"] == "rate(15 minutes)"
    assert properties.get("State", "ENABLED") == "ENABLED"
    target = properties["Target"]
    assert named(target["Arn"]) == "PeriodKeeperAliaslive" and named(target["RoleArn"]) == "KeeperScheduleRole.Arn"
    # Scheduler retries until Lambda accepts the tick, and ends before the next. A failed tick is one error.
    assert target["RetryPolicy"] == {"MaximumRetryAttempts": 3, "MaximumEventAgeInSeconds": 300}
    [(_, taken)] = stack.of_type("AWS::Lambda::EventInvokeConfig").items()
    taken = taken["Properties"]
    assert (named(taken["FunctionName"]), taken["Qualifier"]) == ("PeriodKeeper", "live")
    assert (taken.get("MaximumRetryAttempts"), taken.get("MaximumEventAgeInSeconds")) == (0, 900)
    [policy] = stack.properties("KeeperScheduleRole")["Policies"]
    [statement] = policy["PolicyDocument"]["Statement"]
    assert statement["Action"] == "lambda:InvokeFunction" and named(statement["Resource"]) == "PeriodKeeperAliaslive"
    assert stack.properties("PeriodKeeper")["Timeout"] == 900


def test_the_keeper_is_woken_where_events_are_behind(stack):
    """Only where it is to provision, and only then may it measure."""
    assert stack.default("EventCapacity") == "on-demand"
    assert stack.expanded["Parameters"]["EventCapacity"]["AllowedValues"] == code()["events"]["billing"]
    assert stack.expanded["Conditions"]["ProvisionEvents"] == {"Fn::Equals": [{"Ref": "EventCapacity"}, "provisioned"]}
    variables = stack.properties("PeriodKeeper")["Environment"]["Variables"]
    assert variables["NAGARE_EVENT_CAPACITY"] == {"Ref": "EventCapacity"}
    for name in ("EventsBehindAlarm", "EventsBehindPermission"):
        assert stack.resources[name]["Condition"] == "ProvisionEvents", name
    alarm, permission = stack.properties("EventsBehindAlarm"), stack.properties("EventsBehindPermission")
    [(namespace, metric, dimensions)] = metrics_of(alarm)
    assert (namespace, metric, names_in(dimensions)) == ("AWS/SQS", "ApproximateAgeOfOldestMessage", {"CommandQueue"})
    assert alarm["Statistic"] == "Maximum" and alarm["ComparisonOperator"] == "GreaterThanOrEqualToThreshold"
    assert alarm["Threshold"] == code()["events"]["behind_seconds"] and (alarm["Period"], alarm["EvaluationPeriods"]) == (60, 1)
    assert [named(action) for action in alarm["AlarmActions"]] == ["PeriodKeeperAliaslive"] and "OKActions" not in alarm
    assert permission["Principal"] == "lambda.alarms.cloudwatch.amazonaws.com"
    assert named(permission["FunctionName"]) == "PeriodKeeperAliaslive"
    assert named(permission.get("SourceArn")) == "EventsBehindAlarm.Arn"
    [policy] = stack.properties("PeriodKeeperRole")["Policies"]
    choices = [one["Fn::If"] for one in policy["PolicyDocument"]["Statement"] if "Fn::If" in one]
    may = [choice for choice in choices if choice[0] == "ProvisionEvents"]
    assert len(may) == 1
    [[_, statement, otherwise]] = may
    assert statement["Action"] == "cloudwatch:GetMetricData" and otherwise == {"Ref": "AWS::NoValue"}
    everywhere = [name for name, one in statements(stack) if "cloudwatch:GetMetricData" in listed(one["Action"])]
    assert everywhere == ["PeriodKeeperRole"]


def test_the_archive_is_private_and_keeps_what_the_keeper_keeps(stack):
    assert set(stack.of_type("AWS::S3::Bucket")) == {"ArchiveBucket"}
    bucket, properties = stack.resources["ArchiveBucket"], stack.properties("ArchiveBucket")
    assert bucket["DeletionPolicy"] == bucket["UpdateReplacePolicy"] == "Retain"
    assert "BucketName" not in properties and "VersioningConfiguration" not in properties
    assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
    assert len(properties["PublicAccessBlockConfiguration"]) == 4
    assert properties["OwnershipControls"] == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    rules = [branch for rule in properties["LifecycleConfiguration"]["Rules"] for branch in branches(rule)]
    assert not [rule for rule in rules if any("Expiration" in key for key in rule)]
    [statement] = stack.properties("ArchiveBucketPolicy")["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Principal"], statement["Action"]) == ("Deny", "*", "s3:*")
    assert statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}
    assert len(statement["Resource"]) == 2


def test_events_are_kept_as_the_code_keeps_them(stack):
    for parameter in ("EventLatenessDays", "EventDays", "EventArchiveDays"):
        definition, kept = stack.expanded["Parameters"][parameter], code()["events"][parameter]
        assert (definition["Default"], definition["MinValue"], definition["MaxValue"]) == (kept["default"], kept["least"], kept["most"]), parameter
    assert stack.default("EventPeriod") == "month"
    assert stack.expanded["Parameters"]["EventPeriod"]["AllowedValues"] == ["day", "week", "month"]


def test_tracing_is_off_and_grants_nothing_until_it_is_on(stack):
    assert stack.default("Tracing") == "off"
    conditions = stack.expanded["Conditions"]
    assert conditions["Trace"] == {"Fn::Equals": [{"Ref": "Tracing"}, "xray"]}
    for function in FUNCTIONS:
        properties = stack.properties(function)
        assert properties["TracingConfig"] == {"Mode": {"Fn::If": ["Trace", "Active", "PassThrough"]}}
        [policy] = stack.properties(f"{function}Role")["Policies"]
        choices = [one["Fn::If"] for one in policy["PolicyDocument"]["Statement"] if "Fn::If" in one]
        [[_, trace, otherwise]] = [choice for choice in choices if choice[0] == "Trace"]
        assert otherwise == {"Ref": "AWS::NoValue"}
        # Segments go to X-Ray as a whole: there is no resource to name.
        wanted = {"Sid": "Trace", "Effect": "Allow", "Resource": "*", "Action": ["xray:PutTraceSegments", "xray:PutTelemetryRecords"]}
        assert trace == wanted, function


# Those that decide what others are told of.
TELLING = ("FanoutWriter", "Projector", "HistoryProjector", "PeriodKeeper")


def test_nobody_is_told_and_nothing_is_granted_until_a_bus_is_named(stack):
    """Each function that tells is told of the bus, and may send there and to no other."""
    assert stack.default("EventBusName") == ""
    assert stack.expanded["Conditions"]["TellOthers"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "EventBusName"}, ""]}]}
    pattern = stack.expanded["Parameters"]["EventBusName"]["AllowedPattern"]
    assert all(re.fullmatch(pattern, name) for name in ("", "default", "our-bus.v2"))
    # An ARN would name a bus that the role may not reach, and a star all of them.
    assert not any(re.fullmatch(pattern, name) for name in ("*", "arn:aws:events:us-east-1:1:event-bus/x", "a/b"))
    for function in FUNCTIONS:
        told = stack.properties(function)["Environment"]["Variables"].get("NAGARE_EVENT_BUS_NAME")
        [policy] = stack.properties(f"{function}Role")["Policies"]
        choices = [one["Fn::If"] for one in policy["PolicyDocument"]["Statement"] if "Fn::If" in one]
        may = [choice for choice in choices if choice[0] == "TellOthers"]
        if function not in TELLING:
            assert told is None and not may, function
            continue
        assert told == {"Ref": "EventBusName"}, function
        [[_, statement, otherwise]] = may
        assert (statement["Effect"], statement["Action"]) == ("Allow", "events:PutEvents"), function
        assert granted_on(statement["Resource"]) == "the event bus" and otherwise == {"Ref": "AWS::NoValue"}, function


def test_a_bus_that_does_not_exist_stops_the_deployment(stack):
    [(name, rule)] = stack.of_type("AWS::Events::Rule").items()
    assert rule.get("Condition") == "TellOthers" and rule["Properties"]["EventBusName"] == {"Ref": "EventBusName"}
    assert rule["Properties"]["State"] == "DISABLED" and "Targets" not in rule["Properties"], name
    assert rule["Properties"]["EventPattern"] == {"source": [code()["bus_source"]]}


# Actions that write items.
WRITE = {f"dynamodb:{action}" for action in ("PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem")}


def admits(partition, pattern, *beyond):
    """True if a partition is of a pattern, and of none of those beyond it."""
    return fnmatchcase(partition, pattern) and not any(fnmatchcase(partition, other) for other in beyond)


def test_roles_write_only_the_partitions_that_they_own(stack):
    """Into a table that several roles write: the partitions that the function was seen to write, and no others. The partitions of
    timelines are viewers, and any of them is written."""
    shared = partitions()
    assert set(shared) == {"LedgerTable.Arn", "ViewsTable.Arn"}
    for table, roles in shared.items():
        everybodys = {one for by_action in roles.values() for written in by_action.values() for one in written}
        granted = {}
        for role, statement in statements(stack):
            actions = set(listed(statement["Action"])) & WRITE
            if not actions or granted_on(statement.get("Resource")) != table:
                continue
            condition = dict(statement.get("Condition", {}))
            beyond = condition.pop("ForAllValues:StringNotLike", {}).get("dynamodb:LeadingKeys", ())
            # ForAllValues is also true of a request that names no key; Null demands one.
            assert set(condition) == {"ForAllValues:StringLike", "Null"}, f"{role}, {statement['Sid']}: writes into every partition"
            assert condition["Null"] == {"dynamodb:LeadingKeys": "false"}, f"{role}, {statement['Sid']}"
            # Such a condition denies actions without a key, such as a scan.
            assert set(listed(statement["Action"])) <= WRITE, f"{role}, {statement['Sid']}"
            for action in actions:
                patterns = {(pattern, *beyond) for pattern in condition["ForAllValues:StringLike"]["dynamodb:LeadingKeys"]}
                granted.setdefault(role, {}).setdefault(action, set()).update(patterns)
        assert set(granted) == set(roles), table
        for role, by_action in roles.items():
            for action, written in by_action.items():
                refused = {one for one in written if not any(admits(one, *pattern) for pattern in granted[role].get(action, ()))}
                assert not refused, f"{role} may not {action}: {sorted(refused)}"
            # By role and not by action: what a function may put it may also change.
            own, patterns = set().union(*by_action.values()), set().union(*granted[role].values())
            unused = {pattern for pattern in patterns if not any(admits(one, *pattern) for one in own)}
            assert not unused, f"{role} does not write {sorted(unused)}"
            foreign = {one for one in everybodys - own if any(admits(one, *pattern) for pattern in patterns)}
            assert not foreign, f"{role} may write what only others do: {sorted(foreign)}"


def test_the_reader_writes_entries_only_for_idle_viewers(stack):
    policy = stack.resources["TimelineReaderRole"]["Properties"]["Policies"][0]["PolicyDocument"]
    choices = [one["Fn::If"] for one in policy["Statement"] if "Fn::If" in one]
    skipping = [one for one in choices if one[0] == "SkipIdleViewers"]
    assert all(one[2] == {"Ref": "AWS::NoValue"} for one in skipping)
    always = [one for one in policy["Statement"] if "Fn::If" not in one]
    may = {action for one in always for action in listed(one.get("Action", []))}
    assert {a for a in may if a.startswith("dynamodb:")} == {f"dynamodb:{a}" for a in ("BatchGetItem", "GetItem", "PutItem", "Query")}
    assert stack.expanded["Conditions"]["SkipIdleViewers"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "IdleDays"}, "0"]}]}
    idle = stack.expanded["Parameters"]["IdleDays"]
    days = code()["idle_days"]
    taken = [n for n in range(4000) if re.fullmatch(idle["AllowedPattern"], str(n))]
    assert (idle["Default"], taken) == ("0", [0, *range(days["least"], days["most"] + 1)])


def test_functions_are_told_of_what_they_may_use_and_of_nothing_else(stack):
    for function in FUNCTIONS:
        told = names_in(stack.properties(function)["Environment"]) - set(stack.expanded["Parameters"])
        # A queue that Lambda alone takes from or sends to is nothing to the function. A table whose stream it is
        # given it has to be able to name.
        stores = {name.split(".")[0] for name in calls()[f"{function}Role"] if name not in {"*", *BY_PREFIX.values()}}
        stores |= {"ArchiveBucket"} if "the objects of archives" in calls()[f"{function}Role"] else set()
        stores |= {STREAMS_OF[function].split(".")[0]} if function in STREAMS_OF else set()
        secrets = set(stack.of_type("AWS::SecretsManager::Secret"))
        assert told - secrets == stores | COMPARED.get(function, set()), function
        assert told & secrets == SECRETS.get(function, set()), function


def test_slack_can_do_nothing(stack):
    channel = stack.properties("SlackChannel")
    assert [named(p) for p in channel["GuardrailPolicies"]] == ["SlackGuardrail"]
    assert "Policies" not in stack.properties("SlackRole")
    for name in ("SlackChannel", "SlackRole", "SlackGuardrail"):
        assert stack.resources[name]["Condition"] == "UseSlack"


# --- Functions ------------------------------------------------------------------------------------


def test_binaries_are_the_crates_of_the_functions(stack):
    crates = set()
    for main in ROOT.glob("functions/*/src/main.rs"):
        manifest = (main.parents[1] / "Cargo.toml").read_text(encoding="utf-8")
        crates.add(tomllib.loads(manifest)["package"]["name"])
    built = {}
    for name in FUNCTIONS:
        metadata = stack.written["Resources"][name]["Metadata"]
        assert metadata["BuildMethod"] == "rust-cargolambda"
        # The SAM CLI takes no notice of any other property, flags for cargo included.
        assert list(metadata["BuildProperties"]) == ["Binary"]
        built[name] = metadata["BuildProperties"]["Binary"]
    assert set(built.values()) == crates
    # Features unify over what is built together, whatever binary is asked for.
    told = tomllib.loads(read("Cargo.toml"))["workspace"]["metadata"]["lambda"]["build"]
    assert told == {"locked": True, "packages": sorted(crates)}
    for name, binary in built.items():
        assert re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower() == binary, f"{name} is built from {binary}"
        properties = stack.properties(name)
        assert (properties["Runtime"], properties["Handler"]) == ("provided.al2023", "bootstrap")
        assert named(properties["Architectures"][0]) == "Architecture"


def test_variables_are_those_that_the_code_reads(stack):
    for function in FUNCTIONS:
        given = set(stack.properties(function)["Environment"]["Variables"])
        reads = code()["functions"][function]
        wanted = set(reads["variables"])
        assert wanted <= given, f"{function} is not given {wanted - given}"
        unread = given - wanted - set(reads["optional"])
        assert not unread, f"{function} does not read {unread}"


def test_retention_is_the_code_s(stack):
    days = code()["retention_days"]
    for name in ("RetentionDays", "ReadNotificationDays"):
        parameter = stack.expanded["Parameters"][name]
        assert (parameter["Default"], parameter["MinValue"], parameter["MaxValue"]) == (days["default"], days["least"], days["most"]), name


def test_timeouts_are_the_code_s(stack):
    limit = code()["local"]["function_timeout_seconds"]
    for function, source in FUNCTIONS.items():
        timeout = stack.properties(function)["Timeout"]
        if source:
            assert timeout == limit, function
    for door, function in DOORS.items():
        patience = code()["functions"][function]["patience_seconds"]
        integration = stack.properties(f"{door}Integration")["TimeoutInMillis"] / 1000
        # The function's own answer comes first, Lambda's end next, the API's last.
        assert patience < stack.properties(function)["Timeout"] < integration <= 30, function


def test_secrets_are_generated_and_long_enough(stack):
    least = code()["least_secret"]
    assert set(stack.of_type("AWS::SecretsManager::Secret")) == set().union(*SECRETS.values())
    for name in stack.of_type("AWS::SecretsManager::Secret"):
        generated = stack.properties(name)["GenerateSecretString"]
        assert generated["PasswordLength"] == 64 >= least
        assert "SecretString" not in stack.properties(name)


def test_two_secrets_are_valid_at_a_time(stack):
    for function in ("TimelineReader", "HistoryReader"):
        check_two_secrets(stack, function, "Cursor", "cursors", condition="FirstSeals", again="IsMadeAgain")
    for function in ("FanoutWriter", "Projector", "HistoryProjector", "DlqAlerter"):
        check_two_secrets(stack, function, "Internal", "internal", condition="FirstSealsInternally", again="InternalIsMadeAgain")


def check_two_secrets(stack, function, kind, names, condition, again):
    first = {"Fn::Sub": f"{{{{resolve:secretsmanager:${{{kind}Secret}}}}}}"}
    second = {"Fn::Sub": f"{{{{resolve:secretsmanager:${{Second{kind}Secret}}}}}}"}
    environment = stack.properties(function)["Environment"]["Variables"]
    assert environment[f"NAGARE_{kind.upper()}_SECRET"] == {"Fn::If": [condition, first, second]}
    assert environment[f"NAGARE_OTHER_{kind.upper()}_SECRET"] == {"Fn::If": [condition, second, first]}
    conditions = stack.expanded["Conditions"]
    assert conditions[condition] == {"Fn::Equals": [{"Ref": f"{kind}Seal"}, "first"]}
    assert stack.default(f"{kind}Seal") == "first"
    for name, which in ((f"{kind}Secret", "First"), (f"Second{kind}Secret", "Second")):
        # Another name is another secret, and nothing else is: a name that does not change keeps it.
        generation = f"{which}{kind}SealGeneration"
        made_again = f"nagare-${{Stage}}-{names}-{which.lower()}-${{{generation}}}"
        named_after = {"Fn::If": [f"{which}{again}", {"Fn::Sub": made_again}, {"Ref": "AWS::NoValue"}]}
        assert stack.properties(name).get("Name") == named_after
        assert conditions[f"{which}{again}"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": generation}, "0"]}]}
        assert stack.default(generation) == 0


def test_each_function_logs_to_a_group_that_forgets(stack):
    for function in FUNCTIONS:
        logging = stack.properties(function)["LoggingConfig"]
        assert named(logging["LogGroup"]) == f"{function}Logs"
        # No lines about invocations that went well; and Lambda drops none of the function's own.
        levels = {"LogFormat": "JSON", "ApplicationLogLevel": "TRACE", "SystemLogLevel": "WARN"}
        assert {name: logging[name] for name in levels} == levels
    groups = stack.of_type("AWS::Logs::LogGroup")
    assert len(groups) == len(FUNCTIONS) + 1
    for name, group in groups.items():
        assert named(group["Properties"].get("RetentionInDays")) == "LogRetentionDays", name


def test_a_change_of_parameters_publishes_a_version(stack):
    parameters = set(stack.expanded["Parameters"])
    for function in FUNCTIONS:
        versions = [
            v["Properties"]
            for v in stack.of_type("AWS::Lambda::Version").values()
            if named(v["Properties"]["FunctionName"]) == function
        ]
        assert len(versions) == 1
        # A version has no room for them, so it is described by the name of what is replaced when they change.
        settings = f"{function}Settings"
        assert versions[0]["Description"] == {"Ref": settings} and stack.resources[settings]["Type"] == "AWS::IAM::ManagedPolicy"
        assert set(stack.properties(settings)) == {"Description", "PolicyDocument"}, function
        description = names_in(stack.properties(settings)["Description"])
        taken = names_in(stack.properties(function)) & parameters
        # A condition is a parameter too.
        text = json.dumps(stack.properties(function))
        taken |= {"Authorization"} if '"UseJwt"' in text else set()
        taken |= {"Tracing"} if '"Trace"' in text else set()
        taken |= {"CursorSeal"} if '"FirstSeals"' in text else set()
        taken |= {"InternalSeal"} if '"FirstSealsInternally"' in text else set()
        # These give a secret another address.
        for secret in names_in(stack.properties(function)) & set(stack.of_type("AWS::SecretsManager::Secret")):
            taken |= {n for n in names_in(stack.properties(secret)) & parameters if n.endswith("Generation")}
        # Not part of a version.
        taken -= {"ReaderReservedConcurrency"}
        assert taken == description, function


# Functions that run often enough for a canary. Ticks and dead letters are rare.
IN_CANARY = set(FUNCTIONS) - {"DlqAlerter", "PeriodKeeper"}


def test_canary_deployment_is_off_by_default_and_leaves_nothing_then(stack):
    assert stack.default("CanaryDeployment") == "false"
    assert stack.expanded["Conditions"]["UseCanary"] == {"Fn::Equals": [{"Ref": "CanaryDeployment"}, "true"]}
    plain = expand()["Resources"].values()
    assert not [r for r in plain if r["Type"].startswith("AWS::CodeDeploy::")]
    resources = expand({"CanaryDeployment": "true"})["Resources"]
    groups = {n: r["Properties"] for n, r in resources.items() if r["Type"] == "AWS::CodeDeploy::DeploymentGroup"}
    assert set(groups) == {f"{function}DeploymentGroup" for function in IN_CANARY}
    watched = set()
    for name, group in groups.items():
        condition, configured, otherwise = group["AlarmConfiguration"]["Fn::If"]
        assert (condition, otherwise, configured["Enabled"]) == ("UseCanary", {}, True), name
        assert named(group["ServiceRoleArn"]) == "DeploymentRole.Arn", name
        alarms = {named(alarm["Name"]) for alarm in configured["Alarms"]}
        # One of its own, that a failure of the new version is enough for.
        assert f"{name.removesuffix('DeploymentGroup')}CanaryAlarm" in alarms, name
        watched |= alarms
    assert {alarm for alarm in watched if alarm.endswith("CanaryAlarm")} == CANARY_ALARMS
    granted = {s["Sid"]: s for n, s in statements(stack) if n == "DeploymentRole" and "Sid" in s}
    resources = lambda sid: granted[sid]["Resource"] + granted[f"{sid}OfHistory"]["Resource"]
    assert {named(r) for r in resources("WatchAlarms")} == {f"{alarm}.Arn" for alarm in watched}
    assert names_in(resources("MoveAliases")) == IN_CANARY


def test_a_canary_is_ended_by_what_few_requests_raise(stack):
    """One failure of the new version, or less than the first step of ten percent where a metric has no version."""
    for name in CANARY_ALARMS:
        assert stack.resources[name]["Condition"] == "UseCanary", name
        properties = stack.properties(name)
        # CodeDeploy reads it; it has no topic.
        assert "AlarmActions" not in properties and properties["TreatMissingData"] == "notBreaching", name
        periods = [one["MetricStat"]["Period"] for one in properties.get("Metrics", []) if "MetricStat" in one] or [properties["Period"]]
        assert properties["EvaluationPeriods"] == 1 and max(periods) <= 300, name
        if name == "ApiCanaryAlarm":
            assert properties["Threshold"] == 2
            continue
        function = name.removesuffix("CanaryAlarm")
        _, metric, dimensions = metrics_of(properties)[0]
        assert metric == "Errors"
        of = {one["Name"]: one["Value"] for one in dimensions}
        assert set(of) == {"FunctionName", "Resource", "ExecutedVersion"}, name
        assert of["Resource"] == {"Fn::Sub": f"${{{function}}}:live"} and named(of["FunctionName"]) == function, name
        version = of["ExecutedVersion"]["Fn::GetAtt"]
        assert version[1] == "Version" and named(stack.properties(version[0])["FunctionName"]) == function, name
        if "Metrics" not in properties:
            assert properties["Threshold"] == 1, name
            continue
        assert properties["Threshold"] <= 5, name


# --- Queues and streams ---------------------------------------------------------------------------


def test_event_sources_report_single_messages(stack):
    batch = code()["local"]["messages_in_a_batch"]
    for function, queue in QUEUES_OF.items():
        mapping = mapping_of(stack, function)
        assert named(mapping["EventSourceArn"]) == f"{queue}.Arn"
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
        assert mapping["BatchSize"] == batch
        concurrency = mapping["ScalingConfig"]["MaximumConcurrency"]
        if parameter := named(concurrency):
            definition = stack.expanded["Parameters"][parameter]
            assert (definition["MinValue"], definition["MaxValue"]) == (2, 1000)
            concurrency = definition["Default"]
        assert 2 <= concurrency <= 1000
    assert len(stack.of_type("AWS::Lambda::EventSourceMapping")) == len(QUEUES_OF) + len(STREAMS_OF)


DAY = 86_400


def test_changes_are_folded_in_the_order_of_their_shard(stack):
    """What the code takes for granted of the stream and its mappings (shared/src/platform/projection/mod.rs)."""
    # A stream has two readers at most.
    assert set(STREAMS_OF) == {"Projector", "HistoryProjector"}
    definitions = {TABLES[field]: table["definition"] for field, table in code()["tables"].items()}
    [(name, specification)] = [(name, one["StreamSpecification"]) for name, one in definitions.items() if "StreamSpecification" in one]
    assert name == "FactsTable" and specification["StreamEnabled"] is True
    assert stack.properties(name)["StreamSpecification"] == {"StreamViewType": specification["StreamViewType"]}
    streams = {name for name, table in stack.of_type("AWS::DynamoDB::Table").items() if "StreamSpecification" in table["Properties"]}
    assert streams == {"FactsTable"}
    assert code()["functions"]["Projector"]["is_told_of_the_shard"] is True
    for function, stream in STREAMS_OF.items():
        mapping = mapping_of(stack, function)
        assert named(mapping["EventSourceArn"]) == stream
        # Of two batches of one shard at once the later would raise the marks over the earlier.
        assert mapping["ParallelizationFactor"] == 1
        # Without a window the event does not say which shard it is of, and the longest one ends the least often.
        assert mapping["TumblingWindowInSeconds"] == 900
        # What was there before the mapping is not left out.
        assert mapping["StartingPosition"] == "TRIM_HORIZON"
        assert mapping["BatchSize"] == code()["local"]["changes_in_a_batch"]
        assert mapping["MaximumBatchingWindowInSeconds"] == 0


def test_the_history_projector_is_given_what_comes_back_and_the_other_one_all(stack):
    """By the key of the rows that bring changes back: each of them, and no other fact."""
    assert "FilterCriteria" not in mapping_of(stack, "Projector")
    [wanted] = mapping_of(stack, "HistoryProjector")["FilterCriteria"]["Filters"]
    prefix = code()["functions"]["HistoryProjector"]["brought_back"]
    assert json.loads(wanted["Pattern"]) == {"dynamodb": {"Keys": {"pk": {"S": [{"prefix": prefix}]}}}}


def test_streams_of_events_are_mapped_as_that_of_the_facts_is(stack):
    """By the keeper, to the history projector alone, and with nothing left to Lambda's defaults that the facts do not leave to them."""
    mapping = dict(mapping_of(stack, "HistoryProjector"))
    del mapping["EventSourceArn"], mapping["FilterCriteria"]
    # Which SAM adds, and which is no part of how a stream is read.
    mapping.pop("Tags", None)
    text = stack.properties("PeriodKeeper")["Environment"]["Variables"]["NAGARE_STREAM_MAPPING"]["Fn::Sub"]
    asked = json.loads(text)
    said = {"${HistoryProjector.Arn}:live": {"Ref": "HistoryProjectorAliaslive"}, "${DeadLetterQueue.Arn}": {"Fn::GetAtt": ["DeadLetterQueue", "Arn"]}}
    asked["FunctionName"] = said[asked["FunctionName"]]
    failed = asked["DestinationConfig"]["OnFailure"]
    failed["Destination"] = said[failed["Destination"]]
    assert asked == mapping
    assert mapping["DestinationConfig"]["OnFailure"]["Destination"] == failed["Destination"]
    # A variable is at most 4 KB with all others.
    assert len(text) < 1_000


OF_MAPPINGS = {"CreateEventSourceMapping", "DeleteEventSourceMapping", "UpdateEventSourceMapping"}


def test_the_keeper_maps_streams_to_the_history_projector_and_to_nothing_else(stack):
    """Nor does anybody else map anything."""
    allowed = []
    for name, statement in statements(stack):
        actions = listed(statement["Action"])
        if statement["Effect"] != "Allow" or not any(action.startswith("lambda:") for action in actions):
            continue
        assert not any("*" in action for action in actions), name
        if OF_MAPPINGS & {action.removeprefix("lambda:") for action in actions}:
            assert name == "PeriodKeeperRole"
            allowed.append(statement)
    assert sorted(action for statement in allowed for action in listed(statement["Action"])) == [
        "lambda:CreateEventSourceMapping",
        "lambda:DeleteEventSourceMapping",
    ]
    for statement in allowed:
        assert list(statement.get("Condition", {})) == ["ArnEquals"], statement["Sid"]
        condition = statement["Condition"]["ArnEquals"]
        assert list(condition) == ["lambda:FunctionArn"]
        function = {"Fn::GetAtt": ["HistoryProjector", "Arn"]}
        assert condition["lambda:FunctionArn"] == [function, {"Fn::Sub": "${HistoryProjector.Arn}:live"}]


def test_what_cannot_be_folded_ends_as_a_dead_letter(stack):
    """By itself, after all else was folded, and while the stream still has it."""
    for function in STREAMS_OF:
        check_given_up(stack, function)


def check_given_up(stack, function):
    mapping = mapping_of(stack, function)
    assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert mapping["BisectBatchOnFunctionError"] is True
    destinations = {outcome: named(to["Destination"]) for outcome, to in mapping.get("DestinationConfig", {}).items()}
    assert destinations == {"OnFailure": "DeadLetterQueue.Arn"}
    # Long enough for somebody to mend what is broken, and as long again to look at what was given up.
    age, attempts = mapping["MaximumRecordAgeInSeconds"], mapping["MaximumRetryAttempts"]
    assert DAY / 4 <= age <= DAY / 2
    # While a table refuses, an attempt takes as long as the function may: age ends these, not their number.
    assert age / stack.properties(function)["Timeout"] < attempts <= 1_000
    # The local stack gives up when Lambda does.
    assert (age, attempts) == (code()["local"]["change_age_seconds"], code()["local"]["change_retries"])
    # A mark outlives what can be delivered again.
    assert code()["marks_kept_seconds"] >= 2 * DAY


def test_visibility_is_six_times_the_timeout(stack):
    for function, queue in QUEUES_OF.items():
        visibility = stack.properties(queue)["VisibilityTimeout"]
        assert visibility == 6 * stack.properties(function)["Timeout"], queue
        # What `nagare up --template-visibility` keeps to.
        assert visibility == code()["local"]["visibility_seconds"], queue


def test_commands_give_up_after_as_many_receives_as_the_code_thinks(stack):
    redrive = stack.properties("CommandQueue")["RedrivePolicy"]
    assert redrive["maxReceiveCount"] == code()["max_receives"]
    assert named(redrive["deadLetterTargetArn"]) == "DeadLetterQueue.Arn"
    # A dead letter has nowhere to go on to.
    assert "RedrivePolicy" not in stack.properties("DeadLetterQueue")
    allowed = stack.properties("DeadLetterQueue")["RedriveAllowPolicy"]
    assert allowed["redrivePermission"] == "byQueue"
    # By its name: the queues cannot refer to each other.
    name = stack.properties("CommandQueue")["QueueName"]["Fn::Sub"]
    assert [arn["Fn::Sub"].rsplit(":", 1)[-1] for arn in allowed["sourceQueueArns"]] == [name]


def test_dead_letters_are_kept_longest(stack):
    kept = code()["local"]["dead_letter_retention_seconds"]
    commands = stack.properties("CommandQueue")["MessageRetentionPeriod"]
    letters = stack.properties("DeadLetterQueue")["MessageRetentionPeriod"]
    assert commands == 4 * 86_400
    assert letters == kept == 14 * 86_400


def test_queues_take_large_messages_encrypted_and_over_tls_only(stack):
    queues = stack.of_type("AWS::SQS::Queue")
    assert set(queues) == {"CommandQueue", "DeadLetterQueue"}
    protected = set()
    for name, statement in statements(stack):
        if stack.resources[name]["Type"] != "AWS::SQS::QueuePolicy":
            continue
        if statement["Action"] != "sqs:*":
            continue
        assert statement["Effect"] == "Deny" and statement["Principal"] == "*"
        assert statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
        queue = named(statement["Resource"]).removesuffix(".Arn")
        assert [named(q) for q in stack.properties(name)["Queues"]] == [queue], name
        protected.add(queue)
    assert protected == set(queues)
    for name, queue in queues.items():
        assert queue["Properties"]["SqsManagedSseEnabled"] is True, name
        assert queue["Properties"]["MaximumMessageSize"] == 1024 * 1024, name


def test_producers_can_be_named(stack):
    """Once some are, they may send, from any account, and nobody else but the writer, whatever IAM policies say."""
    assert stack.default("Producers") == ""
    assert re.fullmatch(stack.expanded["Parameters"]["Producers"]["AllowedPattern"], "")
    assert not re.fullmatch(stack.expanded["Parameters"]["Producers"]["AllowedPattern"], "*")
    conditional = []
    for name in stack.of_type("AWS::SQS::QueuePolicy"):
        for statement in stack.properties(name)["PolicyDocument"]["Statement"]:
            if statement.get("Action") == "sqs:*" or name == "DeadLetterQueuePolicy":
                continue
            # Nothing is granted to anybody as long as nobody is named.
            condition, statement, otherwise = statement["Fn::If"]
            assert (name, condition, otherwise) == ("CommandQueuePolicy", "NameProducers", {"Ref": "AWS::NoValue"})
            assert statement["Action"] == "sqs:SendMessage" and named(statement["Resource"]) == "CommandQueue.Arn"
            conditional.append(statement)
    assert len(conditional) == 2
    allow, deny = conditional
    assert allow["Effect"] == "Allow" and allow["Principal"] == {"AWS": {"Fn::Split": [",", {"Ref": "Producers"}]}}
    assert deny["Effect"] == "Deny" and deny["Principal"] == "*"
    assert set(deny["Condition"]) == {"ArnNotEquals"}
    [(key, others)] = deny["Condition"]["ArnNotEquals"].items()
    assert key == "aws:PrincipalArn" and names_in(others) == {"Producers", "EventIntakeRole", "FanoutWriterRole"}
    assert stack.expanded["Conditions"]["NameProducers"] == {
        "Fn::Not": [{"Fn::Equals": [{"Ref": "Producers"}, ""]}]
    }


def test_nobody_but_the_functions_sends_dead_letters(stack):
    """Whatever IAM policies say: what lies there is in force once an operator redrives it. SQS moves what it gives up
    without sending, and from the queue of commands alone."""
    policy = stack.properties("DeadLetterQueuePolicy")["PolicyDocument"]["Statement"]
    others = [statement for statement in policy if statement["Action"] != "sqs:*"]
    assert len(others) == 1
    [deny] = others
    assert (deny["Effect"], deny["Principal"], deny["Action"]) == ("Deny", "*", "sqs:SendMessage")
    assert named(deny["Resource"]) == "DeadLetterQueue.Arn"
    senders = [role for role, resources in permissions().items() if "sqs:SendMessage" in resources.get("DeadLetterQueue.Arn", set())]
    assert set(deny["Condition"]) == {"ArnNotEquals"}
    [(key, others)] = deny["Condition"]["ArnNotEquals"].items()
    assert key == "aws:PrincipalArn" and {named(role) for role in others} == {f"{role}.Arn" for role in senders}
    assert named(stack.properties("DlqAlerter")["Environment"]["Variables"]["NAGARE_QUEUE_ARN"]) == "CommandQueue.Arn"


# --- Tables ---------------------------------------------------------------------------------------


def test_tables_have_the_keys_that_the_code_uses(stack):
    assert set(stack.of_type("AWS::DynamoDB::Table")) == set(TABLES.values())
    for field, name in TABLES.items():
        properties, definition = stack.properties(name), code()["tables"][field]["definition"]
        assert properties["KeySchema"] == definition["KeySchema"], name
        assert [k["KeyType"] for k in properties["KeySchema"]] == ["HASH", "RANGE"], name
        by_name = lambda one: one["AttributeName"]
        assert sorted(properties["AttributeDefinitions"], key=by_name) == sorted(definition["AttributeDefinitions"], key=by_name), name
        assert {a["AttributeType"] for a in properties["AttributeDefinitions"]} == {"S"}, name
    (index,) = stack.properties("LedgerTable")["GlobalSecondaryIndexes"]
    [wanted] = code()["tables"]["ledger"]["definition"]["GlobalSecondaryIndexes"]
    assert {key: index[key] for key in wanted} == wanted and index["IndexName"] == code()["by_follower"]
    ttl = stack.properties("TimelinesTable")["TimeToLiveSpecification"]
    assert ttl == {"AttributeName": code()["tables"]["timelines"]["expiry"], "Enabled": True}


def test_tables_survive(stack):
    for field, name in TABLES.items():
        table, properties = stack.resources[name], stack.properties(name)
        assert table["DeletionPolicy"] == table["UpdateReplacePolicy"] == "Retain", name
        assert properties["BillingMode"] == "PAY_PER_REQUEST", name
        assert properties["SSESpecification"]["SSEEnabled"] is True, name
        # A name of its own would keep the stack from being made again beside a retained table.
        assert "TableName" not in properties, name
        if field not in DERIVED:
            assert properties.get("PointInTimeRecoverySpecification") == {"PointInTimeRecoveryEnabled": True}, name
            assert properties["DeletionProtectionEnabled"] is True, name
        else:
            # A restore would bring back what is not so any more, and nobody should have to pay for it.
            assert "PointInTimeRecoverySpecification" not in properties, name

    # What must not be lost never expires by itself, but for what is marked as over. Nor does a view: it would begin
    # again at nothing.
    assert "TimeToLiveSpecification" not in stack.properties("DeadLettersTable")
    marked = code()["forget_at"]
    fields = {field for field, table in code()["tables"].items() if table["expiry"] == marked}
    assert fields == {"ledger", "facts", "views"}
    for field in fields:
        ttl = stack.properties(TABLES[field]).get("TimeToLiveSpecification")
        assert ttl == {"AttributeName": marked, "Enabled": True}, field


def test_tables_of_events_are_made_as_the_template_s(stack):
    """The keeper makes them, one for each period: encrypted with the same key, protected, and with the stream that the projector needs."""
    made = code()["table_of_events"]
    for name in TABLES.values():
        assert stack.properties(name)["SSESpecification"] == {"SSEEnabled": True}, name
    # SSEEnabled is a key of the account in KMS; without it DynamoDB describes no encryption.
    assert (made.get("SSEDescription") or {}).get("SSEType") == "KMS"
    assert made["DeletionProtectionEnabled"] is stack.properties("LedgerTable")["DeletionProtectionEnabled"] is True
    assert made["BillingModeSummary"]["BillingMode"] == stack.properties("LedgerTable")["BillingMode"]
    assert made["StreamSpecification"]["StreamViewType"] == stack.properties("FactsTable")["StreamSpecification"]["StreamViewType"]


def test_tables_can_be_warm(stack):
    for table, name in (("Timelines", "TimelinesTable"), ("Ledger", "LedgerTable"), ("Facts", "FactsTable")):
        warm = {
            "ReadUnitsPerSecond": {"Ref": f"{table}WarmReads"},
            "WriteUnitsPerSecond": {"Ref": f"{table}WarmWrites"},
        }
        expected = {"Fn::If": [f"Warm{table}", warm, {"Ref": "AWS::NoValue"}]}
        properties = stack.properties(name)
        assert properties.get("WarmThroughput") == expected, name
        for index in properties.get("GlobalSecondaryIndexes", []):
            assert index["WarmThroughput"] == expected
        # Either both are given or none.
        given = [{"Fn::Not": [{"Fn::Equals": [{"Ref": f"{table}Warm{what}"}, "0"]}]} for what in ("Reads", "Writes")]
        assert stack.expanded["Conditions"][f"Warm{table}"] == {"Fn::And": given}
        checked = [names_in(rule["Assertions"]) for rule in stack.expanded["Rules"].values()]
        assert {f"{table}WarmReads", f"{table}WarmWrites"} in checked, name


# --- The API --------------------------------------------------------------------------------------


def test_the_api_throttles_and_logs_ids_only(stack):
    api_stage = stack.properties("HttpApiStage")
    settings = api_stage["DefaultRouteSettings"]
    assert named(settings["ThrottlingRateLimit"]) == "ApiRateLimit"
    assert named(settings["ThrottlingBurstLimit"]) == "ApiBurstLimit"
    access = api_stage["AccessLogSettings"]
    assert named(access["DestinationArn"]) == "HttpApiLogs.Arn"
    # No path, no query string, no headers, no claims but the subject; and who asked in either mode.
    condition, *formats = access["Format"]["Fn::If"]
    assert condition == "UseJwt"
    for text, caller in zip(formats, ("authorizer.claims.sub", "identity.userArn"), strict=True):
        assert json.loads(text) == {
            "requestId": "$context.requestId",
            "subject": f"$context.{caller}",
            "status": "$context.status",
            "error": "$context.error.responseType",
            "latency": "$context.responseLatency",
        }


def test_one_caller_does_not_use_up_the_account(stack):
    """Readers can be reserved, and the API refuses with 429 before Lambda does with 503: not more at once than
    there are readers, which an account has a thousand of unless it asks for more."""
    reserved = stack.properties("TimelineReader").get("ReservedConcurrentExecutions")
    expected = [{"Ref": "ReaderReservedConcurrency"}, {"Ref": "AWS::NoValue"}]
    assert reserved == {"Fn::If": ["ReserveReaders", *expected]}
    zero = {"Fn::Equals": [{"Ref": "ReaderReservedConcurrency"}, "0"]}
    assert stack.expanded["Conditions"]["ReserveReaders"] == {"Fn::Not": [zero]}
    burst = stack.default("ApiBurstLimit")
    assert burst <= 1_000
    config = tomllib.loads(read("samconfig.toml"))
    for environment in ("dev", "prod"):
        pairs = config[environment]["deploy"]["parameters"]["parameter_overrides"]
        values = dict(pair.split("=", 1) for pair in pairs)
        readers = int(values.get("ReaderReservedConcurrency", stack.default("ReaderReservedConcurrency")))
        assert readers == 0 or readers >= int(values.get("ApiBurstLimit", burst)), environment
    assert int(dict(p.split("=", 1) for p in config["prod"]["deploy"]["parameters"]["parameter_overrides"])[
        "ReaderReservedConcurrency"]) > 0


def test_an_account_that_cannot_reserve_readers_is_told_so_before_anything_is_made(stack):
    """A new one has a concurrency of ten, and Lambda refuses when half of the stack is there."""
    rule = stack.expanded["Rules"]["ReservedReadersFit"]
    assert rule["RuleCondition"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "ReaderReservedConcurrency"}, "0"]}]}
    refused = [one["Assert"]["Fn::Not"][0]["Fn::Equals"] for one in rule["Assertions"]]
    assert refused == [[{"Ref": "AccountConcurrency"}, ""], [{"Ref": "AccountConcurrency"}, "10"]]
    assert all("get-account-settings" in one["AssertDescription"] or "10" in one["AssertDescription"] for one in rule["Assertions"])
    assert stack.default("AccountConcurrency") == "" and stack.default("ReaderReservedConcurrency") == 0
    # Nobody has looked at the account before somebody has.
    assert not re.search(r'^ *"AccountConcurrency=', read("samconfig.toml"), re.MULTILINE)
    assert re.search(r'^ *# "AccountConcurrency=', read("samconfig.toml"), re.MULTILINE)


def test_the_api_calls_the_aliases_of_readers_and_intake(stack):
    """What is sent goes to the intake, all else about tenants to the history reader, and the rest to the timeline reader."""
    for door, function in DOORS.items():
        integration = stack.properties(f"{door}Integration")
        assert named(integration["IntegrationUri"]) == f"{function}Aliaslive"
        assert (integration["IntegrationType"], integration["PayloadFormatVersion"]) == ("AWS_PROXY", "2.0")
        assert named(stack.properties(f"{door}Permission")["FunctionName"]) == f"{function}Aliaslive"
    for name, route in stack.of_type("AWS::ApiGatewayV2::Route").items():
        method, _, path = route["Properties"]["RouteKey"].partition(" ")
        door = "Intake" if method == "POST" else "History" if path.startswith("/v1/tenants/") else "Reader"
        assert route["Properties"]["Target"] == {"Fn::Sub": f"integrations/${{{door}Integration}}"}, name


# --- Alarms ---------------------------------------------------------------------------------------


# Alarms that end a canary. They have no topic.
CANARY_ALARMS = {f"{function}CanaryAlarm" for function in IN_CANARY} | {"ApiCanaryAlarm"}
# Which wake a function, and nobody.
FOR_FUNCTIONS = {"EventsBehindAlarm"} | CANARY_ALARMS
# Off unless a parameter has the number to expect.
EXPECTING = {"ApiQuietAlarm": "ExpectRequests", "CommandsQuietAlarm": "ExpectCommands"}


def alarms(stack):
    """Those for people."""
    found = stack.of_type("AWS::CloudWatch::Alarm")
    assert FOR_FUNCTIONS <= set(found)
    return {name: alarm for name, alarm in found.items() if name not in FOR_FUNCTIONS}


def metrics_of(properties):
    """(namespace, metric, dimensions) of all that an alarm looks at, what it watches first."""
    if "Metrics" not in properties:
        return [(properties["Namespace"], properties["MetricName"], properties.get("Dimensions", []))]
    metrics = [one["MetricStat"]["Metric"] for one in properties["Metrics"] if "MetricStat" in one]
    return [(metric["Namespace"], metric["MetricName"], metric["Dimensions"]) for metric in metrics]


def alarmed(stack):
    """(namespace, metric, resources in its dimensions) of each alarm."""
    found = {}
    for name, alarm in alarms(stack).items():
        namespace, metric, dimensions = metrics_of(alarm["Properties"])[0]
        found[(namespace, metric, frozenset(names_in(dimensions)))] = name
    return found


def test_everything_that_can_go_wrong_has_an_alarm(stack):
    ours = ("DeadLetters", "SystemDeadLetters", "CommandsUnreadable", "FanOutLatency", "ProjectionLag")
    ours += ("DisputedPeriods", "UnmadePeriods", "FailedSteps", "KeeperTicks", "UndecidedRules", "MarkedPeriods")
    wanted = {("Nagare", metric, frozenset(["Stage"])) for metric in ours}
    wanted.add(("AWS/SQS", "NumberOfMessagesDeleted", frozenset(["CommandQueue"])))
    for function in STREAMS_OF:
        wanted.add(("AWS/Lambda", "IteratorAge", frozenset([function])))
    for queue in ("CommandQueue", "DeadLetterQueue"):
        wanted.add(("AWS/SQS", "ApproximateAgeOfOldestMessage", frozenset([queue])))
    for function in FUNCTIONS:
        wanted |= {("AWS/Lambda", metric, frozenset([function])) for metric in ("Errors", "Throttles")}
    wanted |= {("AWS/DynamoDB", "WriteThrottleEvents", frozenset([table])) for table in TABLES.values()}
    # Those that callers wait for.
    read = {name for function in ("TimelineReader", "HistoryReader") for name in calls()[f"{function}Role"]}
    for table in {name.split(".")[0] for name in read if name not in BY_PREFIX.values()}:
        wanted.add(("AWS/DynamoDB", "ReadThrottleEvents", frozenset([table])))
    wanted |= {("AWS/ApiGateway", metric, frozenset(["HttpApi"])) for metric in ("Count", "4xx", "5xx", "Latency")}
    # Total silence, of the API, of producers, and of the projector's mapping.
    wanted.add(("AWS/SQS", "NumberOfMessagesSent", frozenset(["CommandQueue"])))
    wanted |= {("AWS/Lambda", "Invocations", frozenset([function])) for function in ("TimelineReader", "Projector")}
    assert wanted <= set(alarmed(stack)), wanted - set(alarmed(stack))
    for watched in (("AWS/ApiGateway", "Latency", "HttpApi"), ("Nagare", "FanOutLatency", "Stage"), ("Nagare", "ProjectionLag", "Stage")):
        namespace, metric, dimension = watched
        latency = stack.properties(alarmed(stack)[(namespace, metric, frozenset([dimension]))])
        assert latency.get("ExtendedStatistic") == "p99", metric
    # The mean of all shards would hide one that stands still.
    for function in STREAMS_OF:
        oldest = stack.properties(alarmed(stack)[("AWS/Lambda", "IteratorAge", frozenset([function]))])
        assert oldest["Statistic"] == "Maximum", function


# What nobody has to be woken for: viewers are served, commands are kept, and nothing is lost before tomorrow.
TOMORROW = {f"{table}WriteThrottlesAlarm" for table in ("Timelines", "Ledger", "LedgerIndex", "Facts", "Views", "DeadLetters")}
TOMORROW |= {"PeriodKeeperErrorsAlarm", "PeriodKeeperThrottlesAlarm", "ProjectorStoppedAlarm"}
TOMORROW |= {"PeriodDisputedAlarm", "ErasureUnfinishedAlarm", "RulesUndecidedAlarm", "KeeperStepsAlarm", "KeeperStoppedAlarm"}
TOMORROW |= {"AnyDeadLettersAlarm", "Api4xxAlarm", "ApiLatencyAlarm", "FanOutLatencyAlarm", "ProjectionLagAlarm"}


def test_alarms_tell_what_to_do_and_reach_somebody(stack):
    assert TOMORROW <= set(alarms(stack))
    runbook = ROOT / "docs" / "OPERATIONS.md"
    headings = None
    if runbook.exists():
        headings = set(re.findall(r"^#+ +(Alarm: .+?) *$", runbook.read_text(encoding="utf-8"), re.MULTILINE))
    for name, alarm in alarms(stack).items():
        properties = alarm["Properties"]
        text = properties.get("AlarmDescription", "")
        assert len(text) <= 1024, name
        parts = re.fullmatch(
            r"\S.+\. Look first at: \S.+\. Runbook: docs/OPERATIONS\.md, '(Alarm: [a-z0-9-]+)'\.", text
        )
        assert parts, f"{name}: {text!r}"
        if headings is not None:
            assert parts[1] in headings, f"{name}: docs/OPERATIONS.md has no section '{parts[1]}'"
        topic = "NoticeTopic" if name in TOMORROW else "AlarmTopic"
        for actions in ("AlarmActions", "OKActions"):
            assert [named(a) for a in properties.get(actions, [])] == [topic], f"{name}: {actions}"
        assert properties.get("ActionsEnabled", True) is True, name
        # A keeper that does not run has no figures, and neither do callers that are kept away.
        missing = "breaching" if name in {"KeeperStoppedAlarm", *EXPECTING} else "notBreaching"
        assert properties["TreatMissingData"] == missing, name
        assert alarm.get("Condition") == EXPECTING.get(name), name
        # The topic takes what comes from alarms of this name.
        assert properties["AlarmName"]["Fn::Sub"].startswith("nagare-${Stage}-"), name


def test_runbooks_have_commands_that_fit(stack):
    """Each section has some, those of its log groups name groups of the template, and their queries fields that are logged."""
    page = read("docs/OPERATIONS.md")
    sections = dict(re.findall(r"^## (Alarm: [a-z0-9-]+)\n(.+?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    for name, alarm in alarms(stack).items():
        section = sections[re.search(r"'(Alarm: .+)'", alarm["Properties"]["AlarmDescription"])[1]]
        assert re.search(r"`(aws|nagare|curl) |^ *(aws|nagare) |^filter ", section, re.MULTILINE), f"{name}: nothing to paste"
    groups = {group["Properties"]["LogGroupName"]["Fn::Sub"] for group in stack.of_type("AWS::Logs::LogGroup").values()}
    used = set(re.findall(r'"(/aws/[\w/]+nagare-\$NAGARE_STAGE[\w-]*)"', page)) - {"/aws/lambda/nagare-$NAGARE_STAGE-FUNCTION"}
    assert len(used) >= 4 and {one.replace("$NAGARE_STAGE", "${Stage}") for one in used} <= groups
    for group, query in re.findall(r"nagare-\$NAGARE_STAGE-?([\w-]*)\"[^\n]*\n *--query-string '(.+?)'", page):
        function = group.title().replace("-", "")
        access = stack.properties("HttpApiStage")["AccessLogSettings"]["Format"]["Fn::If"][1]
        logged = code()["functions"][function]["logs"] if function else json.loads(access)
        asked = re.findall(r"(?:filter |(?:ispresent|sum|max|pct)\()(\w+)\b(?!\()", query)
        by = re.search(r" by ([\w, ]+)", query)
        for field in {*asked, *(by[1].strip().split(", ") if by else [])}:
            assert field in logged, f"{function or 'the API'} logs no {field}: {query}"


def test_thresholds_are_parameters(stack):
    for name, alarm in alarms(stack).items():
        properties = alarm["Properties"]
        # Whether or not is no matter of how much, but of how long.
        yes_or_no = properties["Threshold"] == 1
        # So often as a function runs, M of N.
        if "DatapointsToAlarm" in properties or name == "ProjectorStoppedAlarm":
            assert yes_or_no, name
            continue
        threshold = named(properties["EvaluationPeriods" if yes_or_no else "Threshold"])
        assert threshold in stack.expanded["Parameters"], name
        parameter = stack.expanded["Parameters"][threshold]
        if name in EXPECTING:
            assert parameter["MinValue"] == parameter["Default"] == 0, name
            continue
        assert parameter["MinValue"] >= 1, name
        if "Metrics" in properties and not yes_or_no:
            assert parameter["MaxValue"] == 100, f"{name}: percent"


# What grows with traffic while the same part of it goes wrong.
WITH_TRAFFIC = {"Errors", "Throttles", "WriteThrottleEvents", "ReadThrottleEvents", "4xx", "5xx", "CommandsUnreadable"}


# Errors and throttles of what runs once in a while are counted instead: a share of one is everything or nothing.
SELDOM = {f"{function}{kind}Alarm" for function in ("DlqAlerter", "PeriodKeeper") for kind in ("Errors", "Throttles")} | {"ApiFailingAlarm"}


def values_of(expression, **metrics):
    """The value of an expression of CloudWatch's, or 0 if it has none. None is a metric without data."""
    return Expression(expression).value(metrics) or 0


def test_what_traffic_makes_more_of_is_watched_as_a_share(stack):
    seen = set()
    for name, alarm in alarms(stack).items():
        properties = alarm["Properties"]
        watched = metrics_of(properties)[0][1]
        if name in SELDOM:
            assert properties["Threshold"] == 1 and properties["DatapointsToAlarm"] >= 2, name
            continue
        assert ("Metrics" in properties) == (watched in WITH_TRAFFIC | {"NumberOfMessagesDeleted", "Count", "Invocations"}), name
        if watched not in WITH_TRAFFIC:
            continue
        seen.add(watched)
        [returned] = [one for one in properties["Metrics"] if one.get("ReturnData", True)]
        part, whole = (one["Id"] for one in properties["Metrics"] if "MetricStat" in one)
        value = lambda few, all: values_of(returned["Expression"], **{part: few, whole: all})
        # Nothing happened; all went wrong, of very much; a little of it, of very much; a few, of few.
        assert value(None, None) == value(None, 100_000) == value(0, 100_000) == value(1, 1) == 0, name
        assert value(100_000, 100_000) in (50, 100), name
        assert 0 < value(2_000, 1_000_000) < 1, name
        periods = {one["MetricStat"]["Period"] for one in properties["Metrics"] if "MetricStat" in one}
        assert periods == {300}, name
    assert seen == WITH_TRAFFIC


def test_a_writer_that_stands_still_is_told_of_within_five_minutes(stack):
    """Also one that tells of nothing: that nothing is done is what is watched."""
    properties = stack.properties("WriterStoppedAlarm")
    expression = properties["Metrics"][0]["Expression"]
    stopped = lambda done, waiting, sent: values_of(expression, done=done, waiting=waiting, sent=sent) >= properties["Threshold"]
    assert stopped(None, 1, None) and stopped(0, 100, 0) and stopped(0, 0, 5) and stopped(None, None, 1)
    # It is slow; there is nothing to do; what failed waits, in flight, to come again.
    assert not (stopped(1, 100_000, 5) or stopped(None, None, None) or stopped(0, 0, 0))
    inside = {one["Id"]: one["MetricStat"] for one in properties["Metrics"] if "MetricStat" in one}
    assert {metric["Metric"]["MetricName"]: metric["Stat"] for metric in inside.values()} == {
        "NumberOfMessagesDeleted": "Sum", "ApproximateNumberOfMessagesVisible": "Maximum", "NumberOfMessagesSent": "Sum"
    }
    periods = {metric["Period"] for metric in inside.values()}
    minutes = stack.default(named(properties["EvaluationPeriods"]))
    # CloudWatch has the figures of a minute a minute later.
    assert periods == {60} and minutes + 1 <= 5
    assert "DatapointsToAlarm" not in properties


def emitted():
    """(metric, names of its dimensions) of all that the functions count: by the stage, and also by the text that the
    record names."""
    found = set()
    stage = code()["metrics"]["stage"]
    for counts in (code()["functions"][function]["counts"] for function in FUNCTIONS):
        for metric in counts["metrics"]:
            found.add((metric, frozenset([stage])))
            found |= {(metric, frozenset([stage, counts["by"]]))} if counts["by"] else set()
    return found


def on_the_dashboard(stack):
    """(namespace, metric, dimensions) of all that the dashboard shows."""
    (dashboard,) = stack.of_type("AWS::CloudWatch::Dashboard").values()
    for widget in json.loads(dashboard["Properties"]["DashboardBody"]["Fn::Sub"])["widgets"]:
        before = []
        for line in widget["properties"].get("metrics", []):
            if isinstance(line[0], dict):
                search = re.fullmatch(r"SEARCH\('\{(\w+),([\w,]+)\} (.+)', '\w+', \d+\)", line[0]["expression"])
                terms = dict(re.findall(r'(\w+)="([^"]+)"', search[3]))
                yield search[1], terms["MetricName"], {name: terms.get(name) for name in search[2].split(",")}
                continue
            # `.` stands for what is above it, `...` for all that is left of it.
            line = [word for word in line if isinstance(word, str)]
            if line[0] == "...":
                line = before[: len(before) - len(line) + 1] + line[1:]
            before = [above if word == "." else word for word, above in zip(line, [*before, *line[len(before) :]])]
            namespace, metric, *dimensions = before
            yield namespace, metric, dict(zip(dimensions[::2], dimensions[1::2]))


def test_metrics_of_ours_are_those_that_the_code_emits(stack):
    namespace = code()["metrics"]["namespace"]
    metrics = emitted()
    assert len(metrics) > 12
    watched = set()
    for name, alarm in alarms(stack).items():
        properties = alarm["Properties"]
        for space, metric, dimensions in metrics_of(properties):
            if not space.startswith("AWS/"):
                assert space == namespace, name
                dimensions = {d["Name"]: named(d["Value"]) for d in dimensions}
                assert dimensions.get("Stage") == "Stage", name
                watched.add((metric, frozenset(dimensions)))
    assert watched <= metrics, f"alarms watch what no code emits: {watched - metrics}"
    shown = set()
    for space, metric, dimensions in on_the_dashboard(stack):
        if not space.startswith("AWS/"):
            assert (space, dimensions.get("Stage")) == (namespace, "${Stage}"), metric
            shown.add((metric, frozenset(dimensions)))
    assert shown <= metrics, f"the dashboard shows what no code emits: {shown - metrics}"
    runbook = read("docs/OPERATIONS.md")
    for metric, _ in metrics:
        assert f"`{metric}`" in runbook, f"docs/OPERATIONS.md does not explain {metric}"
    hidden = {metric for metric, _ in metrics} - {metric for metric, _ in shown}
    assert not hidden, f"not on the dashboard: {hidden}"
    for function in FUNCTIONS:
        environment = stack.properties(function)["Environment"]["Variables"]
        assert named(environment["NAGARE_STAGE"]) == "Stage", function


def test_tables_on_the_dashboard_ask_for_what_is_logged(stack):
    (dashboard,) = stack.of_type("AWS::CloudWatch::Dashboard").values()
    widgets = json.loads(dashboard["Properties"]["DashboardBody"]["Fn::Sub"])["widgets"]
    queries = [widget["properties"]["query"] for widget in widgets if widget["type"] == "log"]
    assert queries
    for query in queries:
        source = re.fullmatch(r"SOURCE '\$\{(\w+)Logs\}' \| .+ by ([\w, ]+) \| sort \w+ desc", query)
        logged = code()["functions"][source[1]]["logs"]
        asked = re.findall(r"(?:filter |(?:ispresent|sum|max|pct)\()(\w+)\b(?!\()", query)
        for field in {*asked, *source[2].split(", ")} - {"message"}:
            assert field in logged, f"{source[1]} logs no {field}"


def test_the_topics_are_encrypted_and_open_to_alarms_only(stack):
    topics = {"AlarmTopic", "NoticeTopic"}
    assert set(stack.of_type("AWS::SNS::Topic")) == topics
    for topic in topics:
        assert named(stack.properties(topic).get("KmsMasterKeyId")) == "AlarmKey.Arn"
    for name, policy in stack.of_type("AWS::SNS::TopicPolicy").items():
        [topic] = [named(one) for one in policy["Properties"]["Topics"]]
        written = [branches(one) for one in policy["Properties"]["PolicyDocument"]["Statement"]]
        statements = [one for choices in written for one in choices if one != {"Ref": "AWS::NoValue"}]
        assert {named(s["Resource"]) for s in statements} == {topic}, name
        allowed = [s for s in statements if s["Effect"] == "Allow"]
        services = [s["Principal"]["Service"] for s in allowed]
        assert services == ["cloudwatch.amazonaws.com"] + (["budgets.amazonaws.com"] if topic == "NoticeTopic" else [])
        for allow in allowed:
            assert allow["Condition"]["StringEquals"] == {"aws:SourceAccount": {"Ref": "AWS::AccountId"}}
        topics.remove(topic)
    assert topics == set(), f"without a policy: {topics}"
    # CloudWatch has to be able to use the topic's key.
    policy = stack.properties("AlarmKey")["KeyPolicy"]["Statement"]
    users = [s["Principal"] for s in policy if "Principal" in s]
    assert {"Service": "cloudwatch.amazonaws.com"} in users
    [[condition, statement, _]] = [s["Fn::If"] for s in policy if "Fn::If" in s]
    assert (condition, statement["Principal"]) == ("UseBudget", {"Service": "budgets.amazonaws.com"})
    assert [named(t) for t in stack.properties("SlackChannel")["SnsTopicArns"]] == ["AlarmTopic", "NoticeTopic"]


def test_the_dashboard_shows_every_alarm(stack):
    (dashboard,) = stack.of_type("AWS::CloudWatch::Dashboard").values()
    body = dashboard["Properties"]["DashboardBody"]["Fn::Sub"]
    widgets = json.loads(body)["widgets"]
    shown = set(re.findall(r"\$\{(\w+)\.Arn\}", json.dumps(widgets)))
    # One that is not there has no ARN.
    assert shown == set(alarms(stack)) - set(EXPECTING)
    for name in re.findall(r"\$\{(\w+)[.}]", body):
        assert name in stack.resources or name in ("AWS", "Stage"), name
    for widget in widgets:
        assert widget["x"] + widget["width"] <= 24


# --- Without the event history --------------------------------------------------------------------


OF_HISTORY = {"HistoryReader", "EventIntake", "HistoryProjector", "PeriodKeeper"}


def without_history(stack):
    """{name: type and properties} of what is there where the history is off, and everything else is on. No reference leads to what is not."""
    given = {"History": "off", "CorsOrigins": "*", "EventCapacity": "provisioned", "Producers": "arn:aws:iam::123456789012:role/producer"}
    given |= {"CanaryDeployment": "true", "ExpectedRequests": "1", "ExpectedCommands": "1"}
    defaults = {name: str(parameter["Default"]) for name, parameter in stack.whole["Parameters"].items()}
    rendering = Rendering(stack.whole, defaults | given)
    outputs = [one for one in stack.whole["Outputs"].values() if "Condition" not in one or rendering.condition(one["Condition"])]
    assert rendering.value([one["Value"] for one in outputs])
    there = {name: one["Type"] for name, one in stack.whole["Resources"].items() if rendering.exists(name)}
    return {name: (kind, rendering.properties(name)) for name, kind in there.items()}


def test_nothing_of_the_event_history_is_there_where_it_is_off(stack):
    """And all else is."""
    assert stack.default("History") == "on"
    assert stack.written["Parameters"]["History"]["AllowedValues"] == ["on", "off"]
    there = without_history(stack)
    of_type = lambda kind: {name: properties for name, (other, properties) in there.items() if other == kind}
    assert set(of_type("AWS::Lambda::Function")) == set(FUNCTIONS) - OF_HISTORY
    left = {name for name in there for function in OF_HISTORY if name.startswith(function)}
    assert not left, f"without their function: {sorted(left)}"
    assert not [name for name, (kind, _) in there.items() if kind.startswith(("AWS::S3::", "AWS::Scheduler::"))]
    assert {f"{function}Role" for function in FUNCTIONS} - set(there) == {f"{function}Role" for function in OF_HISTORY}
    routes = {properties["RouteKey"] for properties in of_type("AWS::ApiGatewayV2::Route").values()}
    wanted = {*code()["api"]["routes"], *REST, *PREFLIGHTS}
    assert routes == {key for key in wanted if "/v1/tenants/" not in key}
    # What nobody else counts, and nobody but they are.
    counted = lambda functions: {metric for name in functions for metric in code()["functions"][name]["counts"]["metrics"]}
    gone = counted(OF_HISTORY) - counted(set(FUNCTIONS) - OF_HISTORY)
    for name, alarm in stack.of_type("AWS::CloudWatch::Alarm").items():
        _, metric, dimensions = metrics_of(alarm["Properties"])[0]
        is_gone = metric in gone or bool(names_in(dimensions) & OF_HISTORY) or name == "EventsBehindAlarm"
        assert (name not in there) == is_gone, name
    widgets = json.loads(there["Dashboard"][1]["DashboardBody"])["widgets"]
    assert len(widgets) > 15 and not any(metric in json.dumps(widgets) for metric in gone)
    policies = json.dumps([properties for kind, properties in there.values() if kind == "AWS::IAM::Role"])
    assert "-events-" not in policies and "s3:" not in policies


# --- How it is used -------------------------------------------------------------------------------


def test_outputs_tell_the_command_line_where_the_stack_is(stack):
    outputs = stack.expanded["Outputs"]
    wanted = set(code()["command_line"])
    assert len(wanted) > 10
    lines = dict(re.findall(r"^export (\w+)=(\S+)$", outputs["Environment"]["Value"]["Fn::Sub"], re.MULTILINE))
    assert wanted <= set(lines), f"not among the outputs: {wanted - set(lines)}"
    for variable, value in lines.items():
        if variable.startswith("NAGARE_"):
            assert variable in wanted | set(code()["functions"]["FanoutWriter"]["variables"]), variable
            output = outputs[variable.title().replace("_", "")]["Value"]
            expected = "${" + named(output) + "}" if named(output) else output["Fn::Sub"]
            assert value == expected, variable


def test_samconfig_has_dev_and_prod(stack):
    config = tomllib.loads(read("samconfig.toml"))
    for environment in ("dev", "prod"):
        deploy = config[environment]["deploy"]["parameters"]
        assert deploy["stack_name"] == f"nagare-{environment}"
        assert deploy["capabilities"] == "CAPABILITY_IAM"
        values = dict(pair.split("=", 1) for pair in deploy["parameter_overrides"])
        assert set(values) <= set(stack.expanded["Parameters"]), environment
        assert values["Stage"] == environment
        # The SAM CLI refuses an empty one.
        assert all(values.values()), environment
    assert config["prod"]["deploy"]["parameters"]["confirm_changeset"] is True
    assert "CanaryDeployment=true" in config["prod"]["deploy"]["parameters"]["parameter_overrides"]
    # Deploying somewhere has to be asked for.
    assert "deploy" not in config["default"]


# Resources that lose their content when they are replaced.
STATEFUL = ("AWS::DynamoDB::Table", "AWS::S3::Bucket", "AWS::SQS::Queue")


def test_no_update_replaces_or_deletes_what_has_state(stack):
    """The policy of the stack names all of it, and the page has the commands that `sam deploy` has no options for."""
    allow, deny = json.loads(read("stack-policy.json"))["Statement"]
    assert (allow["Effect"], allow["Action"], allow["Resource"]) == ("Allow", "Update:*", "*")
    assert (deny["Effect"], deny["Action"], deny["Principal"]) == ("Deny", ["Update:Replace", "Update:Delete"], "*")
    assert deny["Resource"] == [f"LogicalResourceId/{name}" for name in sorted(stack.of_type(*STATEFUL))]
    for page in ("docs/DEPLOYING.md", "samconfig.toml"):
        for command in (
            "update-termination-protection --stack-name nagare-prod --enable-termination-protection",
            "set-stack-policy --stack-name nagare-prod --stack-policy-body file://stack-policy.json",
        ):
            assert f"aws cloudformation {command}" in read(page), f"{page}: {command}"


def test_spending_is_told_of_once_a_budget_is_named(stack):
    assert stack.default("MonthlyBudget") == 0
    [(name, budget)] = stack.of_type("AWS::Budgets::Budget").items()
    assert budget.get("Condition") == "UseBudget"
    assert stack.expanded["Conditions"]["UseBudget"] == {"Fn::Not": [{"Fn::Equals": [{"Ref": "MonthlyBudget"}, "0"]}]}
    assert budget["Properties"]["Budget"]["BudgetLimit"] == {"Amount": {"Ref": "MonthlyBudget"}, "Unit": "USD"}
    notices = budget["Properties"]["NotificationsWithSubscribers"]
    assert {one["Notification"]["NotificationType"] for one in notices} == {"ACTUAL", "FORECASTED"}
    assert [[named(to["Address"]) for to in one["Subscribers"]] for one in notices] == [["NoticeTopic"]] * len(notices)
    # It is refused as long as it may not publish.
    assert budget["DependsOn"] in ("NoticeTopicPolicy", ["NoticeTopicPolicy"])


def test_no_parameter_is_left_to_chance(stack):
    parameters = stack.written["Parameters"]
    for name, parameter in parameters.items():
        assert "Default" in parameter and parameter.get("Description"), name
    secrets = [n for n in parameters if re.search("secret|password|key", n, re.IGNORECASE)]
    assert not secrets, f"secrets are generated, not passed: {secrets}"


def test_no_stage_reaches_what_is_another_s(stack):
    """By none of the patterns that roles and policies have, and by no name that two stages would both have."""
    texts = {text for _, text in walk(stack.expanded["Resources"]) if isinstance(text, str) and "nagare-${Stage}" in text}
    names = {name for text in texts for name in re.findall(r"nagare-\$\{Stage\}[\w.*/-]*", text)}
    assert len(names) > 40 and "nagare-${Stage}-events-*" in names
    words = {word for name in names for word in re.findall(r"[a-z]+", name.removeprefix("nagare-${Stage}"))}
    pattern = stack.expanded["Parameters"]["Stage"]["AllowedPattern"]
    stages = {"prod", *(f"prod{tail}" for word in words for tail in (f"-{word}", f"-{word}-eu", word, f"-{word}s"))}
    stages = {stage for stage in stages if re.fullmatch(pattern, stage)}
    assert "prod" in stages and len(stages) > 3
    own = lambda stage: {name.replace("${Stage}", stage).replace("*", "2026-11") for name in names}
    for stage in stages - {"prod"}:
        for one, other in (("prod", stage), (stage, "prod")):
            reached = {(name, theirs) for name in names for theirs in own(other) if fnmatchcase(theirs, name.replace("${Stage}", one))}
            assert not reached, f"{one} reaches what is {other}'s: {sorted(reached)[:3]}"


# What each pattern takes, and what it refuses.
PATTERNS = {
    "Stage": (["dev", "prod", "prod2", "a", "x" * 16], ["", "prod-eu", "prod-events-eu", "prod_eu", "prod.eu", "Prod", "2nd", "x" * 17]),
    "JwtIssuer": (
        ["", "https://issuer.example.com/", "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_Ab0", "https://localhost:8443/a"],
        ["http://issuer.example.com/", "issuer.example.com", "https://", "https://a/?x=1", "https://a/#b", "https://a b/", " https://a/"],
    ),
    "JwtAudience": (["", "timelines", "a,b", "https://api.example.com/"], [",", "a,", ",a", "a, b", "a b", "a,,b"]),
    "JwtScopes": (["", "timelines:read", "a,b", "https://api/read"], [",", "a,", "a b", "a, b", 'a"b', "a\\b"]),
    "LogLevel": (
        ["info", "off", "warn,timeline_reader=debug", "a::b=trace,error"],
        ["", "INFO", "verbose", "info,", "a=", "=info", "info debug", "info;rm"],
    ),
}


def test_parameters_are_checked_before_anything_is_deployed(stack):
    for name, (taken, refused) in PATTERNS.items():
        pattern = stack.expanded["Parameters"][name].get("AllowedPattern", "")
        assert pattern.startswith("^") and pattern.endswith("$"), name
        for value in taken:
            assert re.fullmatch(pattern, value), f"{name} refuses {value!r}"
        for value in refused:
            assert not re.fullmatch(pattern, value), f"{name} takes {value!r}"
        assert re.fullmatch(pattern, stack.default(name)), name
        assert stack.expanded["Parameters"][name]["ConstraintDescription"], name


# --- What it costs --------------------------------------------------------------------------------


def test_the_bill_is_of_this_template(stack):
    """`nagare estimate` knows by itself what is paid for and how large it is."""
    bill = code()["bill"]
    assert bill["alarm_metrics"] == sum(len(metrics_of(a["Properties"])) for name, a in alarms(stack).items() if name not in EXPECTING)
    without = [properties for name, (kind, properties) in without_history(stack).items() if kind == "AWS::CloudWatch::Alarm" and name in set(alarms(stack)) - set(EXPECTING)]
    assert bill["alarm_metrics_without_history"] == sum(len(metrics_of(properties)) for properties in without)
    assert bill["secrets"] == len(stack.of_type("AWS::SecretsManager::Secret"))
    assert bill["keys"] == len(stack.of_type("AWS::KMS::Key"))
    for function, memory in (("FanoutWriter", "writer"), ("TimelineReader", "reader"), ("HistoryReader", "reader"), ("Projector", "projector"), ("HistoryProjector", "projector")):
        assert bill[f"{memory}_memory"] == stack.properties(function)["MemorySize"], function
    assert bill["log_one_in"] == stack.default("LogOneIn")
    form = stack.properties("HttpApiStage")["AccessLogSettings"]["Format"]["Fn::If"][1]
    values = {"requestId": "JKJaXmPLvHcESHA=", "authorizer.claims.sub": "viewer-00012", "status": "200", "error.responseType": "-", "responseLatency": "12"}
    assert bill["access_line"] == len(re.sub(r"\$context\.([A-Za-z.]+)", lambda found: values[found[1]], form))

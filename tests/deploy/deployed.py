"""The deployed stack as the tests see it: what `sam deploy` printed as outputs, and what those lead to.

docs/TESTING.md lists where the emulator is not AWS; `by_path` and `poll` are what has to be done about it.
"""

import json
import os
import ssl
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from conftest import DEADLINE, EXPORT, ROOT, Answer, Stack, single

STACK = "nagare-dev"


class Deployed(Stack):
    """The stack, for somebody with these credentials: by default who deployed it."""

    def __init__(self, session=None, name=STACK):
        self.session, self.name = session or boto3.Session(), name
        [stack] = boto3.client("cloudformation").describe_stacks(StackName=name)["Stacks"]
        self.outputs = {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}
        self.exports = dict(by_path(name, value) for name, value in exports(self.outputs["Environment"]))
        self.queue_url = self.exports["NAGARE_QUEUE_URL"]
        self.table = self.exports["NAGARE_TIMELINES_TABLE"]
        self.sqs, self.dynamodb = self.session.client("sqs"), self.session.client("dynamodb")
        self.env = os.environ | self.exports | credentials(self.session)

    def request(self, target, method="GET", headers=None, data=None):
        """A request as backends make it, signed; `headers` with another Authorization are sent as they are."""
        request = AWSRequest(method, self.exports["NAGARE_API_URL"] + target, headers or {}, data)
        if "Authorization" not in request.headers:
            keys = self.session.get_credentials()
            SigV4Auth(keys, "execute-api", self.session.region_name).add_auth(request)
        return self.fetch(method, target, dict(request.headers.items()), data)

    def fetch(self, method, target, headers=None, data=None):
        """A request just as it is."""
        url = self.exports["NAGARE_API_URL"] + target
        request = urllib.request.Request(url, data, headers or {}, method=method)
        trust = ssl.create_default_context(cafile=os.environ["AWS_CA_BUNDLE"])
        try:
            answer = urllib.request.urlopen(request, timeout=DEADLINE, context=trust)
        except urllib.error.HTTPError as refused:
            answer = refused
        with answer:
            return Answer(answer.status, single(answer.headers.items()), answer.read().decode())


def deploy(*parameters, name=STACK):
    """Deploys what was built with these parameters, and the writer's concurrency of `dev`."""
    given = ["--stack-name", name, "--parameter-overrides", *parameters, "WriterMaximumConcurrency=2"]
    command = ["sam", "deploy", "--config-env", "dev", "--no-progressbar", *given]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def exports(lines):
    """The names and values of `export` lines."""
    for line in lines.splitlines():
        match = EXPORT.match(line)
        assert match, f"not an export line: {line}"
        yield match[1], next(group for group in match.groups()[1:] if group is not None)


def by_path(name, value):
    """The API's address in the form that needs no DNS: the emulator serves https://ID.execute-api.localhost
    below a path of its own, too."""
    if name != "NAGARE_API_URL":
        return name, value
    api, _, host = urllib.parse.urlsplit(value).netloc.partition(".execute-api.")
    return name, f"https://{host}/_aws/execute-api/{api}/$default"


def credentials(session):
    keys = session.get_credentials()
    return {"AWS_ACCESS_KEY_ID": keys.access_key, "AWS_SECRET_ACCESS_KEY": keys.secret_key}


def let_batches(stack):
    """Lets the writer and the intake send batches. On AWS a batch needs no permission of its own, so the template names none; the
    emulator asks for one."""
    queue = stack.outputs["CommandQueueArn"]
    let_send_batches(stack, "FanoutWriterRole", queue, queue.replace("-commands", "-dead-letters"))
    if stack.exports["NAGARE_HISTORY"] == "on":
        let_send_batches(stack, "EventIntakeRole", queue)


def let_send_batches(stack, named, *queues):
    iam = boto3.client("iam")
    named = f"{stack.name}-{named}"
    [role] = [role["RoleName"] for role in iam.list_roles()["Roles"] if role["RoleName"].startswith(named)]
    statement = {"Effect": "Allow", "Action": "sqs:SendMessageBatch", "Resource": queues}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_role_policy(RoleName=role, PolicyName="batches", PolicyDocument=policy)


def let_streams_be_mapped():
    """Lets the keeper map streams. The template allows it for the history projector alone, by a condition on the function that the
    emulator does not know."""
    iam = boto3.client("iam")
    [role] = [role["RoleName"] for role in iam.list_roles()["Roles"] if "PeriodKeeperRole" in role["RoleName"]]
    actions = [f"lambda:{action}EventSourceMapping" for action in ("Create", "Get", "Delete")] + ["lambda:ListEventSourceMappings"]
    policy = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]})
    iam.put_role_policy(RoleName=role, PolicyName="mappings", PolicyDocument=policy)


def tell_the_shard(stack):
    """Tells the projectors which shard their events are of, and has the stream of the facts invoke those. AWS says so in each event of a
    mapping with a window; the emulator's streams have one shard, and its events do not name it."""
    names = invoke_the_latest(stack.exports["NAGARE_FACTS_TABLE"])
    assert len(names) == 2, names
    functions = boto3.client("lambda")
    for name in names:
        variables = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
        variables["NAGARE_ONLY_SHARD"] = "shardId-0"
        functions.update_function_configuration(FunctionName=name, Environment={"Variables": variables})


def invoke_the_latest(table):
    """Has the stream of a table invoke functions and not their aliases, which have the variables that were deployed. Returns their names."""
    names = []
    for mapping in mappings(table):
        name = mapping["FunctionArn"].split(":function:")[1].split(":")[0]
        boto3.client("lambda").update_event_source_mapping(UUID=mapping["UUID"], FunctionName=name)
        names.append(name)
    return names


def mappings(table):
    """What the stream of a table invokes."""
    stream = boto3.client("dynamodb").describe_table(TableName=table)["Table"]["LatestStreamArn"]
    return boto3.client("lambda").list_event_source_mappings(EventSourceArn=stream)["EventSourceMappings"]


def keep(stack):
    """Has the keeper look at all periods, as its schedule does. What it finds it says in its rows."""
    functions = boto3.client("lambda")
    named = [one["FunctionName"] for one in functions.list_functions()["Functions"] if "PeriodKeeper" in one["FunctionName"]]
    [name] = named
    answer = functions.invoke(FunctionName=name, Payload=b"{}")
    said = answer["Payload"].read().decode()
    assert "FunctionError" not in answer, said
    return {row["period"]: row for row in stack.cli_json("events", "periods", "--json")}


def poll(stack, concurrency):
    """Sets the writer's concurrency to what it is, as a number. Without it the emulator's poller stops at the
    text that it kept from the template's parameter; AWS makes a number of it."""
    mappings = boto3.client("lambda").list_event_source_mappings(
        EventSourceArn=stack.outputs["CommandQueueArn"]
    )["EventSourceMappings"]
    [mapping] = mappings
    assert int(mapping["ScalingConfig"]["MaximumConcurrency"]) == concurrency
    boto3.client("lambda").update_event_source_mapping(
        UUID=mapping["UUID"], ScalingConfig={"MaximumConcurrency": concurrency}
    )
    let_batches(stack)

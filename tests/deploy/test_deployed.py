"""What `sam deploy` made, tried through its queue and its API, and `nagare` pointed at it."""

import base64
import hmac
import json
import re
import subprocess
import time
import urllib.request
from contextlib import contextmanager

import boto3
import pytest
from botocore.exceptions import ClientError
from conftest import (
    NAGARE, delete, follow, hit, ids, instant, join, like, open_battle, open_poll, profile, publish, say, tag, unfollow, unique,
    unsay, untag, until,
    update, vote,
)
from deployed import Deployed, deploy, poll, tell_the_shard


@pytest.fixture(scope="module")
def owner():
    """The stack for who deployed it."""
    stack = Deployed()
    poll(stack, concurrency=2)
    tell_the_shard(stack)
    return stack


@pytest.fixture(scope="module")
def stack(owner):
    """The stack for a backend: somebody who may send commands and read timelines, and nothing else."""
    iam = boto3.client("iam")
    iam.create_user(UserName="backend")
    statements = [
        # On AWS a batch needs no permission of its own; the emulator asks for one.
        allow(["sqs:SendMessage", "sqs:SendMessageBatch", "sqs:GetQueueAttributes"], owner.outputs["CommandQueueArn"]),
        allow(["sqs:GetQueueAttributes"], owner.outputs["CommandQueueArn"].replace("-commands", "-dead-letters")),
        allow(["execute-api:Invoke"], "arn:aws:execute-api:*:*:*/*/GET/v1/timelines/*"),
    ]
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.put_user_policy(UserName="backend", PolicyName="backend", PolicyDocument=policy)
    key = iam.create_access_key(UserName="backend")["AccessKey"]
    return Deployed(boto3.Session(key["AccessKeyId"], key["SecretAccessKey"]))


def allow(actions, resource):
    return {"Effect": "Allow", "Action": actions, "Resource": resource}


def test_commands_take_effect_and_are_taken_back(stack):
    bob, anna, live = unique("viewer"), unique("actor"), unique("live")
    stack.apply(follow(bob, anna), publish(anna, live, instant(minutes=-1), kind="live", payload={"n": 1.5}))
    [item] = stack.page(bob)["items"]
    assert (item["activity_id"], item["kind"], item["payload"]) == (live, "live", {"n": 1.5})
    stack.apply(update(anna, live, "part 2"))
    assert [one["payload"] for one in stack.page(bob)["items"]] == ["part 2"]
    stack.apply(unfollow(bob, anna))
    assert stack.timeline(bob) == []
    stack.apply(follow(bob, anna))
    assert stack.timeline(bob) == [live]
    stack.apply(delete(anna, live))
    assert stack.timeline(bob) == []


def test_pages_follow_one_another_by_their_cursors(stack):
    bob, anna = unique("viewer"), unique("actor")
    names = [unique("post") for _ in range(5)]
    stack.send(follow(bob, anna), *(publish(anna, name, instant(minutes=n - 9)) for n, name in enumerate(names)))
    stack.drain()
    pages = stack.walk(bob, limit=2)
    assert [ids(page) for page in pages] == [names[:2:-1], names[2:0:-1], names[:1]]
    late = unique("post")
    stack.apply(publish(anna, late, instant(seconds=-1)))
    assert ids(stack.page(bob, cursor=pages[0]["newer_cursor"])) == [late]
    assert stack.get(bob, {"cursor": pages[0]["newer_cursor"][:-1]}).status == 400


def test_nobody_reads_without_a_signature(stack):
    for target in (f"/v1/timelines/{unique('viewer')}", "/"):
        answer = stack.fetch("GET", target)
        assert answer.status == 403, answer.text


def test_a_forged_signature_is_refused(stack):
    key = stack.session.get_credentials().access_key
    forger = Deployed(boto3.Session(key, "not the secret"))
    assert forger.get(unique("viewer")).status == 403


def test_a_poison_message_becomes_a_dead_letter_that_a_redrive_does_not_lose(owner):
    [sent] = owner.send("poison")
    letter = owner.dead_letter(sent)
    assert letter["reason"] == "not-json" and letter["receive_count"] == 1 and letter["verified"]
    owner.cli("dead-letters", "redrive", sent)
    again = until(lambda: [one for one in owner.dead_letters() if one["stored_at"] > letter["stored_at"]],
                  "the letter to come back")
    assert [one["id"] for one in again] == [sent]
    owner.cli("dead-letters", "drop", sent)
    assert owner.dead_letters() == []


def test_what_is_put_on_the_dead_letter_queue_is_in_effect_only_if_an_operator_names_it(owner):
    """The queue's policy refuses whoever is none of its functions, even who deployed it; without it nothing vouches for the letter."""
    bob, anna, late = unique("viewer"), unique("actor"), unique("late")
    owner.apply(follow(bob, anna))
    dead = owner.exports["NAGARE_DEAD_LETTER_QUEUE_URL"]
    command = {"QueueUrl": dead, "MessageBody": json.dumps(publish(anna, late, instant(minutes=-1)))}
    with pytest.raises(ClientError) as refused:
        owner.sqs.send_message(**command)
    assert "AccessDenied" in refused.value.response["Error"]["Code"]
    with without_its_policy(owner.sqs, dead):
        sent = owner.sqs.send_message(**command)["MessageId"]
    letter = owner.dead_letter(sent)
    assert (letter["reason"], letter["verified"]) == ("receives-exhausted", False)
    owner.cli("dead-letters", "redrive", "--all")
    assert owner.dead_letter(sent)["verified"] is False and owner.timeline(bob) == []
    owner.cli("dead-letters", "redrive", sent)
    until(lambda: owner.timeline(bob) == [late], "the command to take effect")
    assert owner.dead_letters() == []


@contextmanager
def without_its_policy(sqs, queue):
    """A queue whose policy somebody has taken off."""
    kept = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["Policy"])["Attributes"]["Policy"]
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": ""})
    try:
        yield
    finally:
        sqs.set_queue_attributes(QueueUrl=queue, Attributes={"Policy": kept})


def test_tags_before_and_after_their_publish(owner):
    anna, image, bob, eve = unique("actor"), unique("img"), unique("viewer"), unique("viewer")
    owner.apply(tag(image, bob))
    owner.apply(publish(anna, image, instant(days=-90)), profile(bob, {"name": "Bob"}))
    owner.apply(tag(image, eve))
    people = [{"tagged_id": bob, "profile": {"name": "Bob"}}, {"tagged_id": eve, "profile": None}]
    tagged = lambda viewer: [item["activity_id"] for item in owner.read(f"/v1/viewers/{viewer}/tagged")["items"]]
    tags = lambda: owner.read(f"/v1/activities/{image}/tags")["items"]
    until(lambda: tags() == sorted(people, key=lambda item: item["tagged_id"]), "both to be tagged")
    assert [tagged(bob), tagged(eve)] == [[image], [image]]
    owner.apply(untag(image, eve))
    until(lambda: tagged(eve) == [], "the untag to take effect")
    owner.apply(delete(anna, image))
    until(lambda: (tagged(bob), tags()) == ([], []), "the delete to take effect")
    assert owner.dead_letters() == []


def test_likes_are_counted_and_their_actor_is_told(owner):
    anna, live = unique("actor"), unique("live")
    viewers = [unique("viewer") for _ in range(3)]
    owner.apply(publish(anna, live, instant(minutes=-1)), *(like(viewer, live) for viewer in viewers))
    until(lambda: owner.read(f"/v1/activities/{live}")["likes"]["count"] == 3, "the likes to be counted")
    told = owner.read(f"/v1/notifications/{anna}")
    [item] = told["items"]
    assert (told["unread_count"], item["count"], item["through"], item["state"]) == (3, 3, 3, "unread")
    mark = {"notification_id": item["notification_id"], "through": item["through"]}
    owner.apply({"type": "notifications.read", "viewer_id": anna, "read": [mark]})
    until(lambda: owner.read(f"/v1/notifications/{anna}")["unread_count"] == 0, "the mark to take effect")
    owner.apply(like(unique("viewer"), live))
    until(lambda: owner.read(f"/v1/notifications/{anna}")["unread_count"] == 1, "the next like")
    states = [(item["state"], item["count"]) for item in owner.read(f"/v1/notifications/{anna}")["items"]]
    assert sorted(states) == [("read", 3), ("unread", 1)]
    assert [item["activity_id"] for item in owner.read(f"/v1/viewers/{viewers[0]}/likes")["items"]] == [live]
    assert owner.dead_letters() == []


def test_a_room_and_its_members(owner):
    room, anna, bob = unique("room"), unique("viewer"), unique("viewer")
    path = f"/v1/rooms/{room}/messages"
    said = [say(room, f"m{n}", anna, instant(seconds=n - 30), payload={"n": n}) for n in range(4)]
    owner.apply(unsay(room, "m1", anna), *said)
    shown = lambda query="limit=20": [item["message_id"] for item in owner.read(f"{path}?{query}")["items"]]
    assert (shown(), shown(f"order=oldest&author={anna}&limit=2"), shown(f"author={bob}")) == (["m3", "m2", "m0"], ["m0", "m2"], [])
    newer = owner.read(path)["newer_cursor"]
    owner.apply(say(room, "m4", bob), join(room, anna, instant(seconds=-9)))
    assert shown(f"cursor={newer}&viewer={anna}") == ["m4"]
    assert owner.request(f"{path}?viewer={bob}").status == 403
    assert owner.dead_letters() == []


def test_a_poll_and_a_battle(owner):
    """Votes and hits that come before what they are of, more viewers than one transaction has room for, and a last hit."""
    anna, poll, battle, viewers = unique("actor"), unique("poll"), unique("battle"), [unique("viewer") for _ in range(14)]
    opened = open_poll(anna, poll, ["red", "blue"], instant(minutes=-5), instant(minutes=5))
    votes = [vote(viewer, poll, "red" if n % 2 else "blue", instant(minutes=-1)) for n, viewer in enumerate(viewers)]
    hits = [hit(viewer, battle, f"h-{n}", 10, instant(minutes=-1)) for n, viewer in enumerate(viewers)]
    owner.send(*votes[:3], *hits[:3])
    owner.drain()
    owner.apply(opened, open_battle(anna, battle, 125))
    owner.send(*votes, *hits)
    owner.drain()
    until(lambda: owner.read(f"/v1/polls/{poll}")["votes"] == 14, "the votes to be counted")
    assert [one["votes"] for one in owner.read(f"/v1/polls/{poll}")["choices"]] == [7, 7]
    assert owner.read(f"/v1/polls/{poll}?viewer={viewers[1]}")["vote"] == "red"
    until(lambda: owner.read(f"/v1/battles/{battle}")["state"] == "defeated", "the boss to be defeated")
    fought = owner.read(f"/v1/battles/{battle}")
    assert (fought["hp_left"], fought["hits"]) == (0, 13)
    state = lambda n: owner.read(f"/v1/battles/{battle}/hits/h-{n}")["state"]
    until(lambda: "pending" not in map(state, range(14)), "all hits to be decided")
    assert sorted(map(state, range(14))) == ["landed"] * 13 + ["late"]
    last = next(n for n in range(14) if fought["last_hit"]["hit_id"] == f"h-{n}")
    share = owner.read(f"/v1/battles/{battle}?viewer={viewers[last]}")["viewer"]
    assert state(last) == "landed" and share == {"hits": 1, "damage": 10}
    # Taken back and closed, and another hit: all of that late.
    owner.apply(vote(viewers[1], poll, None, instant(seconds=-1)), hit(viewers[0], battle, "h-late", 1))
    until(lambda: owner.read(f"/v1/polls/{poll}")["votes"] == 13, "a vote to be taken back")
    owner.apply({"type": "poll.closed", "poll_id": poll, "actor_id": anna, "at": instant(minutes=-2)})
    until(lambda: owner.read(f"/v1/polls/{poll}")["votes"] == 0, "the poll to be closed")
    assert owner.read(f"/v1/polls/{poll}")["state"] == "closed"
    assert state("late") == "late" and owner.read(f"/v1/battles/{battle}") == fought
    assert owner.dead_letters() == []


def test_the_command_line_works_with_the_outputs(owner):
    bob, anna, live = unique("viewer"), unique("actor"), unique("live")
    owner.cli("follow", bob, anna)
    owner.cli("publish", "--actor", anna, "--activity", live)
    owner.drain()
    assert owner.timeline(bob) == [live]
    owner.cli("audit", "--viewer", bob)


def test_the_command_line_signs_what_it_reads(stack):
    """With what the outputs say, and with ids, ranges and cursors that have to be escaped."""
    bob, anna, names = unique("viewer:a@b"), unique("actor"), [unique("live") for _ in range(3)]
    at = [instant(minutes=-minutes) for minutes in (1, 2, 3)]
    stack.apply(follow(bob, anna), *(publish(anna, name, when) for name, when in zip(names, at)))
    options = ["--json", "--all", "--limit", "2", "--from", at[-1].replace("Z", "+00:00")]
    assert [one["activity_id"] for one in stack.cli_json("timeline", bob, *options)] == names
    stack.env, kept = stack.env | {"AWS_SECRET_ACCESS_KEY": "not the secret"}, stack.env
    try:
        assert "403" in stack.cli("timeline", bob, code=1).stderr
    finally:
        stack.env = kept


@contextmanager
def console(stack):
    """The console of the stack for somebody; what it answers below its address."""
    process = subprocess.Popen([NAGARE, "console", "--port", "0"], env=stack.env, stdout=subprocess.PIPE, text=True)
    try:
        said = process.stdout.readline()
        assert "account 000000000000 in us-east-1" in said and "only looks" in said, said
        entrance = said.split(" is at ")[1].split()[0]
        address = entrance.partition("?")[0]
        open_url = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor()).open
        open_url(entrance, timeout=60).close()
        yield lambda path: open_url(address + path, timeout=60).read().decode()
    finally:
        process.terminate()
        assert process.wait(30) == 0


def test_the_console_reads_the_tables_of_the_account_and_says_what_it_may_not(owner, stack):
    bob, anna, live = unique("viewer"), unique("actor"), unique("live")
    owner.apply(follow(bob, anna), publish(anna, live, instant(seconds=-1)))
    with console(owner) as page:
        timeline = page(f"timeline?viewer={bob}")
        units = re.search(r"<dt>read units</dt><dd>([\d.]+)</dd>", timeline)
        assert live in timeline and float(units[1]) > 0
        assert all("CloudWatch has this" in page(path) for path in ("log", "numbers"))
    with console(stack) as page:
        shown = page(f"timeline?viewer={bob}")
        assert "not permitted" in shown and "dynamodb:" in shown, shown


def test_the_status_says_how_far_behind_the_stack_is_and_its_check_fails(owner, stack):
    # The emulator counts neither the age of its messages nor log lines.
    def tell(namespace, metric, dimension, of, value):
        datum = {"MetricName": metric, "Dimensions": [{"Name": dimension, "Value": of}], "Value": value, "Timestamp": time.time() - 60}
        boto3.client("cloudwatch").put_metric_data(Namespace=namespace, MetricData=[datum])

    queue = owner.exports["NAGARE_QUEUE_URL"].rpartition("/")[2]
    tell("AWS/SQS", "ApproximateAgeOfOldestMessage", "QueueName", queue, 95.0)
    tell("Nagare", "ProjectionLag", "Stage", "dev", 12_500.0)
    [status] = owner.cli_json("status", "--json")
    behind = status["backlog"]
    assert (behind["oldest_command_seconds"], behind["projection_lag_seconds"]) == (95, 12.5)
    said = owner.cli("status", "--check", code=1).stderr
    assert "a command has waited for 95 s" in said and "views are 12 s behind" in said, said
    # Without the permission, the answer is not "nothing waits".
    assert "cloudwatch:GetMetricData" in stack.cli("status", "--check", code=3).stdout


def test_a_dead_letter_of_a_producer_raises_the_notice_which_reaches_a_subscriber_and_wakes_nobody(owner):
    inbox = subscriber(owner.outputs["NoticeTopicArn"])
    cloudwatch = boto3.client("cloudwatch")
    names = ["nagare-dev-any-dead-letters", "nagare-dev-dead-letters"]
    alarms = {one["AlarmName"]: one for one in cloudwatch.describe_alarms(AlarmNames=names)["MetricAlarms"]}
    alarm, page = (alarms[name] for name in names)
    assert alarm["AlarmActions"] == [owner.outputs["NoticeTopicArn"]] and page["AlarmActions"] == [owner.outputs["AlarmTopicArn"]]
    assert alarm["StateValue"] != "ALARM"
    [sent] = owner.send("poison")
    owner.dead_letter(sent)
    # The emulator makes no metric of the alerter's line, and its alarms count the data of all dimensions
    # together. So this is done here as CloudWatch does it: the line makes one datum for each of its sets of
    # dimensions, and the alarm sees those that are exactly what it watches.
    watched = (alarm["Namespace"], alarm["MetricName"], alarm["Dimensions"])
    seen = [datum for namespace, datum in counted(sent)
            if (namespace, datum["MetricName"], datum["Dimensions"]) == watched]
    assert seen, f"the alarm watches {watched}, which the alerter does not count"
    assert page["MetricName"] not in [datum["MetricName"] for _, datum in counted(sent)], "nobody is woken for it"
    cloudwatch.put_metric_data(Namespace=alarm["Namespace"], MetricData=seen)
    told = received(inbox)
    assert (told["AlarmName"], told["NewStateValue"]) == (alarm["AlarmName"], "ALARM")
    owner.cli("dead-letters", "drop", sent)


def subscriber(topic):
    """A queue that the topic sends to."""
    sqs = boto3.client("sqs")
    url = sqs.create_queue(QueueName="subscriber")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = {"Statement": [allow(["sqs:SendMessage"], arn) | {"Principal": {"Service": "sns.amazonaws.com"}}]}
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": json.dumps(policy)})
    boto3.client("sns").subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)
    return url


def received(url):
    """What the alarm told its subscribers."""
    take = lambda: boto3.client("sqs").receive_message(QueueUrl=url, WaitTimeSeconds=1).get("Messages")
    [message] = until(take, "the alarm's message")
    return json.loads(json.loads(message["Body"])["Message"])


def counted(letter):
    """The metric data that the alerter's log states for a dead letter, each with its namespace: one for each
    metric and each set of dimensions of its lines in CloudWatch's embedded format."""
    lines = until(lambda: metric_lines(letter), f"the alerter's lines on {letter}")
    return [
        (directive["Namespace"], {
            "MetricName": metric["Name"],
            "Dimensions": [{"Name": name, "Value": line[name]} for name in dimensions],
            "Timestamp": line["_aws"]["Timestamp"] / 1000,
            "Value": line[metric["Name"]],
        })
        for line in lines
        for directive in line["_aws"]["CloudWatchMetrics"]
        for metric in directive["Metrics"]
        for dimensions in directive["Dimensions"]
    ]


def metric_lines(letter):
    """The metric lines of the invocation that kept this letter."""
    events = boto3.client("logs").filter_log_events(logGroupName="/aws/lambda/nagare-dev-dlq-alerter")["events"]
    streams = {event["logStreamName"] for event in events if letter in event["message"]}
    inside = [event["message"] for event in events if event["logStreamName"] in streams]
    return [json.loads(line) for line in inside if '"_aws"' in line]


# More than the writer reads at once, so that a publish is cut into parts, which it seals and sends to itself.
FANS = 2_600


def test_secrets_are_rotated_as_the_runbook_says(owner, stack):
    """docs/OPERATIONS.md, "Rotating the cursor secret" and "Rotating the internal secret", step by step and both at
    once: they share nothing but the deployments."""
    bob, star = unique("viewer"), unique("star")
    posts = [unique("post") for _ in range(3)]
    stack.send(follow(bob, star), *(publish(star, name, instant(minutes=n - 9)) for n, name in enumerate(posts)))
    fans = "".join(f"{unique('fan')},{star}\n" for _ in range(FANS))
    owner.cli("follows", "import", "-", stdin="follower,followee\n" + fans, timeout=600)
    owner.drain(600)

    old, by_old = secrets(owner), stack.page(bob, limit=1)["next_cursor"]

    deploy_again(owner, "CursorSeal=second", "InternalSeal=second")
    new, by_new = secrets(owner), stack.page(bob, limit=1)["next_cursor"]
    # In a canary the old version and the new one answer side by side. The emulator keeps one, but what each of
    # them was told shows that they open the same: what sealed, opens, and the other way round.
    assert new == {function: pair[::-1] for function, pair in old.items()}
    assert [stack.get(bob, {"cursor": one}).status for one in (by_old, by_new)] == [200, 200]
    assert is_applied(owner, sealed(old["FanoutWriterName"][0], follow(unique("fan"), star)))
    check_large_publish(owner, star)

    deploy_again(owner, "CursorSeal=second", "FirstCursorSealGeneration=1", "InternalSeal=second", "FirstInternalSealGeneration=1")
    last, by_last = secrets(owner), stack.page(bob, limit=1)["next_cursor"]
    for function, (seals, opens) in last.items():
        assert seals == new[function][0] and opens not in old[function]
    assert [stack.get(bob, {"cursor": one}).status for one in (by_old, by_new, by_last)] == [400, 200, 200]
    assert not is_applied(owner, sealed(old["FanoutWriterName"][0], follow(unique("fan"), star)))
    assert is_applied(owner, sealed(new["FanoutWriterName"][0], follow(unique("fan"), star)))
    check_large_publish(owner, star)


def deploy_again(owner, *parameters):
    """Deploys with these parameters, besides those that samconfig.toml has for `dev`."""
    deploy("Stage=dev", "Authorization=iam", "LogRetentionDays=7", *parameters)
    poll(owner, concurrency=2)


# The variables of a function that hold its secrets: the one that seals, and the other one that opens too.
SECRETS = {
    "TimelineReaderName": ("NAGARE_CURSOR_SECRET", "NAGARE_OTHER_CURSOR_SECRET"),
    "HistoryReaderName": ("NAGARE_CURSOR_SECRET", "NAGARE_OTHER_CURSOR_SECRET"),
    "FanoutWriterName": ("NAGARE_INTERNAL_SECRET", "NAGARE_OTHER_INTERNAL_SECRET"),
    "DlqAlerterName": ("NAGARE_INTERNAL_SECRET", "NAGARE_OTHER_INTERNAL_SECRET"),
}


def secrets(owner):
    """What the functions were told: for each, the secret that seals and the other one."""
    told = {}
    for function, names in SECRETS.items():
        configuration = boto3.client("lambda").get_function_configuration(
            FunctionName=owner.outputs[function], Qualifier="live"
        )
        told[function] = [configuration["Environment"]["Variables"][name] for name in names]
        assert len(set(told[function])) == 2 and all(len(secret) == 64 for secret in told[function])
    return told


def sealed(secret, command):
    """A command that the writer hands on to itself, as it seals it with this secret (shared/src/command/internal.rs)."""
    rest = json.dumps({"type": "command.continued", "origin": unique("message"), "command": command})
    mac = hmac.digest(secret.encode(), b"nagare internal command\0" + rest.encode(), "sha256")[:16]
    seal = base64.urlsafe_b64encode(mac).decode().rstrip("=")
    return f'{{"type":"internal","seal":"{seal}","command":{rest}}}'


def is_applied(owner, body):
    """True if a sealed follow takes effect, and false if it is a dead letter, of a type that nobody knows."""
    viewer = json.loads(body)["command"]["command"]["follower_id"]
    [sent] = owner.send(body)
    owner.drain()
    applied = owner.timeline(viewer) != []
    letters = owner.dead_letters()
    assert [(one["id"], one["reason"]) for one in letters] == ([] if applied else [(sent, "unknown-type")])
    # The alerter has the writer's secrets, of before and of now.
    assert all(letter["verified"] for letter in letters)
    for letter in letters:
        owner.cli("dead-letters", "drop", letter["id"])
    return applied


def check_large_publish(owner, star):
    """Publishes to all of an actor's followers, by way of parts: every one has to arrive."""
    live = unique("large")
    owner.send(publish(star, live, instant(seconds=-1)))
    owner.drain(600)
    viewers = {entry["viewer_id"] for entry in owner.entries() if entry["sort_key"].endswith(live)}
    assert len(viewers) > FANS
    # It was split indeed, and nothing gave up.
    progress = json.loads(owner.cli("fanout", live, "--json").stdout.splitlines()[-1])
    assert progress["parts"] > 1 and owner.dead_letters() == []

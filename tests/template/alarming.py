"""Which failure raises which alarm, and after how many minutes: each is tried on figures as CloudWatch would have them.

docs/OPERATIONS.md has the same as a table: alarm, topic, what raises it, and the minutes. It lists the alarms of the template and no
others.
"""

import re
import tomllib

import pytest
from check import ROOT, Stack, alarms, named, read
from cloudwatch import Alarm
from expand import expand, source

# With the two that need to know what to expect.
EXPECTED = {"ExpectedRequests": 100, "ExpectedCommands": 20}
BEFORE, AFTER = -120, 240


@pytest.fixture(scope="module")
def stack():
    return Stack(source(), expand({"CanaryDeployment": "true"}))


def dimension(dimensions):
    """The resource that dimensions are of; of one version of a function, `NAME new`."""
    by_name = {one["Name"]: named(one["Value"]) or one["Value"] for one in dimensions}
    if "ExecutedVersion" in by_name:
        return f"{by_name['FunctionName']} new"
    return " ".join(str(value).removesuffix(".QueueName") for value in by_name.values())


def rendered(stack, name):
    def number(value):
        parameter = named(value)
        return float(value) if parameter is None else EXPECTED.get(parameter) or stack.default(parameter)

    def whole(value):
        return int(number(value)) if number(value) == int(number(value)) else number(value)

    return Alarm(stack.properties(name), whole, dimension)


# --- Figures --------------------------------------------------------------------------------------


def each(value, every=1, start=1, until=AFTER):
    """The same in each minute, or in every so many."""
    return {minute: value for minute in range(start, until + 1, every)}


def rising(by, start=1):
    """An age, which grows."""
    return {minute: by * (minute - start + 1) for minute in range(start, AFTER + 1)}


TICK = 15
TABLES = ("TimelinesTable", "LedgerTable", "LedgerTable by_follower", "FactsTable", "ViewsTable", "DeadLettersTable")
FREQUENT = ("FanoutWriter", "TimelineReader", "HistoryReader", "EventIntake", "Projector", "HistoryProjector")


def healthy(traffic=1_000):
    """A stage with so many requests a minute. Like AWS it has no figures for events that do not happen."""
    usual = {
        ("Count", "HttpApi"): traffic,
        ("4xx", "HttpApi"): traffic // 50,
        ("5xx", "HttpApi"): 0,
        ("Latency", "HttpApi"): 50,
        ("NumberOfMessagesSent", "CommandQueue"): traffic // 10,
        ("NumberOfMessagesDeleted", "CommandQueue"): traffic // 10,
        ("ApproximateNumberOfMessagesVisible", "CommandQueue"): 0,
        ("ApproximateAgeOfOldestMessage", "CommandQueue"): 1,
        ("ApproximateAgeOfOldestMessage", "DeadLetterQueue"): 0,
        ("CommandsApplied", "Stage"): traffic // 10,
        ("FanOutLatency", "Stage"): 2_000,
        ("ProjectionLag", "Stage"): 300,
        ("IteratorAge", "Projector"): 300,
        ("IteratorAge", "HistoryProjector"): 300,
    }
    for function in FREQUENT:
        calls = {"TimelineReader": traffic * 18 // 20, "HistoryReader": traffic // 20, "EventIntake": traffic // 20}.get(function, traffic // 10)
        usual |= {("Invocations", function): calls, ("Errors", function): 0}
    for table in TABLES:
        usual |= {("ConsumedWriteCapacityUnits", table): traffic, ("ConsumedReadCapacityUnits", table): traffic}
    figures = {key: each(value, start=BEFORE) for key, value in usual.items() if traffic}
    ticks = {"Invocations": "PeriodKeeper", "Errors": "PeriodKeeper"}
    figures |= {(metric, of): each(int(metric == "Invocations"), TICK, BEFORE + 1) for metric, of in ticks.items()}
    for metric in ("KeeperTicks", "FailedSteps", "DisputedPeriods", "UnmadePeriods", "MarkedPeriods", "UndecidedRules"):
        figures[(metric, "Stage")] = each(int(metric == "KeeperTicks"), TICK, BEFORE + 1)
    return figures


def broken(changes, traffic=1_000):
    """The same until minute 0, then with these figures."""
    figures = healthy(traffic)
    for key, values in changes.items():
        before = {minute: value for minute, value in figures.get(key, {}).items() if minute < 1}
        figures[key] = before | values
    return figures


NONE = {}
CRASH = each(100)
TICKS = {"every": TICK, "start": 1}


def crashes(function):
    return {("Errors", function): CRASH}


def throttles(function):
    return {("Throttles", function): CRASH, ("Invocations", function): NONE, ("Errors", function): NONE}


def refused(table, what):
    return {(f"{what}ThrottleEvents", table): each(1_000)}


def found(metric):
    return {(metric, "Stage"): each(1, **TICKS)}


# The figures from minute 1 on. Metrics that are not named stay as before.
FAILURES = {
    # No token is good: a wrong issuer, a rotated key. Or ApiRateLimit is 1: no more than 60 a minute pass.
    "api-refused": {("4xx", "HttpApi"): each(1_000), ("Invocations", "TimelineReader"): NONE, ("Invocations", "HistoryReader"): NONE, ("Invocations", "EventIntake"): NONE},
    "api-quiet": {("Count", "HttpApi"): NONE, ("Invocations", "TimelineReader"): NONE, ("Invocations", "HistoryReader"): NONE, ("Invocations", "EventIntake"): NONE},
    "commands-quiet": {("NumberOfMessagesSent", "CommandQueue"): each(0)},
    "writer-stopped": {
        ("NumberOfMessagesDeleted", "CommandQueue"): each(0),
        ("ApproximateNumberOfMessagesVisible", "CommandQueue"): rising(100),
    },
    "commands-age": {("ApproximateAgeOfOldestMessage", "CommandQueue"): rising(60)},
    "commands-refused": {("CommandsUnreadable", "Stage"): each(100), ("CommandsApplied", "Stage"): NONE},
    "dead-letters": {("SystemDeadLetters", "Stage"): {1: 1}},
    "any-dead-letters": {("DeadLetters", "Stage"): {1: 1}},
    "dead-letters-age": {("ApproximateAgeOfOldestMessage", "DeadLetterQueue"): rising(60)},
    "facts-age": {("IteratorAge", "Projector"): rising(60_000)},
    "events-age": {("IteratorAge", "HistoryProjector"): rising(60_000)},
    "projector-stopped": {("Invocations", "Projector"): NONE, ("Errors", "Projector"): NONE, ("IteratorAge", "Projector"): NONE},
    "fanout-writer-errors": crashes("FanoutWriter"),
    "timeline-reader-errors": crashes("TimelineReader"),
    "history-reader-errors": crashes("HistoryReader"),
    "event-intake-errors": crashes("EventIntake"),
    "projector-errors": crashes("Projector"),
    "history-projector-errors": crashes("HistoryProjector"),
    # One letter, retried after six minutes; ticks.
    "dlq-alerter-errors": {("Errors", "DlqAlerter"): each(1, 6), ("Invocations", "DlqAlerter"): each(1, 6)},
    "period-keeper-errors": {("Errors", "PeriodKeeper"): each(1, **TICKS)},
    "fanout-writer-throttles": throttles("FanoutWriter"),
    "timeline-reader-throttles": throttles("TimelineReader"),
    "history-reader-throttles": throttles("HistoryReader"),
    "event-intake-throttles": throttles("EventIntake"),
    "projector-throttles": throttles("Projector"),
    "history-projector-throttles": throttles("HistoryProjector"),
    "dlq-alerter-throttles": {("Throttles", "DlqAlerter"): each(1, 6)},
    "period-keeper-throttles": {("Throttles", "PeriodKeeper"): each(1, **TICKS), ("Invocations", "PeriodKeeper"): NONE},
    "timelines-write-throttles": refused("TimelinesTable", "Write"),
    "ledger-write-throttles": refused("LedgerTable", "Write"),
    "ledger-index-write-throttles": refused("LedgerTable by_follower", "Write"),
    "facts-write-throttles": refused("FactsTable", "Write"),
    "views-write-throttles": refused("ViewsTable", "Write"),
    "dead-letters-write-throttles": refused("DeadLettersTable", "Write"),
    "timelines-read-throttles": refused("TimelinesTable", "Read"),
    "ledger-read-throttles": refused("LedgerTable", "Read"),
    "facts-read-throttles": refused("FactsTable", "Read"),
    "views-read-throttles": refused("ViewsTable", "Read"),
    "api-4xx": {("4xx", "HttpApi"): each(400)},
    "api-5xx": {("5xx", "HttpApi"): each(1_000)},
    "api-failing": {("5xx", "HttpApi"): each(1_000)},
    "events-unsent": {("RequestsUnsent", "Stage"): each(10)},
    "api-latency": {("Latency", "HttpApi"): each(5_000)},
    "fan-out-latency": {("FanOutLatency", "Stage"): each(600_000)},
    "projection-lag": {("ProjectionLag", "Stage"): each(60_000)},
    "period-disputed": found("DisputedPeriods"),
    "period-unmade": found("UnmadePeriods"),
    "erasure-unfinished": found("MarkedPeriods"),
    "rules-undecided": found("UndecidedRules"),
    "keeper-steps": found("FailedSteps"),
    "keeper-stopped": {("KeeperTicks", "Stage"): NONE},
}
PAGES = {"AlarmTopic": "page", "NoticeTopic": "notice"}


def named_alarms(stack):
    """{name without the stage: logical id}"""
    return {stack.properties(name)["AlarmName"]["Fn::Sub"].removeprefix("nagare-${Stage}-"): name for name in alarms(stack)}


def listed():
    """{alarm: (topic, minutes)} as the page has it."""
    section = re.search(r"^## Alarms\n(.*?)^## ", read("docs/OPERATIONS.md"), re.DOTALL | re.MULTILINE)[1]
    rows = re.findall(r"^\| `([a-z0-9-]+)` \| (page|notice) \| .+ \| (\d+) \|$", section, re.MULTILINE)
    assert len({name for name, *_ in rows}) == len(rows), "an alarm is listed twice"
    return {name: (topic, int(minutes)) for name, topic, minutes in rows}


def test_the_page_lists_every_alarm_and_when_it_is_raised(stack):
    by_name = named_alarms(stack)
    assert set(FAILURES) == set(by_name), "a failure for each alarm"
    tried = {}
    for name, resource in by_name.items():
        alarm, figures = rendered(stack, resource), broken(FAILURES[name])
        after = {alarm.raised_after(figures, AFTER, fills_empty) for fills_empty in (True, False)}
        assert len(after) == 1 and None not in after, f"{name} is raised after {after} minutes, by the two readings of FILL"
        [topic] = [named(action) for action in stack.properties(resource)["AlarmActions"]]
        tried[name] = (PAGES[topic], after.pop())
    assert listed() == tried


# Failures that are over in a minute.
SHORT = {"dead-letters", "any-dead-letters"}


def test_an_alarm_lasts_as_long_as_its_failure(stack):
    """Also where the failure leaves a metric without any figure."""
    for name, resource in named_alarms(stack).items():
        alarm, figures = rendered(stack, resource), broken(FAILURES[name])
        for fills_empty in (True, False) if name not in SHORT else ():
            ended = [minute for minute in range(listed()[name][1], AFTER) if not alarm.is_raised(figures, minute, fills_empty)]
            assert not ended, f"{name} ends in minute {ended[0]}"


@pytest.mark.parametrize("fills_empty", [True, False], ids=["FILL of nothing is filled", "FILL of nothing is nothing"])
def test_no_alarm_is_raised_where_nothing_is_wrong(stack, fills_empty):
    """On a busy stage, and on an idle one with one failure of each kind."""
    once = each(1, AFTER, start=30)
    night = {(metric, function): once for metric in ("Errors", "Throttles", "Invocations") for function in (*FREQUENT, "DlqAlerter")}
    night |= {("Errors", "PeriodKeeper"): once, ("5xx", "HttpApi"): once, ("4xx", "HttpApi"): once, ("Count", "HttpApi"): once}
    night |= {(f"{what}ThrottleEvents", table): once for table in TABLES for what in ("Read", "Write")}
    night |= {("CommandsUnreadable", "Stage"): once, ("RequestsUnsent", "Stage"): once, ("FailedSteps", "Stage"): once}
    for figures in (healthy(), broken(night, traffic=0)):
        for name, resource in named_alarms(stack).items():
            # An idle stage expects nothing.
            if name in ("api-quiet", "commands-quiet") and figures[("Count", "HttpApi")] == once:
                continue
            assert rendered(stack, resource).raised_after(figures, AFTER, fills_empty) is None, name


# Figures that one person can cause. Requests with a token reach the functions, whatever they answer.
ONE_PERSON = {
    "a viewer asks a thousand times a second for what is not theirs": {
        ("Count", "HttpApi"): each(61_000), ("4xx", "HttpApi"): each(60_020), ("Invocations", "TimelineReader"): each(60_100),
    },
    "a tenant sends what is refused": {
        ("Count", "HttpApi"): each(61_000), ("4xx", "HttpApi"): each(60_020), ("Invocations", "EventIntake"): each(60_100),
    },
    "a caller without a token asks as often as all others together": {("Count", "HttpApi"): each(2_000), ("4xx", "HttpApi"): each(1_020)},
    "a producer's message is not JSON": {("DeadLetters", "Stage"): {1: 1}, ("CommandsUnreadable", "Stage"): {1: 1}},
    "all that a viewer or a tenant asks for is refused": {("DeadLetters", "Stage"): each(1_000), ("CommandsRefused", "Stage"): each(60_000), ("CommandsApplied", "Stage"): NONE},
}


@pytest.mark.parametrize("name", ONE_PERSON)
def test_one_person_pages_nobody(stack, name):
    for resource in named_alarms(stack).values():
        if [named(action) for action in stack.properties(resource)["AlarmActions"]] == ["AlarmTopic"]:
            assert rendered(stack, resource).raised_after(broken(ONE_PERSON[name]), AFTER) is None, resource


def test_a_total_failure_pages_however_few_requests_there_are(stack):
    figures = {("Count", "HttpApi"): each(1, 4), ("5xx", "HttpApi"): each(1, 4), ("4xx", "HttpApi"): NONE}
    assert rendered(stack, "ApiFailingAlarm").raised_after(broken(figures, traffic=0), AFTER) <= 16


def test_a_low_limit_is_a_refusal(stack):
    """Of a thousand requests a minute sixty pass."""
    figures = {("4xx", "HttpApi"): each(940), ("Invocations", "TimelineReader"): each(60), ("Invocations", "HistoryReader"): NONE, ("Invocations", "EventIntake"): NONE}
    assert rendered(stack, "ApiRefusedAlarm").raised_after(broken(figures), AFTER) <= 11


# A new version that always fails, on a stage with one request, command or change a minute. Its first one is in minute 3.
CANARIES = {
    "TimelineReaderCanaryAlarm": {("Errors", "TimelineReader new"): {3: 1}},
    "HistoryReaderCanaryAlarm": {("Errors", "HistoryReader new"): {3: 1}},
    "EventIntakeCanaryAlarm": {("Errors", "EventIntake new"): {3: 1}},
    "ApiCanaryAlarm": {("5xx", "HttpApi"): {3: 1, 7: 1}},
    "FanoutWriterCanaryAlarm": {("Errors", "FanoutWriter new"): {3: 1}},
    "ProjectorCanaryAlarm": {("Errors", "Projector new"): {3: 1}},
    "HistoryProjectorCanaryAlarm": {("Errors", "HistoryProjector new"): {3: 1}},
}
# A new version that gets a tenth of all commands or changes, and fails each without failing the batch.
GIVEN_BACK = {
    "FanoutWriterCanaryAlarm": {("CommandsFailed", "Stage"): {3: 10}, ("CommandsApplied", "Stage"): each(90)},
    "ProjectorCanaryAlarm": {("ViewsFailed", "Stage"): {3: 10}, ("ChangesFolded", "Stage"): each(90)},
    "HistoryProjectorCanaryAlarm": {("ViewsFailed", "Stage"): {3: 10}, ("ChangesFolded", "Stage"): each(90)},
}


def test_a_canary_ends_at_the_first_failures_of_a_quiet_stage(stack):
    shifting = dict(pair.split("=", 1) for pair in tomllib.loads((ROOT / "samconfig.toml").read_text())["prod"]["deploy"]["parameters"]["parameter_overrides"])
    kind, percent, minutes = re.fullmatch(r"(Linear|Canary)(\d+)PercentEvery(\d+)Minutes?", shifting["CanaryType"]).groups()
    window = 100 // int(percent) * int(minutes)
    # With one request a minute: the chance that the new version gets none in the first half.
    unseen = 1.0
    for step in range(1, 100 // int(percent) // 2 + 1):
        unseen *= (1 - step * int(percent) / 100) ** int(minutes)
    assert kind == "Linear" and unseen < 0.03
    for fills_empty in (True, False):
        for name, changes in CANARIES.items():
            last = max(minute for values in changes.values() for minute in values)
            after = rendered(stack, name).raised_after(broken(changes, traffic=1), AFTER, fills_empty)
            assert after == last + 1 < window, f"{name} is raised after {after}"
        for name, changes in GIVEN_BACK.items():
            assert rendered(stack, name).raised_after(broken(changes), AFTER, fills_empty) == 4, name
        for name in CANARIES:
            assert rendered(stack, name).raised_after(healthy(), AFTER, fills_empty) is None, name


# --- That these can fail --------------------------------------------------------------------------

# An alarm, a change of it, and the alarm that is then wrong.
BREAKS = {
    "ticks that are too rare": ("PeriodKeeperErrorsAlarm", {"Period": 300, "EvaluationPeriods": 1, "DatapointsToAlarm": 1, "Threshold": 3}),
    "letters that come too rarely": ("DlqAlerterErrorsAlarm", {"EvaluationPeriods": 1, "DatapointsToAlarm": 1, "Threshold": 3}),
    "silence that is good": ("ApiQuietAlarm", {"TreatMissingData": "notBreaching"}),
    "a keeper whose silence is good": ("KeeperStoppedAlarm", {"TreatMissingData": "notBreaching"}),
    "a refusal that is only a notice": ("ApiRefusedAlarm", {"AlarmActions": [{"Ref": "NoticeTopic"}]}),
    "a refusal that takes longer": ("ApiRefusedAlarm", {"EvaluationPeriods": 4}),
    "nothing that is filled": ("ProjectorStoppedAlarm", {"Metrics": [
        {"Id": "watched", "Expression": "IF(FILL(ran, 0) < 1 AND written > 0, 1, 0)"},
        *({"Id": name, "MetricStat": {"Period": 900, "Stat": "Sum", "Metric": {"MetricName": metric, "Dimensions": [{"Name": "of", "Value": of}]}}}
          for name, metric, of in (("ran", "Invocations", "Projector"), ("written", "ConsumedWriteCapacityUnits", "FactsTable"))),
    ]}),
}


@pytest.mark.parametrize("name", BREAKS)
def test_it_is_noticed(stack, name, monkeypatch):
    resource, change = BREAKS[name]
    properties = stack.properties(resource)
    broken_one = {**properties, **change}
    monkeypatch.setitem(stack.resources[resource], "Properties", broken_one)
    with pytest.raises(AssertionError):
        test_the_page_lists_every_alarm_and_when_it_is_raised(stack)


def test_an_alarm_that_is_not_listed_is_noticed(stack, monkeypatch):
    monkeypatch.delitem(FAILURES, "api-refused")
    with pytest.raises(AssertionError):
        test_the_page_lists_every_alarm_and_when_it_is_raised(stack)

"""A function that is not told what it needs ends at its start and names the variable: nothing is asked of a
table without a name, and no message is received only to fail."""

import os
import subprocess
from pathlib import Path

import pytest
from conftest import DEADLINE, NAGARE

NEEDED = {
    "fanout-writer": [
        "NAGARE_TIMELINES_TABLE", "NAGARE_LEDGER_TABLE", "NAGARE_FACTS_TABLE", "NAGARE_VIEWS_TABLE", "NAGARE_QUEUE_URL",
        "NAGARE_EVENTS_TABLE_PREFIX", "NAGARE_DEAD_LETTER_QUEUE_URL", "NAGARE_INTERNAL_SECRET",
    ],
    "timeline-reader": [
        "NAGARE_TIMELINES_TABLE", "NAGARE_LEDGER_TABLE", "NAGARE_FACTS_TABLE", "NAGARE_VIEWS_TABLE", "NAGARE_CURSOR_SECRET",
    ],
    "history-reader": [
        "NAGARE_LEDGER_TABLE", "NAGARE_VIEWS_TABLE", "NAGARE_EVENTS_TABLE_PREFIX", "NAGARE_ARCHIVE_BUCKET", "NAGARE_CURSOR_SECRET",
    ],
    "event-intake": ["NAGARE_QUEUE_URL"],
    "period-keeper": [
        "NAGARE_LEDGER_TABLE", "NAGARE_EVENTS_TABLE_PREFIX", "NAGARE_ARCHIVE_BUCKET", "NAGARE_VIEWS_TABLE", "NAGARE_STREAM_MAPPING",
    ],
    "dlq-alerter": ["NAGARE_DEAD_LETTERS_TABLE", "NAGARE_QUEUE_ARN", "NAGARE_INTERNAL_SECRET"],
    "projector": ["NAGARE_FACTS_TABLE", "NAGARE_VIEWS_TABLE", "NAGARE_DEAD_LETTER_QUEUE_URL", "NAGARE_INTERNAL_SECRET"],
    "history-projector": [
        "NAGARE_FACTS_TABLE", "NAGARE_VIEWS_TABLE", "NAGARE_LEDGER_TABLE", "NAGARE_EVENTS_TABLE_PREFIX",
        "NAGARE_DEAD_LETTER_QUEUE_URL", "NAGARE_INTERNAL_SECRET",
    ],
}
SECRET = "a secret of more than thirty-two bytes"


def ended(function, **variables):
    """What a function says when it ends at its start. Nobody answers it: it would wait for work for good."""
    environment = {
        "PATH": os.environ["PATH"], "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_LAMBDA_RUNTIME_API": "127.0.0.1:9", "AWS_LAMBDA_FUNCTION_NAME": function,
        "AWS_LAMBDA_FUNCTION_VERSION": "1", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
    }
    given = {name: SECRET for name in NEEDED[function]} | variables
    environment |= {name: value for name, value in given.items() if value is not None}
    done = subprocess.run(
        [str(Path(NAGARE).with_name(function))], env=environment, capture_output=True, text=True, timeout=DEADLINE
    )
    assert done.returncode != 0
    return done.stdout + done.stderr


@pytest.mark.parametrize("value", [None, ""], ids=["missing", "empty"])
@pytest.mark.parametrize(("function", "variable"), [(f, v) for f, needed in NEEDED.items() for v in needed])
def test_what_is_missing_is_named_at_start(function, variable, value):
    said = ended(function, **{variable: value})
    assert variable in said, said
    assert not [other for other in NEEDED[function] if other != variable and other in said], said


@pytest.mark.parametrize(
    ("function", "variable", "value"),
    [
        ("timeline-reader", "NAGARE_AUTHORIZATION", "none"), ("timeline-reader", "NAGARE_RETENTION_DAYS", "0"),
        ("timeline-reader", "NAGARE_PUBLIC_CACHE_SECONDS", "often"),
        ("history-reader", "NAGARE_AUTHORIZATION", "none"), ("history-reader", "NAGARE_TENANT_CLAIM", "sub"),
        ("history-reader", "NAGARE_EVENT_PERIOD", "year"),
        ("event-intake", "NAGARE_AUTHORIZATION", "none"), ("event-intake", "NAGARE_TENANT_CLAIM", "sub"),
        ("event-intake", "NAGARE_TENANT_EVENTS_PER_SECOND", "-1"), ("timeline-reader", "NAGARE_TENANT_CLAIM", " "),
        ("timeline-reader", "NAGARE_VIEWER_CLAIM", " "), ("event-intake", "NAGARE_VIEWER_CLAIM", "two words"),
        ("projector", "NAGARE_READ_NOTIFICATION_DAYS", "3651"), ("period-keeper", "NAGARE_EVENT_PERIOD", "year"),
        ("period-keeper", "NAGARE_STREAM_MAPPING", "{}"), ("fanout-writer", "NAGARE_HISTORY", "maybe"),
    ],
)
def test_what_is_wrong_is_named_at_start(function, variable, value):
    assert variable in ended(function, **{variable: value})


@pytest.mark.parametrize(
    ("function", "variable"),
    [
        ("timeline-reader", "NAGARE_CURSOR_SECRET"), ("timeline-reader", "NAGARE_OTHER_CURSOR_SECRET"),
        ("history-reader", "NAGARE_CURSOR_SECRET"), ("history-reader", "NAGARE_OTHER_CURSOR_SECRET"),
        ("history-projector", "NAGARE_INTERNAL_SECRET"), ("history-projector", "NAGARE_OTHER_INTERNAL_SECRET"),
        ("fanout-writer", "NAGARE_INTERNAL_SECRET"), ("fanout-writer", "NAGARE_OTHER_INTERNAL_SECRET"),
        ("projector", "NAGARE_INTERNAL_SECRET"), ("projector", "NAGARE_OTHER_INTERNAL_SECRET"),
        ("dlq-alerter", "NAGARE_INTERNAL_SECRET"), ("dlq-alerter", "NAGARE_OTHER_INTERNAL_SECRET"),
    ],
)
def test_a_short_secret_is_refused_at_start(function, variable):
    said = ended(function, **{variable: "tiny"})
    assert variable in said and "32 bytes" in said and "tiny" not in said, said

"""A command that has no credentials, or no region, says so at once and what mends it.

    python -m pytest tests/e2e/platform/test_unset_credentials.py
"""

from pathlib import Path

import pytest

from conftest import NAGARE, clean_environment, run

# Not shipped, and built beside what is (.ci/run).
BENCH = str(Path(NAGARE).with_name("nagare-bench"))

# A stack on AWS, as its operator names it.
STACK = {
    "AWS_REGION": "eu-central-1",
    "NAGARE_API_URL": "https://x.execute-api.eu-central-1.amazonaws.com",
    "NAGARE_AUTHORIZATION": "iam",
    "NAGARE_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/1/commands",
    "NAGARE_DEAD_LETTER_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/1/dead",
    "NAGARE_TIMELINES_TABLE": "timelines",
    "NAGARE_LEDGER_TABLE": "ledger",
    "NAGARE_FACTS_TABLE": "facts",
    "NAGARE_VIEWS_TABLE": "views",
    "NAGARE_DEAD_LETTERS_TABLE": "letters",
}
COMMANDS = [
    ["follow", "bob", "anna"],
    ["timeline", "bob"],
    ["audit", "--viewer", "bob"],
    ["dead-letters", "list"],
    ["fanout", "live-1"],
]
# The promise is two seconds; a busy machine gets some more.
PATIENCE = 10


def environment(tmp_path, without=()):
    named = {name: value for name, value in STACK.items() if name not in without}
    return clean_environment(tmp_path) | named


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_command_without_credentials_says_what_to_set(tmp_path, command):
    done = run(command, environment(tmp_path), timeout=PATIENCE)
    assert done.returncode == 2, done.stderr
    assert "need credentials" in done.stderr and "AWS_ACCESS_KEY_ID" in done.stderr, done.stderr


def test_a_benchmark_without_credentials_says_what_to_set(tmp_path):
    command = ["fanout", "--followers", "10", "--endpoint", "http://127.0.0.1:9"]
    done = run(command, environment(tmp_path), program=BENCH, timeout=PATIENCE)
    assert done.returncode == 2, done.stderr
    assert "need credentials" in done.stderr and "AWS_ACCESS_KEY_ID" in done.stderr, done.stderr


def test_a_command_without_a_region_says_what_to_set(tmp_path):
    env = environment(tmp_path, without=["AWS_REGION"])
    done = run(["follow", "bob", "anna"], env, timeout=PATIENCE)
    assert done.returncode == 2, done.stderr
    assert "AWS_REGION" in done.stderr or "need credentials" in done.stderr, done.stderr


def test_a_table_that_is_not_there_is_not_reached(tmp_path):
    env = environment(tmp_path) | {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    env |= {"AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:9"}
    done = run(["follow", "bob", "anna"], env, timeout=30)
    assert done.returncode == 3, done.stderr

"""A command that waits for processing waits for its own commands only: not for the messages of others, delayed or not."""

import json
import subprocess
import threading
from contextlib import contextmanager

import pytest

from conftest import NAGARE, Stack, follow, instant, publish, unique, until


@pytest.fixture(scope="module")
def stack():
    with Stack() as running:
        yield running


@contextmanager
def others(stack):
    """One follow every 20 ms, a follow that is delayed by a quarter of an hour, and a delayed dead letter."""
    ended = threading.Event()
    hold = {"QueueUrl": stack.queue_url, "DelaySeconds": 900}
    stack.sqs.send_message(MessageBody=json.dumps(follow("late", "anna")), **hold)
    stack.sqs.send_message(
        QueueUrl=stack.exports["NAGARE_DEAD_LETTER_QUEUE_URL"], MessageBody="late", DelaySeconds=900
    )

    def send():
        while not ended.wait(0.02):
            stack.send(follow(unique("other"), "somebody"))

    sending = threading.Thread(target=send)
    sending.start()
    try:
        yield
    finally:
        ended.set()
        sending.join()
        for url in (stack.queue_url, stack.exports["NAGARE_DEAD_LETTER_QUEUE_URL"]):
            stack.sqs.purge_queue(QueueUrl=url)


def written(tmp_path, header, rows):
    file = tmp_path / unique("file")
    file.write_text(header + "\n" + "".join(f"{row}\n" for row in rows))
    return file


def test_an_import_ends_next_to_other_senders(stack, tmp_path):
    actor = unique("actor")
    stack.apply(publish(actor, unique("a")))
    file = written(tmp_path, "follower,followee", [f"{actor}-v{n},{actor}" for n in range(250)])
    with others(stack):
        assert stack.cli("follows", "import", file, timeout=60).stdout == "250 follows imported\n"
        # It is in effect, and not only on the queue.
        assert all(len(stack.timeline(f"{actor}-v{n}")) == 1 for n in (0, 99, 100, 249))


def test_a_replay_ends_next_to_other_senders(stack, tmp_path):
    author = unique("author")
    stack.apply(*(follow(f"{author}-v{n}", author) for n in range(3)))
    file = written(tmp_path, "t,author,kind", [f"{n},{author},post" for n in range(1_700_000_000, 1_700_000_120)])
    with others(stack):
        [result] = stack.cli_json("replay", file, "--json")
        assert [result[name] for name in ("activities", "entries", "dead_letters")] == [120, 360, 0]


def test_an_import_of_events_ends_next_to_other_senders(stack, tmp_path):
    tenant = unique("tenant")
    rows = [f"{tenant},c-{n % 9},e-{n},login,{instant(minutes=-n)}" for n in range(300)]
    file = written(tmp_path, "tenant_id,customer_id,event_id,name,at", rows)
    with others(stack):
        [counts] = stack.cli_json("events", "import", file, "--json")
        assert counts["events"] == 300 and counts["messages"] >= 3
        history = stack.cli("history", tenant, "c-0", "--all", "--json").stdout.splitlines()
        assert len(history) == len([n for n in range(300) if n % 9 == 0])


def test_commands_that_become_dead_letters_end_the_wait(stack, tmp_path):
    """Their instants, moved with the file, lie before 2015."""
    author = unique("author")
    file = written(tmp_path, "t,author,kind", [f"{n},{author},post" for n in (0, 1, 1_700_000_000)])
    with others(stack):
        done = stack.cli("replay", file, "--json", code=1)
        result = json.loads(done.stdout)
        assert [result[name] for name in ("activities", "dead_letters")] == [1, 2]
        assert "2 dead letters came of this replay" in done.stderr


def test_a_sample_is_loaded_next_to_a_delayed_message(tmp_path):
    """The delayed message is of before, in the data directory."""
    with Stack("--data-dir", tmp_path / "data") as before:
        command = json.dumps(follow("bob", "anna"))
        before.sqs.send_message(QueueUrl=before.queue_url, MessageBody=command, DelaySeconds=900)
    with Stack("--data-dir", tmp_path / "data", "--sample") as sample:
        assert sample.entries()


def test_the_clock_moves_next_to_other_senders_and_brings_delayed_messages(tmp_path):
    with Stack("--clock", "2024-01-01T00:00:00Z") as stack:
        late = json.dumps(follow("bob", "anna", "2024-01-01T00:00:00Z"))
        stack.apply(publish("anna", "a", "2024-01-01T00:00:00Z"))
        stack.sqs.send_message(QueueUrl=stack.queue_url, MessageBody=late, DelaySeconds=600)
        ended = threading.Event()

        def send():
            while not ended.wait(0.02):
                stack.send(follow(unique("other"), "somebody", "2024-01-01T00:00:00Z"))

        sending = threading.Thread(target=send)
        sending.start()
        try:
            stack.cli("events", "advance", "--to", "2024-01-01T00:09:00Z", timeout=30)
            assert stack.timeline("bob") == []
            stack.cli("events", "advance", "--to", "2024-01-01T01:00:00Z", timeout=30)
            assert stack.timeline("bob") == ["a"]
        finally:
            ended.set()
            sending.join()


def test_an_interrupted_replay_is_completed(stack, tmp_path):
    """The rows that the first process sent last are in all timelines when the second ends."""
    author = unique("author")
    stack.apply(*(follow(f"{author}-v{n}", author) for n in range(20)))
    file = written(tmp_path, "t,author,kind", [f"{n},{author},post" for n in range(1_700_000_000, 1_700_000_500)])
    first = subprocess.Popen([NAGARE, "replay", file], env=stack.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: stack.timeline(f"{author}-v0"), "the first rows")
    first.kill()
    first.wait()
    done = stack.cli("replay", file, "--json", code=None)
    if done.returncode == 0:
        result = json.loads(done.stdout)
        assert [result[name] for name in ("activities", "entries", "dead_letters")] == [500, 10_000, 0]
    else:
        assert "all of its rows are published" in done.stderr

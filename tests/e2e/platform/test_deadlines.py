"""No command hangs: every call has a deadline, even if a stack accepts connections and never answers.

The commands are those that the program's own help names. So a new command is tried from its first day.
"""

import contextlib
import os
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from conftest import NAGARE, Stack, clean_environment, run

# Commands that talk to no stack, or serve until they are ended.
WITHOUT_CALLS = {("up",), ("down",), ("env",), ("console",), ("token",), ("estimate",), ("completions",), ("man",)}
# A value for each placeholder of a usage line.
VALUES = {
    "ACTIVITY": "a",
    "ACTOR": "anna",
    "ALERTS": "0" * 32,
    "AUTHOR": "anna",
    "BASE": "50",
    "BATTLE": "b",
    "CHOICE": "red",
    "CUSTOMER": "c",
    "DAMAGE": "1",
    "FOLLOWEE": "anna",
    "FOLLOWER": "bob",
    "ID": "i",
    "IDS": "i",
    "MESSAGE": "m",
    "N": "10",
    "NAME": "login",
    "PAYLOAD": "{}",
    "PERSON": "bob",
    "POLL": "p",
    "ROOM": "r",
    "RULE": "r",
    "SCORE": "s",
    "TAGGED": "bob",
    "TENANT": "acme",
    "TEXT": "hello",
    "VIEWER": "bob",
}
FILES = {
    "follows import": ("follows.csv", "follower,followee\nbob,anna\n"),
    "replay": ("posts.csv", "t,author,kind\n1341100700,anna,post\n"),
    "events import": ("events.csv", "tenant_id,customer_id,event_id,name,at\nacme,c,e,login,2026-11-20T12:00:00Z\n"),
    "tenant send": ("events.jsonl", '{"customer_id":"c","event_id":"e","name":"login","at":"2026-11-20T12:00:00Z"}\n'),
}
# Options that a usage line does not demand.
MORE = {
    "tenant rule define": ["--silent-days", "3"],
    "tenant score define": ["--measure", "login:28:3:60"],
    "poll open": ["--choice", "blue", "--for", "1h"],
}
SECONDS = 1
# A command asks for the time of the stack first, and tries two calls of its own at most.
MOST = 6 + 3 * SECONDS


def usages(path=()):
    """The path and the usage line of every command, from its help."""
    text = run([*path, "--help"], clean_environment("/")).stdout
    names = [name for name in re.findall(r"^  ([a-z][a-z-]*)  +\S", text, re.M) if name != "help"]
    if path and "<COMMAND>" not in text:
        yield path, re.search(r"^Usage: (.*)$", text, re.M)[1]
        return
    for name in names:
        yield from usages((*path, name))


def arguments(path, usage, folder):
    """A call of a command, from its usage line."""
    name = " ".join(path)
    words = usage.removeprefix(f"nagare {name}")
    # One of several is enough: the first.
    words = re.sub(r"<(--[a-z]+) <([A-Z]+)>[^ ]*\|.*?>(?= \[OPTIONS\]|$)", r"\1 <\2>", words)
    words = re.sub(r"<([A-Z]+)\|.*>", r"<\1>", words)
    words = re.sub(r"\[(?!OPTIONS)([A-Z]+)\](\.\.\.)?", lambda it: f"<{it[1]}>" if it[1] == "PERSON" else "", words)
    call = list(path)
    for word in words.replace("[OPTIONS]", "").replace("...", "").split():
        if word == "<FILE>":
            file, text = FILES[name]
            (Path(folder) / file).write_text(text)
            call.append(str(Path(folder) / file))
        elif word.startswith("<"):
            call.append(VALUES[word.strip("<>")])
        else:
            call.append(word)
    return call + MORE.get(name, [])


@contextlib.contextmanager
def accepting(answer):
    """The port of a server that accepts connections and sends this text, or nothing, and no more."""
    server, held = socket.create_server(("127.0.0.1", 0), backlog=200), []

    def hold(connection):
        with contextlib.suppress(OSError):
            if answer and connection.recv(65_536):
                connection.sendall(answer)

    def serve():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = server.accept()
                held.append(connection)
                threading.Thread(target=hold, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield server.getsockname()[1]
    finally:
        server.close()
        for connection in held:
            connection.close()


def environment(home, port):
    """A stack all of whose parts are at one port."""
    url = f"http://127.0.0.1:{port}"
    tables = ["TIMELINES_TABLE", "LEDGER_TABLE", "FACTS_TABLE", "VIEWS_TABLE", "DEAD_LETTERS_TABLE", "EVENTS_TABLE_PREFIX"]
    services = ["DYNAMODB", "SQS", "S3", "EVENTBRIDGE"]
    return (
        clean_environment(home)
        | {f"NAGARE_{name}": "t" for name in tables}
        | {f"AWS_ENDPOINT_URL_{name}": url for name in services}
        | {"NAGARE_API_URL": url, "NAGARE_CLOCK_URL": f"{url}/local/clock", "NAGARE_ARCHIVE_BUCKET": "b"}
        | {"NAGARE_QUEUE_URL": f"{url}/0/q", "NAGARE_DEAD_LETTER_QUEUE_URL": f"{url}/0/d", "NAGARE_AUTHORIZATION": "open"}
        | {"AWS_REGION": "us-local-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local"}
        | {"NAGARE_CALL_TIMEOUT": str(SECONDS)}
    )


HEADERS = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"


@pytest.mark.parametrize("answer", [b"", HEADERS], ids=["nothing", "headers and no body"])
def test_every_command_ends_in_time(tmp_path, answer):
    commands = [(path, usage) for path, usage in usages() if path not in WITHOUT_CALLS]
    assert len(commands) > 50
    with accepting(answer) as port:
        env = environment(tmp_path, port)

        def end(command):
            call, begun = arguments(*command, tmp_path), time.monotonic()
            done = run(call, env, timeout=60)
            return call, done, time.monotonic() - begun

        with ThreadPoolExecutor(8) as pool:
            ended = list(pool.map(end, commands))
    wrong = [
        (" ".join(call), done.returncode, round(took, 1), done.stderr)
        for call, done, took in ended
        if done.returncode != 3 or took > MOST or "answer" not in done.stderr
    ]
    assert not wrong, "\n".join(map(str, wrong))


def test_a_deadline_is_a_number_of_seconds(tmp_path):
    for text in ("0", "-1", "soon", "3601"):
        done = run(["timeline", "bob"], environment(tmp_path, 9) | {"NAGARE_CALL_TIMEOUT": text})
        assert done.returncode == 2 and "NAGARE_CALL_TIMEOUT" in done.stderr, done.stderr


def test_a_stack_whose_process_is_stopped(tmp_path):
    state = {"XDG_STATE_HOME": str(tmp_path / "state"), "NAGARE_CALL_TIMEOUT": str(SECONDS)}
    with Stack(env=state) as stack:
        env = clean_environment(tmp_path) | state
        stack.process.send_signal(signal.SIGSTOP)
        try:
            for args in (["timeline", "bob"], ["follow", "bob", "anna"], ["status"]):
                done = run(args, env, timeout=30)
                assert done.returncode == 3 and "answer" in done.stderr + done.stdout, (args, done)
            done = run(["down"], env, timeout=30)
            assert done.returncode == 3 and f"kill -CONT {stack.process.pid}" in done.stderr, done
        finally:
            stack.process.send_signal(signal.SIGCONT)
        assert stack.process.wait(30) == 0


def test_the_console_of_a_stack_that_never_answers(tmp_path):
    with accepting(b"") as port:
        command = [NAGARE, "console", "--port", "0"]
        console = subprocess.Popen(command, env=environment(tmp_path, port), stdout=subprocess.PIPE, text=True)
        try:
            url = re.search(r"http://\S+", console.stdout.readline())[0]
            with contextlib.suppress(urllib.error.HTTPError):
                opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
                opener.open(url, timeout=20).read()
        finally:
            os.kill(console.pid, signal.SIGTERM)
        assert console.wait(10) == 0

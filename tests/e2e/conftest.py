"""The stack as the tests see it: a process, the `export` lines it prints, and what they lead to.

The tests know nothing but what callers are told (docs/). They drive the binary that NAGARE_BIN names (by default the
workspace's release build) and wait for conditions with a deadline, never for a fixed time.
"""

import contextlib
import fcntl
import http.client
import itertools
import json
import os
import pty
import queue
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import urllib.parse
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

import boto3
import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "tests/e2e/typescript"
NAGARE = str(Path(os.environ.get("NAGARE_BIN") or ROOT / "target/release/nagare").absolute())

# Files whose tests take minutes, the longest first. A file is the work of one process, so what takes long begins early.
LONG = ["test_faults", "test_kills", "test_forget", "test_durability", "test_local", "test_newer", "test_outcomes", "test_openapi", "test_examples"]


def pytest_collection_modifyitems(items):
    place = {name: n for n, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONG)))


EXPORT = re.compile(r"^export ([A-Z0-9_]+)=(?:'([^']*)'|\"([^\"]*)\"|(\S*))\s*$")
PROMISED = {
    "NAGARE_API_URL",
    "NAGARE_QUEUE_URL",
    "NAGARE_TIMELINES_TABLE",
    "AWS_ENDPOINT_URL_DYNAMODB",
    "AWS_ENDPOINT_URL_SQS",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
}
DEADLINE = 30
COUNTS = [
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
]

_numbers = itertools.count(1)


def unique(prefix="x"):
    """A name that no other test uses, so that tests can share a stack."""
    return f"{prefix}-{next(_numbers)}"


def until(condition, what, seconds=DEADLINE):
    """Asks again and again, and returns the first answer that is true."""
    end = time.monotonic() + seconds
    while True:
        answer = condition()
        if answer:
            return answer
        assert time.monotonic() < end, f"waited {seconds} s for {what}"
        time.sleep(0.02)


# Instants ------------------------------------------------------------------------------------------

def instant(**delta):
    """An instant so far from now, as the contract prints it: `instant(minutes=-5)`."""
    return written(datetime.now(timezone.utc) + timedelta(**delta))


def written(at):
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def read_instant(text):
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)


# Commands ------------------------------------------------------------------------------------------

def publish(actor, activity, at=None, **more):
    return {
        "type": "activity.published",
        "activity_id": activity,
        "actor_id": actor,
        "published_at": at or instant(),
        **more,
    }


def update(actor, activity, payload, at=None, **more):
    return {
        "type": "activity.updated",
        "activity_id": activity,
        "actor_id": actor,
        "at": at or instant(),
        "payload": payload,
        **more,
    }


def delete(actor, activity):
    return {"type": "activity.deleted", "activity_id": activity, "actor_id": actor}


def follow(follower, followee, at=None):
    return _edge("follow.created", follower, followee, at)


def unfollow(follower, followee, at=None):
    return _edge("follow.deleted", follower, followee, at)


def like(viewer, activity, at=None):
    return _like("like.created", viewer, activity, at)


def unlike(viewer, activity, at=None):
    return _like("like.deleted", viewer, activity, at)


def _like(kind, viewer, activity, at):
    return {"type": kind, "viewer_id": viewer, "activity_id": activity, "at": at or instant()}


def tag(activity, tagged, at=None):
    return _tag("tag.created", activity, tagged, at)


def untag(activity, tagged, at=None):
    return _tag("tag.deleted", activity, tagged, at)


def _tag(kind, activity, tagged, at):
    return {"type": kind, "activity_id": activity, "tagged_id": tagged, "at": at or instant()}


def profile(viewer, payload, at=None):
    return {"type": "profile.updated", "viewer_id": viewer, "at": at or instant(), "payload": payload}


def mark_read(viewer, *notifications):
    """Of items of an answer, each up to its `through`."""
    marks = [{name: one[name] for name in ("notification_id", "through")} for one in notifications]
    return {"type": "notifications.read", "viewer_id": viewer, "read": marks}


def mark_all_read(viewer):
    return {"type": "notifications.read", "viewer_id": viewer, "all": True}


def open_poll(actor, poll, choices, opens_at, closes_at, **more):
    return {
        "type": "poll.opened",
        "poll_id": poll,
        "actor_id": actor,
        "choices": list(choices),
        "opens_at": opens_at,
        "closes_at": closes_at,
        **more,
    }


def close_poll(actor, poll, at=None):
    return {"type": "poll.closed", "poll_id": poll, "actor_id": actor, "at": at or instant()}


def vote(viewer, poll, choice, at=None):
    """A vote, or a withdrawal where there is no choice."""
    about = {"poll_id": poll, "viewer_id": viewer, "at": at or instant()}
    if choice is None:
        return {"type": "vote.withdrawn", **about}
    return {"type": "vote.cast", **about, "choice": choice}


def open_battle(actor, battle, hp, at=None, **more):
    return {"type": "battle.opened", "battle_id": battle, "actor_id": actor, "hp": hp, "at": at or instant(), **more}


def hit(viewer, battle, id, damage, at=None):
    about = {"battle_id": battle, "hit_id": id, "viewer_id": viewer}
    return {"type": "battle.hit", **about, "damage": damage, "at": at or instant()}


def say(room, message, author, at=None, **more):
    command = {"type": "message.posted", "room_id": room, "message_id": message, "author_id": author, "at": at or instant()}
    return command | more


def unsay(room, message, author):
    return {"type": "message.deleted", "room_id": room, "message_id": message, "author_id": author}


def join(room, viewer, at=None):
    return {"type": "room.joined", "room_id": room, "viewer_id": viewer, "at": at or instant()}


def leave(room, viewer, at=None):
    return {"type": "room.left", "room_id": room, "viewer_id": viewer, "at": at or instant()}


def _edge(kind, follower, followee, at):
    return {
        "type": kind,
        "follower_id": follower,
        "followee_id": followee,
        "at": at or instant(),
    }


def spread(id):
    """The hash in an edge's key."""
    hash = 0x811C9DC5
    for byte in id.encode():
        hash = (hash ^ byte) * 0x01000193 & 0xFFFFFFFF
    return (hash >> 16) ^ (hash & 0xFFFF)


def body(command):
    """What goes over the wire; a text is a body already."""
    return command if isinstance(command, str) else json.dumps(command, ensure_ascii=False)


# The stack -----------------------------------------------------------------------------------------

def free_port():
    """A port that is free together with the next three, for a stack that is to come back where it was."""
    while True:
        with contextlib.ExitStack() as held:
            first = held.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
            with contextlib.suppress(OSError):
                for port in (first + 1, first + 2, first + 3):
                    held.enter_context(socket.create_server(("127.0.0.1", port)))
                return first


# Headers that are lists, of which several lines are one (RFC 9110, 5.3). A cookie has a line of its own.
LISTS = {"set-cookie", "vary"}


def single(headers):
    """Headers by their names in lower case. A header with one value that comes twice is a defect."""
    found = {}
    for name, value in headers:
        name = name.lower()
        assert name not in found or name in LISTS, f"{name} is both {found[name]!r} and {value!r}"
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


@dataclass
class Answer:
    """One answer of the HTTP API."""

    status: int
    headers: dict
    text: str

    @property
    def json(self):
        return json.loads(self.text)

    def activities(self):
        return [item["activity_id"] for item in self.json["items"]]


def clean_environment(home):
    """Nothing of the caller's that could stand in for what `nagare up` prints."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        # Where stacks note that they run: no test finds another's, nor one of the caller's.
        "XDG_STATE_HOME": str(Path(home) / "state"),
        "LANG": "C.UTF-8",
    }


def on_a_terminal(args, env, columns=100):
    """What a command writes to a terminal of this width, and its exit code."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    process = subprocess.Popen(
        [NAGARE, *map(str, args)], env=env | {"TERM": "xterm"}, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            some = os.read(ours, 65_536)
        except OSError:
            break
        if not some:
            break
        written += some
    os.close(ours)
    return process.wait(DEADLINE), written.decode()


def run(args, env, stdin=None, timeout=90, program=NAGARE):
    """One command of `nagare`, to its end."""
    return subprocess.run(
        [program, *map(str, args)],
        env=env,
        input=stdin,
        capture_output=True,
        text=not isinstance(stdin, bytes),
        timeout=timeout,
    )


# The kernel lets a process begin with the peak of the one that starts it, so a small one starts the command.
MEASURE = """
import os, subprocess, sys
_, ended, usage = os.wait4(subprocess.Popen(sys.argv[2:]).pid, 0)
os.write(int(sys.argv[1]), str(usage.ru_maxrss * 1024).encode())
sys.exit(os.waitstatus_to_exitcode(ended))
"""


def measured(args, env, stdin=None, timeout=300):
    """One command of `nagare`, to its end, and its largest resident size in bytes."""
    ours, theirs = os.pipe()
    with open(ours, "rb") as peak:
        command = [sys.executable, "-c", MEASURE, str(theirs), NAGARE, *map(str, args)]
        try:
            done = subprocess.run(
                command, env=env, stdin=stdin, capture_output=True, text=True, timeout=timeout, pass_fds=[theirs]
            )
        finally:
            os.close(theirs)
        return done, int(peak.read())


class Stack:
    """A running `nagare up`."""

    def __init__(self, *args, port=0, env=None):
        self.home = tempfile.mkdtemp(prefix="nagare-e2e-")
        self.log = Path(self.home) / "log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [NAGARE, "up", "--port", str(port), *map(str, args)],
                env=clean_environment(self.home) | (env or {}),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self._lines = queue.Queue()
        threading.Thread(target=self._read_lines, daemon=True).start()
        self.exports = self._read_exports()
        self.env = clean_environment(self.home) | self.exports
        region = self.exports.get("AWS_REGION") or self.exports["AWS_DEFAULT_REGION"]
        self._session = boto3.Session(
            aws_access_key_id=self.exports["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=self.exports["AWS_SECRET_ACCESS_KEY"],
            region_name=region,
        )
        self.sqs = self._client("sqs", "AWS_ENDPOINT_URL_SQS")
        self.dynamodb = self._client("dynamodb", "AWS_ENDPOINT_URL_DYNAMODB")
        self.queue_url = self.exports["NAGARE_QUEUE_URL"]
        self.table = self.exports["NAGARE_TIMELINES_TABLE"]

    def _read_lines(self):
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_exports(self):
        """The first block of `export` lines: printed in one go, once the stack is ready."""
        found, end = {}, time.monotonic() + DEADLINE
        while True:
            patience = 0.3 if PROMISED <= found.keys() else end - time.monotonic()
            try:
                line = self._lines.get(timeout=max(patience, 0.01))
            except queue.Empty:
                line = None
            match = EXPORT.match(line or "")
            if match:
                found[match[1]] = next(group for group in match.groups()[1:] if group is not None)
            elif found or line is None:
                missing = PROMISED - found.keys()
                assert not missing, f"`nagare up` has not printed {missing}: {self.log.read_text()}"
                return found

    def _client(self, service, endpoint):
        return self._session.client(service, endpoint_url=self.exports[endpoint])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        """`kill -9`."""
        self.process.kill()
        self.process.wait()
        # Shown beside a test that fails. A test may have killed it before.
        if self.log.exists():
            sys.stderr.write(self.log.read_text(errors="replace"))
        shutil.rmtree(self.home, ignore_errors=True)

    # The command line

    def cli(self, *args, stdin=None, code=0, timeout=90):
        """Runs a command and checks its exit code; `None` admits any."""
        done = run(args, self.env, stdin, timeout)
        if code is not None:
            assert done.returncode == code, f"{args}: {done.returncode}, expected {code}\n{done.stderr}"
        return done

    def cli_json(self, *args):
        """The objects that a command prints, one a line."""
        return [json.loads(line) for line in self.cli(*args).stdout.splitlines()]

    # The queue

    def send(self, *commands):
        """Sends commands, ten a call, and returns their message ids."""
        ids = []
        for start in range(0, len(commands), 10):
            entries = [
                {"Id": str(n), "MessageBody": body(command)}
                for n, command in enumerate(commands[start : start + 10])
            ]
            answer = self.sqs.send_message_batch(QueueUrl=self.queue_url, Entries=entries)
            assert not answer.get("Failed"), answer["Failed"]
            accepted = sorted(answer["Successful"], key=lambda one: int(one["Id"]))
            ids += [one["MessageId"] for one in accepted]
        return ids

    def apply(self, *commands, seconds=DEADLINE):
        """Sends commands one after the other, each in effect before the next."""
        for command in commands:
            self.send(command)
            self.drain(seconds)

    def waiting(self, url=None):
        """How many messages a queue still has, visible or not."""
        answer = self.sqs.get_queue_attributes(QueueUrl=url or self.queue_url, AttributeNames=COUNTS)
        return sum(int(answer["Attributes"][name]) for name in COUNTS)

    def drain(self, seconds=DEADLINE):
        """Waits until every command is in effect or has become a dead letter."""
        until(lambda: self.waiting() == 0, "the queue to drain", seconds)
        dead = self.exports.get("NAGARE_DEAD_LETTER_QUEUE_URL")
        if dead:
            until(lambda: self.waiting(dead) == 0, "the dead-letter queue to drain", seconds)

    def dead_letters(self):
        return self.cli_json("dead-letters", "list", "--json")

    def dead_letter(self, id):
        """Waits for the dead letter with this id."""
        found = lambda: [letter for letter in self.dead_letters() if letter["id"] == id]
        [letter] = until(found, f"the dead letter {id}")
        return letter

    # The tables

    def entries(self, viewer=None):
        """All entries of the timelines table, or one viewer's, as plain values."""
        if viewer is None:
            pages = self.dynamodb.get_paginator("scan").paginate(TableName=self.table)
        else:
            pages = self.dynamodb.get_paginator("query").paginate(
                TableName=self.table,
                KeyConditionExpression="viewer_id = :viewer",
                ExpressionAttributeValues={":viewer": {"S": viewer}},
            )
        return [plain(item) for page in pages for item in page["Items"]]

    # The HTTP API

    def read(self, path, headers=None):
        """What is at a path, which has to be there."""
        answer = self.request(path, headers=headers)
        assert answer.status == 200, f"{path}: {answer.text}"
        return answer.json

    def notifications(self, viewer, query="", headers=None):
        """A page of what a viewer is notified of, which has to be there."""
        answer = self.request(f"/v1/notifications/{viewer}" + (f"?{query}" if query else ""), headers=headers)
        assert answer.status == 200, answer.text
        return answer.json

    def request(self, target, method="GET", headers=None, data=None):
        url = urllib.parse.urlsplit(self.exports["NAGARE_API_URL"])
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=DEADLINE)
        try:
            connection.request(method, target, body=data, headers=headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, single(answer.getheaders()), answer.read().decode())
        finally:
            connection.close()

    def console(self, path, fields=None, headers=None, entrance=None):
        """What the console answers to somebody who came by the printed address: a page, or with fields a form."""
        entrance = urllib.parse.urlsplit(entrance or self.exports["NAGARE_CONSOLE_URL"])
        connection = http.client.HTTPConnection(entrance.hostname, entrance.port, timeout=DEADLINE)
        try:
            connection.request("GET", f"{entrance.path}?{entrance.query}")
            answer = connection.getresponse()
            answer.read()
            cookie = {"Cookie": answer.headers["Set-Cookie"].partition(";")[0]}
            form = {} if fields is None else {"Content-Type": "application/x-www-form-urlencoded"}
            data = None if fields is None else urllib.parse.urlencode(fields)
            method = "GET" if fields is None else "POST"
            connection.request(method, f"/console/{path}", body=data, headers=cookie | form | (headers or {}))
            answer = connection.getresponse()
            return Answer(answer.status, single(answer.getheaders()), answer.read().decode())
        finally:
            connection.close()

    def get(self, viewer, query="", headers=None):
        """A viewer's timeline; the query as a dict, or as it goes over the wire."""
        if not isinstance(query, str):
            query = urllib.parse.urlencode(query)
        target = f"/v1/timelines/{viewer}" + (f"?{query}" if query else "")
        return self.request(target, headers=headers)

    def page(self, viewer, **query):
        """A page that has to be there."""
        answer = self.get(viewer, query)
        assert answer.status == 200, answer.text
        return answer.json

    def timeline(self, viewer, **query):
        """The activity ids of one page."""
        return [item["activity_id"] for item in self.page(viewer, **query)["items"]]

    def walk(self, viewer, **query):
        """All pages from here on, along `next_cursor`."""
        pages = [self.page(viewer, **query)]
        beside = {"limit": query["limit"]} if "limit" in query else {}
        while pages[-1]["next_cursor"] is not None:
            pages.append(self.page(viewer, cursor=pages[-1]["next_cursor"], **beside))
        return pages


def during(work, step):
    """Does some work in a thread, and takes steps while it goes on; returns how many."""
    over, failed = threading.Event(), []

    def run():
        try:
            work()
        except Exception as error:  # What a thread raises is lost otherwise.
            failed.append(error)
        finally:
            over.set()

    worker = threading.Thread(target=run)
    worker.start()
    steps = 0
    while not over.is_set():
        step()
        steps += 1
    worker.join()
    assert not failed, failed
    return steps


def ids(page):
    return [item["activity_id"] for item in page["items"]]


def plain(item):
    """A DynamoDB item without its type tags, bytes in hexadecimal digits."""
    values = {name: next(iter(value.items())) for name, value in item.items()}
    read = {"N": int, "B": bytes.hex}
    return {name: read.get(tag, lambda same: same)(value) for name, (tag, value) in values.items()}


@pytest.fixture(scope="module")
def stack():
    """One stack in memory for a whole file: its tests keep apart by using names of their own."""
    with Stack() as running:
        yield running


@pytest.fixture
def own_stack():
    """A stack for one test alone, where what is counted is everything."""
    with Stack() as running:
        yield running


@pytest.fixture(scope="session")
def modules():
    """What package.json of tests/e2e/typescript pins, installed below target/ unless it is there."""
    folder = ROOT / "target/e2e-typescript"
    install = ["bash", ROOT / "tests/node.sh", PACKAGES, folder]
    done = subprocess.run(install, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder / "node_modules"

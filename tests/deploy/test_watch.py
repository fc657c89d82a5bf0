"""docs/LOCAL.md's "The functions one by one": `cargo lambda watch` against `nagare up`.

The commands are the page's own, on other ports. The functions are served as Lambda serves them, by their
own binaries; tables and queues are the local stack's.
"""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from conftest import ROOT, Stack, until

PAGE = (ROOT / "docs/LOCAL.md").read_text(encoding="utf-8")
COMMANDS = [shlex.split(line.removesuffix("&")) for line in PAGE.splitlines() if line.startswith("cargo lambda ")]
# Where nothing is built yet, the first answers wait for the compiler.
PATIENCE = 900


class Watch:
    """A running `cargo lambda watch`."""

    def __init__(self, stack, log):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = str(free.getsockname()[1])
        # Cargo's own settings stay, or it would build everything again.
        kept = ("PATH", "HOME", "CARGO", "RUSTUP")
        self.env = {name: value for name, value in os.environ.items() if name.startswith(kept)}
        self.env |= stack.exports | exported()
        [command] = [command for command in COMMANDS if command[2] == "watch"]
        self.process = subprocess.Popen(
            self.on_port(command), cwd=ROOT, env=self.env, stdout=log, stderr=log, start_new_session=True
        )
        until(self.listens, "`cargo lambda watch` to listen")

    def on_port(self, command):
        assert "9200" in command, command
        return [self.port if word == "9200" else word for word in command]

    def listens(self):
        assert self.process.poll() is None, "`cargo lambda watch` has ended"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", int(self.port))) == 0

    def invoke(self, name):
        """The answer to the page's command for this function."""
        [command] = [command for command in COMMANDS if command[2:4] == ["invoke", name]]
        done = subprocess.run(
            self.on_port(command), cwd=ROOT, env=self.env, capture_output=True, text=True, timeout=PATIENCE
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)

    def get(self, target):
        url = f"http://127.0.0.1:{self.port}/lambda-url/timeline-reader{target}"
        try:
            answer = urllib.request.urlopen(url, timeout=PATIENCE)
        except urllib.error.HTTPError as refused:
            answer = refused
        with answer:
            return answer.status, json.loads(answer.read())

    def stop(self):
        """Ends it and the functions, which are not in its process group."""
        processes = [self.process.pid, *descendants(self.process.pid)]
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            pass
        for pid in processes:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()


def descendants(pid):
    """The processes that a process has started, and those that they have."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name, in brackets, may hold anything; then come the state and the parent.
            parent = stat.read_text(errors="replace").rpartition(")")[2].split()[1]
        except OSError:
            continue
        if int(parent) == pid:
            child = int(stat.parent.name)
            found += [child, *descendants(child)]
    return found


def exported():
    """What the page exports for the functions, besides what the stack printed."""
    [section] = re.findall(r"\n## The functions one by one\n(.*?)\n## ", PAGE, re.DOTALL)
    return dict(re.findall(r"^export (\w+)=(\S+)", section, re.MULTILINE))


@pytest.fixture(scope="module")
def stack():
    # Whoever ends the test ends what it has started.
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", returncode=1))
    with Stack() as stack:
        yield stack


@pytest.fixture(scope="module")
def watch(stack):
    work = ROOT / "target/deploy"
    work.mkdir(parents=True, exist_ok=True)
    with open(work / "watch.log", "w") as log:
        watch = Watch(stack, log)
        try:
            yield watch
        finally:
            watch.stop()


def test_each_function_answers_the_fixture_that_was_sent_to_it(stack, watch):
    assert watch.invoke("fanout-writer") == {"batchItemFailures": []}
    answer = watch.invoke("timeline-reader")
    assert answer["statusCode"] == 200
    assert [item["activity_id"] for item in json.loads(answer["body"])["items"]] == ["live-8391"]
    assert watch.invoke("dlq-alerter") == {"batchItemFailures": []}
    fixture = json.loads((ROOT / "tests/events/dead-letter.json").read_text(encoding="utf-8"))
    [message] = fixture["Records"]
    letter = stack.dead_letter(message["messageId"])
    assert letter["reason"] == "not-json"
    # With a state, without which Lambda takes the answer to an event with a window for a failure.
    assert watch.invoke("projector") == {"batchItemFailures": [], "state": {}}


def test_the_reader_answers_over_http(watch):
    watch.invoke("fanout-writer")
    status, page = watch.get("/v1/timelines/bob?limit=1")
    assert status == 200 and [item["activity_id"] for item in page["items"]] == ["live-8391"]
    status, problem = watch.get("/v1/timelines/bob?limit=0")
    assert status == 400 and "limit" in problem["detail"]

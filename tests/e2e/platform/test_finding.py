"""Commands find the local stack that runs, and no other; `nagare env`, `up --detach` and `down`.

    python -m pytest tests/e2e/platform/test_finding.py
"""

import http.server
import json
import os
import re
import signal
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from conftest import DEADLINE, EXPORT, NAGARE, Stack, clean_environment, run, until

NOTHING = "no stack runs on this machine"


@pytest.fixture
def home(tmp_path):
    """The environment of a user who has set nothing. Whatever runs by the end is ended."""
    env = clean_environment(tmp_path)
    yield env
    run(["down", "--all"], env)


class Stacks:
    """Stacks of one user, by their ports."""

    def __init__(self, env, count):
        state = {"XDG_STATE_HOME": env["XDG_STATE_HOME"]}
        self.stacks = [Stack(env=state) for _ in range(count)]
        self.ports = [int(stack.exports["NAGARE_API_URL"].rsplit(":", 1)[1]) for stack in self.stacks]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for stack in self.stacks:
            stack.kill()


def notes(env):
    return sorted(Path(env["XDG_STATE_HOME"], "nagare/stacks").glob("*.json"))


def exports(text):
    return {match[1]: match[2] for match in map(EXPORT.match, text.splitlines()) if match}


def detached(env, *args):
    done = run(["up", "--port", "0", "--detach", *args], env)
    assert done.returncode == 0, done.stderr
    return done


def listed(env, viewer="bob"):
    done = run(["timeline", viewer, "--json"], env)
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["activity_id"] for line in done.stdout.splitlines()]


def do(env, *args):
    done = run(args, env)
    assert done.returncode == 0, done.stderr
    return done.stdout


def publish_and_read(env, activity):
    do(env, "follow", "bob", "anna", "--wait")
    do(env, "publish", "--actor", "anna", "--activity", activity, "--wait")
    return listed(env)


# Found --------------------------------------------------------------------------------------------

def test_commands_find_the_stack_that_runs(home):
    with Stacks(home, 1):
        assert publish_and_read(home, "a1") == ["a1"]
        assert do(home, "dead-letters", "list") == ""
        audited = run(["audit", "--viewer", "bob"], home)
        assert audited.returncode == 0 and "1 timeline audited: 0 differences" in audited.stderr


def test_tokens_come_from_the_note(home):
    with Stack("--auth", env={"XDG_STATE_HOME": home["XDG_STATE_HOME"]}):
        assert publish_and_read(home, "a1") == ["a1"]


def test_a_stack_that_is_not_there_is_a_sentence_that_says_how_to_start_it(home):
    for args in (["timeline", "bob"], ["follow", "bob", "anna"], ["env"], ["audit", "--sample", "1"]):
        done = run(args, home)
        assert done.returncode == 2 and done.stdout == ""
        assert NOTHING in done.stderr and "`nagare up --detach`" in done.stderr


def test_a_stack_that_was_killed_leads_nowhere(home):
    """Not even where something else answers on its ports."""
    with Stacks(home, 1) as killed:
        os.kill(killed.stacks[0].process.pid, signal.SIGKILL)
        killed.stacks[0].process.wait()
        assert len(notes(home)) == 1, "what it leaves"
        asked = []

        class Other(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append(self.path)
                self.send_error(500)

        other = http.server.HTTPServer(("127.0.0.1", killed.ports[0]), Other)
        threading.Thread(target=other.serve_forever, daemon=True).start()
        try:
            done = run(["timeline", "bob"], home)
        finally:
            other.shutdown()
            other.server_close()
        assert done.returncode == 2 and NOTHING in done.stderr and not asked
        with Stacks(home, 1):
            assert len(notes(home)) == 1, "the next stack has taken it away"
            assert publish_and_read(home, "a1") == ["a1"]


def test_a_note_that_somebody_wrote_leads_nowhere(home):
    with Stacks(home, 1):
        [note] = notes(home)
        note.with_name("copy.json").write_text(note.read_text())
        note.with_name("copy.json").chmod(0o600)
        assert publish_and_read(home, "a1") == ["a1"], "the copy is nobody's"


def test_of_several_one_has_to_be_chosen(home):
    with Stacks(home, 2) as two:
        for args in (["timeline", "bob"], ["follow", "bob", "anna"], ["env"], ["down"]):
            done = run(args, home)
            assert done.returncode == 2, args
            assert all(str(port) in done.stderr for port in two.ports), done.stderr
        assert "nagare env --port" in run(["timeline", "bob"], home).stderr
        for port, activity in zip(two.ports, ("a1", "a2")):
            chosen = home | exports(do(home, "env", "--port", str(port)))
            assert publish_and_read(chosen, activity) == [activity]
        assert run(["env", "--port", "1"], home).returncode == 2


# Never mixed --------------------------------------------------------------------------------------

ELSEWHERE = "http://127.0.0.1:1"
ACCOUNT = {
    "AWS_PROFILE": "production",
    "AWS_REGION": "eu-central-1",
    "AWS_ACCESS_KEY_ID": "AKIAREAL",
    "AWS_SECRET_ACCESS_KEY": "real",
    "AWS_SESSION_TOKEN": "real",
    "AWS_ENDPOINT_URL": ELSEWHERE,
    "AWS_ENDPOINT_URL_SQS": ELSEWHERE,
    "AWS_ENDPOINT_URL_DYNAMODB": ELSEWHERE,
    "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true",
}


def test_an_account_of_the_shell_is_not_touched(home):
    with Stacks(home, 1):
        assert publish_and_read(home | ACCOUNT, "a1") == ["a1"]
        assert run(["audit", "--sample", "5"], home | ACCOUNT).returncode == 0


@pytest.mark.parametrize("name", [
    "NAGARE_API_URL", "NAGARE_QUEUE_URL", "NAGARE_DEAD_LETTER_QUEUE_URL", "NAGARE_TIMELINES_TABLE",
    "NAGARE_LEDGER_TABLE", "NAGARE_FACTS_TABLE", "NAGARE_VIEWS_TABLE", "NAGARE_DEAD_LETTERS_TABLE",
])
def test_one_variable_of_a_stack_and_the_environment_alone_counts(home, name):
    with Stacks(home, 1) as running:
        partly = home | {name: running.stacks[0].exports[name]}
        missing = ["publish", "--actor", "anna", "--activity", "a"] if name == "NAGARE_API_URL" else ["timeline", "bob"]
        done = run(missing, partly)
        assert done.returncode == 2 and "is not set" in done.stderr
        assert "needs all of its variables" in done.stderr


def test_the_exports_of_a_stack_that_is_gone_lead_nowhere_else(home):
    with Stacks(home, 1) as gone:
        old = home | gone.stacks[0].exports
    with Stacks(home, 1):
        assert run(["timeline", "bob"], old).returncode == 3
        assert publish_and_read(home, "a1") == ["a1"]


# The note -----------------------------------------------------------------------------------------

def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_note_is_its_owners_alone(home):
    before = os.umask(0)
    try:
        with Stacks(home, 1):
            [note] = notes(home)
            assert (mode(note), mode(note.parent)) == (0o600, 0o700)
            assert list(note.parent.iterdir()) == [note], "nothing beside it"
    finally:
        os.umask(before)


def test_the_default_place_is_below_home(tmp_path):
    env = clean_environment(tmp_path)
    del env["XDG_STATE_HOME"]
    with Stack(env={"HOME": str(tmp_path), "XDG_STATE_HOME": ""}):
        assert len(list((tmp_path / ".local/state/nagare/stacks").iterdir())) == 1
        assert publish_and_read(env, "a1") == ["a1"]


def test_a_stack_that_cannot_be_noted_runs_and_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with Stack(env={"XDG_STATE_HOME": str(tmp_path / "file")}) as stack:
        until(lambda: "commands do not find this stack" in stack.log.read_text(), "the warning")
        assert publish_and_read(stack.env, "a1") == ["a1"]


def test_what_ends_a_stack_takes_its_note_away(home):
    for number in (signal.SIGTERM, signal.SIGINT):
        with Stacks(home, 1) as running:
            running.stacks[0].process.send_signal(number)
            assert running.stacks[0].process.wait(DEADLINE) == 0
            assert notes(home) == []


# env ----------------------------------------------------------------------------------------------

def test_env_prints_what_up_printed(home):
    with Stacks(home, 1) as running:
        printed = do(home, "env")
        assert all(EXPORT.match(line) for line in printed.splitlines())
        assert exports(printed) == running.stacks[0].exports
        assert json.loads(do(home, "env", "--json")) == running.stacks[0].exports
        shell = 'eval "$(nagare env)" && echo "$NAGARE_API_URL"'
        path = f"{Path(NAGARE).parent}:{home['PATH']}"
        done = subprocess.run(["sh", "-c", shell], env=home | {"PATH": path}, capture_output=True, text=True)
        assert done.stdout.strip() == running.stacks[0].exports["NAGARE_API_URL"], done.stderr


# up --detach and down -----------------------------------------------------------------------------

def test_up_detach_returns_when_the_stack_is_ready_and_down_ends_it(home):
    started = detached(home, "--sample")
    found = exports(started.stdout)
    assert found == exports(do(home, "env"))
    assert "# The stack is ready" in started.stdout and "`nagare down` ends the stack" in started.stdout
    assert "ready on port" not in started.stdout, "that line is between the two processes"
    assert len(listed(home, "viewer-01")) == 20
    log = Path(re.search(r"logs to (\S+);", started.stderr)[1])
    assert mode(log) == 0o600 and log.is_relative_to(home["XDG_STATE_HOME"])
    port = found["NAGARE_API_URL"].rsplit(":", 1)[1]
    assert do(home, "down") == f"the stack on port {port} has ended\n"
    assert run(["timeline", "bob"], home | found).returncode == 3, "it has ended when `down` returns"
    assert "stopping" in log.read_text()
    assert do(home, "down") == NOTHING + "\n"
    assert do(home, "down", "--port", port) == f"no stack runs on port {port}\n"
    assert do(home, "down", "--all") == NOTHING + "\n"


def test_detached_it_prints_what_it_prints_otherwise(home):
    assert set(exports(detached(home, "--print-env").stdout)) == set(exports(do(home, "env")))
    assert all(EXPORT.match(line) for line in do(home, "env").splitlines())


def test_the_data_of_a_detached_stack_outlive_it(home, tmp_path):
    detached(home, "--data-dir", str(tmp_path / "data"))
    assert publish_and_read(home, "a1") == ["a1"]
    do(home, "down")
    detached(home, "--data-dir", str(tmp_path / "data"))
    assert listed(home) == ["a1"]


def test_it_outlives_its_terminal(home):
    """The session that it was started in ends, and everything in that with it."""
    shell = subprocess.Popen(
        [NAGARE, "up", "--port", "0", "--detach"],
        env=home, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )
    assert shell.wait(DEADLINE) == 0
    with pytest.raises(ProcessLookupError):
        os.killpg(shell.pid, signal.SIGHUP)
    assert publish_and_read(home, "a1") == ["a1"]


def test_a_start_that_fails_is_told_with_its_reason_and_code(home, tmp_path):
    with Stacks(home, 1) as running:
        port = running.ports[0]
        failed = run(["up", "--port", port, "--detach"], home)
        assert failed.returncode == 2 and failed.stdout == ""
        assert f"nagare: port {port} on 127.0.0.1 cannot be listened on" in failed.stderr
        assert f"`nagare down --port {port}` ends" in failed.stderr
        tables = int(running.stacks[0].exports["AWS_ENDPOINT_URL_DYNAMODB"].rsplit(":", 1)[1])
        assert f"`nagare down --port {port}` ends" in run(["up", "--port", tables], home).stderr
    (tmp_path / "file").write_text("")
    failed = run(["up", "--port", "0", "--detach", "--data-dir", tmp_path / "file"], home)
    assert failed.returncode == 2 and "cannot be written to" in failed.stderr
    logs = Path(home["XDG_STATE_HOME"], "nagare/logs")
    assert list(logs.iterdir()) == [], "nothing is left of it"


def test_down_ends_one_or_all_of_several(home):
    with Stacks(home, 3) as three:
        first, second, third = three.ports
        assert do(home, "down", "--port", str(first)) == f"the stack on port {first} has ended\n"
        assert three.stacks[0].process.wait(DEADLINE) == 0
        assert [stack.process.poll() for stack in three.stacks[1:]] == [None, None]
        ended = do(home, "down", "--all").splitlines()
        assert ended == [f"the stack on port {port} has ended" for port in sorted([second, third])]
        until(lambda: [stack.process.poll() for stack in three.stacks] == [0, 0, 0], "all to end")

"""What the command line says of itself and of its stack: help, completions, the manual, `status`, people and profiles.

    python -m pytest tests/e2e/platform/test_commands.py
"""

import json
import shutil
import subprocess
import time

import pytest

from conftest import Stack, clean_environment, follow, profile, run, until


@pytest.fixture(scope="module")
def stack():
    with Stack() as stack:
        commands = [follow("bob", actor) for actor in ("anna", "carl", "dora")] + [follow("eve", "anna")]
        stack.send(*commands, profile("anna", {"name": "Anna\u001b[31m"}))
        stack.drain()
        yield stack


# People -------------------------------------------------------------------------------------------

def lines(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_whom_somebody_follows(stack):
    done = stack.cli("following", "bob")
    names = [line.split()[1] for line in done.stdout.splitlines()]
    assert names == ["anna", "carl", "dora"] and done.stderr == ""
    assert "\u001b" not in done.stdout and "Anna" in done.stdout
    answer = stack.read("/v1/viewers/bob/following")
    printed = stack.cli("following", "bob", "--json")
    assert lines(printed) == answer["items"]
    assert json.loads(printed.stderr) == {"next_cursor": None}


def test_who_follows_somebody(stack):
    assert {line.split()[1] for line in stack.cli("followers", "anna").stdout.splitlines()} == {"bob", "eve"}
    assert {one["viewer_id"] for one in lines(stack.cli("followers", "anna", "--json"))} == {"bob", "eve"}


def test_people_page_by_page(stack):
    first = stack.cli("following", "bob", "--limit", "2")
    assert len(first.stdout.splitlines()) == 2
    cursor = first.stderr.split("--cursor ")[1].strip()
    rest = stack.cli("following", "bob", "--cursor", cursor)
    assert [line.split()[1] for line in rest.stdout.splitlines()] == ["dora"]
    every = stack.cli("following", "bob", "--limit", "1", "--all")
    assert [line.split()[1] for line in every.stdout.splitlines()] == ["anna", "carl", "dora"]


def test_nobody_is_an_answer(stack):
    done = stack.cli("following", "stranger")
    assert done.stdout == "" and "stranger follows nobody" in done.stderr
    done = stack.cli("followers", "stranger")
    assert done.stdout == "" and "nobody follows stranger" in done.stderr


def test_people_refused(stack):
    assert "viewer_id" in stack.cli("following", "b o b", code=2).stderr
    assert stack.cli("followers", "anna", "--limit", "101", code=2).stderr
    assert stack.cli("followers", "anna", "--cursor", "x", code=2).stderr


def test_people_of_a_stack_that_demands_tokens():
    with Stack("--auth") as guarded:
        guarded.cli("follow", "bob", "anna", "--wait")
        assert guarded.cli("following", "bob").stdout.split()[1] == "anna"
        assert guarded.cli("followers", "anna").stdout.split()[1] == "bob"


# Profiles -----------------------------------------------------------------------------------------

def test_a_profile_is_set_and_shown(stack):
    payload = {"name": "Bob"}
    stack.cli("profile", "set", "bob", "--payload", json.dumps(payload), "--wait")
    shown = stack.cli("profile", "show", "bob").stdout
    assert '{"name": "Bob"}' in shown and "bob" in shown.split()
    answer = json.loads(stack.cli("profile", "show", "bob", "--json").stdout)
    assert (answer["viewer_id"], answer["payload"]) == ("bob", payload)


def test_no_profile_is_a_no(stack):
    done = stack.cli("profile", "show", "stranger", code=1)
    assert done.stdout == "" and "stranger has no profile" in done.stderr
    assert stack.cli("profile", "show", "b o b", code=2).stderr


# Status -------------------------------------------------------------------------------------------

def test_status_says_what_waits(stack):
    report = json.loads(stack.cli("status", "--json").stdout)
    assert report["stack"] == "local" and report["answers"] is True
    assert report["api_url"] == stack.exports["NAGARE_API_URL"] and report["api"]["status"] < 500
    assert report["commands"] == {"visible": 0, "in_flight": 0, "delayed": 0}
    before = report["dead_letters"]["kept"]
    stack.send("no command")
    stack.drain()
    report = json.loads(stack.cli("status", "--json").stdout)
    assert report["dead_letters"] == {"kept": before + 1, "more": False}
    text = stack.cli("status").stdout
    assert f"{before + 1} " in text and "0 waiting, 0 in flight, 0 delayed" in text
    stack.cli("dead-letters", "drop", "--all")


def test_status_checks_what_needs_attention(tmp_path):
    with Stack() as stack:
        report = json.loads(stack.cli("status", "--check", "--json").stdout)
        assert report["attention"] == [] and report["unseen_dead_letters"] == 0
        assert report["backlog"]["oldest_command_seconds"] < 60 and report["backlog"]["projection_lag_seconds"] <= 10
        # A delayed command is not late.
        stack.sqs.send_message(QueueUrl=stack.queue_url, MessageBody="late", DelaySeconds=900)
        assert json.loads(stack.cli("status", "--json").stdout)["backlog"]["oldest_command_seconds"] == 0
        [letter] = stack.send("no command")
        until(lambda: stack.cli("status", "--check", code=None).returncode == 1, "the dead letter to need attention")
        done = stack.cli("status", "--check", code=1)
        assert "1 dead letter was not looked at" in done.stdout + done.stderr
        assert stack.cli("status").returncode == 0, "without --check it only says so"
        stack.cli("dead-letters", "list")
        stack.cli("status", "--check")
        # One that comes back was not looked at; `show` looks at it.
        stack.cli("dead-letters", "redrive", letter)
        until(lambda: stack.cli("status", "--check", code=None).returncode == 1, "the dead letter to come back")
        stack.cli("dead-letters", "show", letter)
        stack.cli("status", "--check")
        rate = json.loads(stack.cli("status", "--json").stdout)["backlog"]["commands_per_second"]
        assert 0 < rate < 5


def test_status_of_the_stack_that_runs(tmp_path):
    home = clean_environment(tmp_path)
    with Stack("--auth", env={"XDG_STATE_HOME": home["XDG_STATE_HOME"]}) as running:
        done = run(["status"], home)
        assert done.returncode == 0, done.stderr
        assert f"process {running.process.pid}" in done.stdout
        assert running.exports["NAGARE_API_URL"] in done.stdout
        assert "/console/?token=" in done.stdout
    done = run(["status"], home)
    assert done.returncode == 2 and "no stack runs on this machine" in done.stderr


def test_status_of_a_stack_that_is_gone():
    with Stack() as gone:
        env = gone.env
        gone.kill()
        done = run(["status", "--json"], env)
        assert done.returncode == 3 and "does not answer" in done.stderr
        report = json.loads(done.stdout)
        assert report["answers"] is False
        for part in ("api", "commands", "dead_letters"):
            assert report[part]["error"], part
        assert run(["status"], env).stdout.count(" does not answer: ") == 6


# What it says of itself ---------------------------------------------------------------------------

def test_help_is_in_groups(tmp_path):
    env = clean_environment(tmp_path)
    for args in (["--help"], ["-h"], ["help"]):
        done = run(args, env)
        assert done.returncode == 0, args
        groups = [line for line in done.stdout.splitlines() if line.endswith(":") and not line.startswith(" ")]
        assert groups == [
            "Run a stack:", "Send commands:", "Read:", "Event history:", "Operate:", "Set up a shell:", "Options:"
        ], args
        assert "\u001b" not in done.stdout
    assert "Usage: nagare follow" in run(["follow", "--help"], env).stdout
    assert run(["folow"], env).returncode == 2


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "elvish", "powershell"])
def test_completions(tmp_path, shell):
    env = clean_environment(tmp_path)
    done = run(["completions", shell], env)
    assert done.returncode == 0 and "dead-letters" in done.stdout and "skip-bad" in done.stdout
    if shutil.which(shell) and shell == "bash":
        script = tmp_path / "nagare.bash"
        script.write_text(done.stdout)
        asked = f". {script}; COMP_WORDS=(nagare fol); COMP_CWORD=1; _nagare nagare fol nagare; echo ${{COMPREPLY[*]}}"
        found = subprocess.run([shell, "-c", asked], env=env, capture_output=True, text=True)
        assert {"follow", "following", "followers", "follows"} <= set(found.stdout.split()), found.stderr
    assert run(["completions", "tcsh"], env).returncode == 2


def test_the_manual(tmp_path):
    env = clean_environment(tmp_path)
    page = run(["man"], env)
    assert page.returncode == 0 and ".TH nagare 1" in page.stdout and "dead\\-letters" in page.stdout
    of_one = run(["man", "poll", "open"], env)
    assert of_one.returncode == 0 and "nagare\\-poll\\-open" in of_one.stdout
    assert ".TH nagare-poll-open 1" in of_one.stdout
    assert run(["man", "nothing"], env).returncode == 2
    if shutil.which("man"):
        read = subprocess.run(["man", "-l", "-"], input=page.stdout, env=env, capture_output=True, text=True)
        assert read.returncode == 0 and "SYNOPSIS" in read.stdout, read.stderr


# Wrong usage that is told -------------------------------------------------------------------------

@pytest.mark.parametrize(("given", "missing"), [
    ([], "--deliveries-per-day"),
    (["--reads-per-day", "5"], "--deliveries-per-day"),
    (["--followers-csv", "f.csv"], "--posts-csv"),
    (["--posts-csv", "p.csv"], "--followers-csv"),
])
def test_estimate_asks_for_the_option_that_is_missing(tmp_path, given, missing):
    done = run(["estimate", *given], clean_environment(tmp_path))
    assert done.returncode == 2 and f"{missing} " in done.stderr and "is missing:" in done.stderr


def test_down_says_that_there_is_nothing(tmp_path):
    home = clean_environment(tmp_path)
    done = run(["down", "--port", "9999"], home)
    assert (done.returncode, done.stdout) == (0, "no stack runs on port 9999\n")
    with Stack(env={"XDG_STATE_HOME": home["XDG_STATE_HOME"]}) as running:
        port = running.exports["NAGARE_API_URL"].rsplit(":", 1)[1]
        done = run(["down", "--port", "9999"], home)
        assert (done.returncode, done.stdout) == (0, f"no stack runs on port 9999; those that run are on {port}\n")
        assert running.process.poll() is None


def test_down_takes_no_longer_than_what_it_ends(tmp_path):
    """An idle stack has nothing to finish. The bound is half of what it waits for connections that do not end."""
    home = clean_environment(tmp_path)
    with Stack("--sample", env={"XDG_STATE_HOME": home["XDG_STATE_HOME"]}) as running:
        running.get("viewer-01")
        begun = time.monotonic()
        assert run(["down"], home).returncode == 0
        assert time.monotonic() - begun < 1.0

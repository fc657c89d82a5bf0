"""What commands say: that they were sent, what became of them (`--wait`), progress, help.

    python -m pytest tests/e2e/platform/test_outcomes.py
"""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from conftest import DEADLINE, NAGARE, Stack, clean_environment, instant, on_a_terminal, open_battle, open_poll, publish, run, unique, until

UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


@pytest.fixture
def names():
    """An actor, a viewer and an activity that no other test has."""
    return unique("actor"), unique("viewer"), unique("activity")


def follow_args(viewer, actor, *more):
    return ["follow", viewer, actor, *more]


def publish_args(actor, activity, *more):
    return ["publish", "--actor", actor, "--activity", activity, *more]


def update_args(actor, activity, payload, *more):
    return ["update", "--actor", actor, "--activity", activity, "--payload", payload, *more]


def delete_args(actor, activity, *more):
    return ["delete", "--actor", actor, "--activity", activity, *more]


def refused(stack, args):
    done = stack.cli(*args, "--wait", code=1)
    return done.stderr


# Sent ---------------------------------------------------------------------------------------------

def test_a_command_says_that_it_was_sent_and_under_which_id(stack, names):
    actor, viewer, activity = names
    for args, command in [
        (follow_args(viewer, actor), "follow.created"),
        (["unfollow", viewer, actor], "follow.deleted"),
        (publish_args(actor, activity), "activity.published"),
        (update_args(actor, activity, "1"), "activity.updated"),
        (delete_args(actor, activity), "activity.deleted"),
    ]:
        done = stack.cli(*args)
        assert re.fullmatch(rf"sent {command}, message {UUID}\n", done.stdout) and done.stderr == ""
        [printed] = stack.cli_json(*args, "--json")
        assert printed == {"message_id": printed["message_id"], "command": command, "state": "sent"}


def test_the_id_is_that_of_the_message(stack, names):
    """A publish under an id that is taken becomes the dead letter of that message."""
    actor, _, activity = names
    stack.apply(publish(unique("other"), activity))
    [printed] = stack.cli_json(*publish_args(actor, activity), "--json")
    assert stack.dead_letter(printed["message_id"])["reason"] == "conflict"


def test_files_are_summed_up_in_the_right_number(stack, names, tmp_path):
    actor, _, activity = names
    file = tmp_path / "commands.jsonl"
    for count, said in [(0, "0 commands sent\n"), (1, "1 command sent\n"), (2, "2 commands sent\n")]:
        file.write_text("".join(json.dumps(publish(actor, f"{activity}-{n}")) + "\n" for n in range(count)))
        assert stack.cli("publish", "--file", file).stdout == said
        assert stack.cli_json("publish", "--file", file, "--json") == [{"commands": count}]
    assert stack.cli("publish", "--file", file, "--wait", code=2).stdout == ""
    follows = tmp_path / "follows.csv"
    follows.write_text("follower,followee\nbob,anna\n")
    assert stack.cli("follows", "import", follows).stdout == "1 follow imported\n"
    follows.write_text("follower,followee\nbob\n")
    assert "1 bad line:" in stack.cli("follows", "import", follows, code=2).stderr


# Instants -----------------------------------------------------------------------------------------

def test_every_instant_can_be_given(stack, names, tmp_path):
    actor, viewer, activity = names
    hour = instant(hours=-1)
    stack.cli(*publish_args(actor, activity, "--at", instant(hours=-2), "--wait"))
    stack.cli(*follow_args(viewer, actor, "--at", hour, "--wait"))
    assert f"a follow of {hour} holds" in refused(stack, ["unfollow", viewer, actor, "--at", instant(hours=-3)])
    stack.cli(*update_args(actor, activity, '"new"', "--at", hour, "--wait"))
    older = update_args(actor, activity, '"old"', "--at", instant(hours=-3))
    assert "a later update of the activity holds" in refused(stack, older)
    assert stack.page(viewer)["items"][0]["payload"] == "new"
    follows = tmp_path / "follows.csv"
    follows.write_text(f"follower,followee\n{viewer},{actor}\n")
    stack.cli("unfollow", viewer, actor, "--wait")
    stack.cli("follows", "import", follows, "--at", hour)
    assert stack.timeline(viewer) == [], "the unfollow is later"
    stack.cli("follows", "import", follows)
    assert stack.timeline(viewer) == [activity]


# As functions: the workers of one run have to agree on what tests there are.
REFUSED = {"too early": lambda: "2014-12-31T23:59:59Z", "too late": lambda: instant(hours=1), "no instant": lambda: "yesterday"}


@pytest.mark.parametrize("at", REFUSED.values(), ids=REFUSED)
def test_an_instant_that_the_writer_refuses_is_not_sent(stack, names, tmp_path, at):
    actor, viewer, activity = names
    follows = tmp_path / "follows.csv"
    follows.write_text(f"follower,followee\n{viewer},{actor}\n")
    for args in [
        follow_args(viewer, actor), ["unfollow", viewer, actor], publish_args(actor, activity),
        update_args(actor, activity, "1"), ["follows", "import", follows],
    ]:
        done = stack.cli(*args, "--at", at(), code=2)
        assert done.stdout == "" and "at" in done.stderr


# Applied ------------------------------------------------------------------------------------------

def test_what_was_waited_for_is_in_effect(stack, names):
    actor, viewer, activity = names
    applied = r"sent \S+, message \S+\napplied in \d+\.\d{3} s"
    done = stack.cli(*publish_args(actor, activity + "-1", "--wait"))
    assert re.fullmatch(applied + ", 0 entries\n", done.stdout)
    done = stack.cli(*follow_args(viewer, actor, "--wait"))
    assert re.fullmatch(applied + ", 1 entry\n", done.stdout) and len(stack.entries(viewer)) == 1
    stack.cli(*follow_args(unique("viewer"), actor, "--wait"))
    done = stack.cli(*publish_args(actor, activity + "-2", "--wait"))
    assert re.fullmatch(applied + ", 2 entries\n", done.stdout) and len(stack.entries(viewer)) == 2
    done = stack.cli(*update_args(actor, activity + "-2", '"new"', "--wait"))
    assert re.fullmatch(applied + "\n", done.stdout) and stack.page(viewer)["items"][0]["payload"] == "new"
    stack.cli(*delete_args(actor, activity + "-2", "--wait"))
    assert [entry["sort_key"].endswith("-1") for entry in stack.entries(viewer)] == [True]
    stack.cli("unfollow", viewer, actor, "--wait")
    assert stack.entries(viewer) == []


def test_as_json_it_is_one_object(stack, names):
    actor, viewer, activity = names
    stack.cli(*follow_args(viewer, actor, "--wait"))
    [printed] = stack.cli_json(*publish_args(actor, activity), "--wait", "--json")
    assert re.fullmatch(UUID, printed.pop("message_id")) and 0 < printed.pop("seconds") < DEADLINE
    assert printed == {"command": "activity.published", "state": "applied", "entries": 1}


def test_sending_it_again_changes_nothing_and_is_applied(stack, names):
    actor, viewer, activity = names
    at = instant(minutes=-1)
    for _ in range(2):
        stack.cli(*follow_args(viewer, actor, "--at", at, "--wait"))
        assert ", 1 entry\n" in stack.cli(*publish_args(actor, activity, "--at", at, "--wait")).stdout


def test_what_comes_before_its_publish_is_kept_for_it(stack, names):
    actor, viewer, activity = names
    done = stack.cli(*update_args(actor, activity, '"kept"', "--wait"))
    assert "it is kept until the activity is published" in done.stdout
    done = stack.cli(*delete_args(actor, activity + "-2", "--wait"))
    assert "its publish will have no effect" in done.stdout
    stack.cli(*follow_args(viewer, actor, "--wait"))
    assert "deleted, which is permanent" in refused(stack, publish_args(actor, activity + "-2"))
    stack.cli(*publish_args(actor, activity, "--at", instant(minutes=-2), "--wait"))
    assert stack.page(viewer)["items"][0]["payload"] == "kept"


def test_a_fan_out_in_segments_is_waited_for_to_its_end(own_stack, tmp_path):
    count = 2_600
    follows = tmp_path / "follows.csv"
    follows.write_text("follower,followee\n" + "".join(f"v{n},anna\n" for n in range(count)))
    own_stack.cli("follows", "import", follows)
    done = own_stack.cli(*publish_args("anna", "live", "--wait"))
    there = own_stack.entries()
    assert len(there) == count and f", {count} entries\n" in done.stdout
    assert own_stack.cli_json("fanout", "live", "--json")[0]["parts"] > 1, "it was cut into segments"
    own_stack.cli(*delete_args("anna", "live", "--wait"))
    assert own_stack.entries() == []


def test_a_long_outbox_is_waited_for_to_its_end(own_stack):
    count = 1_203
    own_stack.send(*(publish("anna", f"a{n}", instant(seconds=-n - 1)) for n in range(count)))
    own_stack.drain()
    assert f", {count} entries\n" in own_stack.cli(*follow_args("bob", "anna", "--wait")).stdout
    assert len(own_stack.entries("bob")) == count
    own_stack.cli("unfollow", "bob", "anna", "--wait")
    assert own_stack.entries("bob") == []


def test_applied_is_true_while_things_go_wrong():
    """Whatever is slow, lost or repeated: when a command says `applied`, its entries are there."""
    with Stack("--faults=all=3%,seed=11") as stack:
        for n in range(12):
            viewer = f"viewer-{n}"
            done = stack.cli(*follow_args(viewer, "anna", "--wait"))
            assert f", {n} entr" in done.stdout, done.stdout
            assert {entry["sort_key"].rsplit("#", 1)[1] for entry in stack.entries(viewer)} == {f"a{m}" for m in range(n)}
            assert f", {n + 1} entr" in stack.cli(*publish_args("anna", f"a{n}", "--wait")).stdout
            assert sum(entry["sort_key"].endswith(f"#a{n}") for entry in stack.entries()) == n + 1


# Not applied --------------------------------------------------------------------------------------

def test_a_dead_letter_is_told_with_its_reason(stack, names):
    actor, _, activity = names
    other = unique("other")
    stack.apply(publish(other, activity))
    done = stack.cli(*publish_args(actor, activity, "--wait"), code=1)
    id = re.search(UUID, done.stdout)[0]
    assert "applied" not in done.stdout
    assert f"nagare: dead letter {id} (conflict): " in done.stderr
    assert stack.dead_letter(id)["detail"] in done.stderr
    done = stack.cli(*publish_args(actor, activity, "--wait", "--json"), code=1)
    printed = json.loads(done.stdout)
    assert (printed["state"], printed["reason"]) == ("dead-letter", "conflict")


def test_what_was_overtaken_is_told_with_what_holds(stack, names):
    actor, viewer, activity = names
    published = instant(minutes=-1)
    stack.cli(*follow_args(viewer, actor, "--wait"))
    stack.cli(*publish_args(actor, activity, "--at", published, "--payload", "1", "--wait"))
    again = publish_args(actor, activity, "--at", published, "--payload", "2")
    assert "the first publish stays" in refused(stack, again)
    other = unique("other")
    for args in [update_args(other, activity, "3"), delete_args(other, activity)]:
        assert f"the activity is {actor}'s" in refused(stack, args)
    old = publish_args(actor, activity + "-old", "--at", instant(days=-40))
    done = stack.cli(*old, "--wait", "--json")
    printed = json.loads(done.stdout)
    assert printed["state"] == "applied" and "older than retention" in json.dumps(printed), printed
    stack.cli(*delete_args(actor, activity, "--wait"))
    assert "deleted, which is permanent" in refused(stack, update_args(actor, activity, "4"))


@pytest.fixture(scope="module")
def never(stack):
    """Sends to one stack and looks in another: what never comes into effect there."""
    with Stack() as other:
        queue = ("NAGARE_QUEUE_URL", "AWS_ENDPOINT_URL_SQS")
        yield stack.env | {name: other.exports[name] for name in queue}


def test_what_is_not_known_by_the_timeout_is_not_said(never):
    done = run([*follow_args("bob", "anna"), "--wait", "--timeout", "1"], never)
    id = re.search(UUID, done.stdout)[0]
    assert done.returncode == 1 and "applied" not in done.stdout
    assert f"not in effect after 1 s, and no dead letter either; the message {id}" in done.stderr
    done = run([*publish_args("anna", "a"), "--wait", "--timeout", "1", "--json"], never)
    assert done.returncode == 1 and json.loads(done.stdout)["state"] == "unknown"


def handles(pid, number):
    """True once a process has set a handler for a signal."""
    handled = re.search(r"^SigCgt:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.M)
    return int(handled[1], 16) >> (number - 1) & 1


def test_an_interrupted_wait_leaves_the_command_sent(never):
    for more in ([], ["--json"]):
        waiting = subprocess.Popen(
            [NAGARE, *follow_args("bob", "anna"), "--wait", *more],
            env=never, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        until(lambda: handles(waiting.pid, signal.SIGINT), "the wait to begin")
        waiting.send_signal(signal.SIGINT)
        output, errors = waiting.communicate(timeout=DEADLINE)
        assert waiting.returncode == 1
        [id] = set(re.findall(UUID, output))
        assert f"interrupted; the message {id} was sent" in errors


def test_nothing_is_sent_that_could_not_be_waited_for(stack, names):
    actor, viewer, _ = names
    env = {name: value for name, value in stack.env.items() if name != "NAGARE_DEAD_LETTERS_TABLE"}
    done = run([*follow_args(viewer, actor), "--wait"], env)
    assert done.returncode == 2 and "NAGARE_DEAD_LETTERS_TABLE" in done.stderr and done.stdout == ""
    stack.drain()
    stack.apply(publish(actor, unique("a")))
    assert stack.entries(viewer) == []
    assert stack.cli(*follow_args(viewer, actor), "--timeout", "5", code=2).stdout == ""


# Terminals ----------------------------------------------------------------------------------------

def test_progress_has_whole_numbers_with_commas(own_stack, tmp_path):
    follows = tmp_path / "follows.csv"
    follows.write_text("follower,followee\n" + "".join(f"v{n},anna\n" for n in range(5_000)))
    code, written = on_a_terminal(["follows", "import", follows], own_stack.env)
    assert code == 0 and "5000 follows imported" in written
    rates = re.findall(r"\(([^ ]*?)/s", written)
    assert rates and all(re.fullmatch(r"\d{1,3}(,\d{3})*", rate) for rate in rates), set(rates)
    assert re.search(r"\d of 5,000 ", written)


def test_nothing_but_text_goes_where_no_terminal_is(own_stack, tmp_path):
    posts, follows = tmp_path / "posts.csv", tmp_path / "follows.csv"
    follows.write_text("follower,followee\n" + "".join(f"v{n},anna\n" for n in range(2_000)))
    posts.write_text("t,author,kind\n1,anna,post\n2,anna,post\n")
    env = own_stack.env | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    for args in [
        ["follows", "import", follows], ["replay", posts], publish_args("anna", "a", "--wait"), ["fanout", "a"],
        ["audit", "--sample", "50"], ["dead-letters", "list"], ["dead-letters", "redrive", "--all"], ["forget", "v1"],
        ["timeline", "v2"], ["timeline", "nobody"], ["publish"], ["no-such-command"], ["--help"], ["publish", "--help"],
        ["env"], ["down"],
    ]:
        done = run(args, env)
        assert "\x1b" not in done.stdout + done.stderr and "\r" not in done.stdout + done.stderr, args
    assert "\x1b" not in own_stack.log.read_text()


def subcommands(env, before=()):
    """All commands there are, those of commands included."""
    help = run([*before, "--help"], env).stdout
    # Those of the program itself are in groups.
    headings = "Commands" if before else "(?!Options|Usage)[A-Z][a-z ]+"
    listed = "".join(re.findall(rf"^{headings}:\n(.*?)\n\n", help, re.S | re.M))
    found = [before]
    for name in re.findall(r"^  ([a-z][a-z-]*)", listed, re.M):
        if name != "help":
            found += subcommands(env, (*before, name))
    return found


@pytest.mark.parametrize("columns", [60, 80])
def test_help_is_wrapped_to_the_terminal(tmp_path, columns):
    env = clean_environment(tmp_path)
    commands = subcommands(env)
    assert ("follows", "import") in commands
    for command in commands:
        if not command and columns < 80:
            continue  # The groups are as wide as a terminal usually is.
        code, written = on_a_terminal([*command, "--help"], env, columns)
        assert code == 0
        text = re.sub(r"\x1b\[[0-9;]*m", "", written)
        # Usage is to be copied, and is not wrapped.
        text = re.sub(r"^Usage:.*?\n\r?\n", "", text, flags=re.S | re.M)
        long = [line for line in text.splitlines() if len(line) > columns]
        assert not long, (command, long)


@pytest.mark.parametrize("command, usage", [
    (["publish"], ["--actor <ACTOR> --activity <ACTIVITY> [OPTIONS]", "--file <FILE> [--json]"]),
    (["update"], ["--actor <ACTOR> --activity <ACTIVITY> --payload <PAYLOAD>"]),
    (["delete"], ["--actor <ACTOR> --activity <ACTIVITY>"]),
    (["follow"], ["<FOLLOWER> <FOLLOWEE>"]),
    (["audit"], ["<--viewer <VIEWER>...|--activity <ACTIVITY>...|--poll <POLL>...|--battle <BATTLE>...|--room <ROOM>...|--liked|--tenant <TENANT>|--sample <SAMPLE>>"]),
    (["dead-letters", "redrive"], ["<IDS|--reason <REASON>|--all>"]),
    (["estimate"], ["<--followers-csv <FILE> --posts-csv <FILE>|--deliveries-per-day <N>>"]),
])
def test_what_is_required_is_shown_as_required(tmp_path, command, usage):
    env = clean_environment(tmp_path)
    help = run([*command, "--help"], env).stdout
    shown = re.search(r"^Usage:.*?\n\n", help, re.S | re.M)[0]
    assert all(part in shown for part in usage), shown
    refused = run(command, env)
    assert refused.returncode == 2 and re.search("required|is missing", refused.stderr)


# Without effect -----------------------------------------------------------------------------------

def without_effect(stack, says, *args):
    """It exits 1, says why in words and in JSON, and sends no colours into a pipe."""
    done = stack.cli(*args, "--wait", code=1)
    assert f"nagare: without effect: {says}" in done.stderr and "\x1b" not in done.stderr
    done = stack.cli(*args, "--wait", "--json", code=1)
    printed = json.loads(done.stdout)
    assert printed["state"] == "overtaken" and says in printed["detail"], printed


def test_a_vote_that_cannot_count_says_so(stack):
    over, runs, coming = (unique(name) for name in ("over", "runs", "coming"))
    stack.apply(
        open_poll("anna", over, ["a", "b"], instant(hours=-2), instant(hours=-1)),
        open_poll("anna", runs, ["a", "b"], instant(hours=-2), instant(hours=1)),
        open_poll("anna", coming, ["a", "b"], instant(hours=1), instant(hours=2)),
    )
    without_effect(stack, "the poll was closed at", "vote", "bob", over, "a")
    without_effect(stack, "that is no choice of the poll; it has a, b", "vote", "bob", runs, "c")
    without_effect(stack, "the poll opens at", "vote", "bob", coming, "a")
    assert stack.cli("vote", "bob", runs, "a", "--wait").stdout.endswith(" s\n"), "one that counts says no more"
    [unknown] = stack.cli_json("vote", "bob", unique("unknown"), "a", "--wait", "--json")
    assert unknown["state"] == "applied" and "there is no such poll yet" in unknown["detail"]


def test_a_hit_after_the_defeat_says_so(stack):
    battle = unique("battle")
    stack.apply(open_battle("anna", battle, 10))
    assert "applied" in stack.cli("battle", "hit", battle, "bob", "10", "--wait").stdout
    without_effect(stack, "the boss was defeated before this hit", "battle", "hit", battle, "bob", "1")


def test_a_like_of_an_unknown_activity_says_so(stack):
    activity = unique("activity")
    done = stack.cli("like", "bob", activity, "--wait")
    assert "applied" in done.stdout and "there is no such activity: the like counts only once it is published" in done.stdout
    [printed] = stack.cli_json("like", "bob", activity, "--wait", "--json")
    assert printed["state"] == "applied" and "no such activity" in printed["detail"]
    stack.apply(publish("anna", activity))
    assert "no such activity" not in stack.cli("like", "bob", activity, "--wait").stdout


def test_on_a_terminal_it_is_yellow(stack):
    args = ["like", "bob", unique("activity"), "--wait"]
    assert "\x1b[33mapplied" in on_a_terminal(args, stack.env)[1]
    assert "\x1b[33m" not in on_a_terminal(args, stack.env | {"NO_COLOR": "1"})[1]

"""What every command does when nobody reads what it prints, when the disk is full, and when its input can be read
only once.

    python -m pytest tests/e2e/platform/test_output.py
"""

import json
import os
import resource
import signal
import subprocess

import pytest

from conftest import (
    NAGARE, Stack, body, clean_environment, follow, instant, like, open_battle, on_a_terminal, open_poll, publish, run, say, tag, unique, until,
)

ESTIMATE = ["estimate", "--deliveries-per-day", "1000", "--reads-per-day", "1000"]


class Scene:
    """A stack in which every command has something to print, and the files that commands read."""

    def __init__(self, stack, folder):
        self.stack, self.folder = stack, folder
        self.viewer, self.actor = unique("viewer"), unique("actor")
        self.activity = unique("activity")
        stack.apply(follow(self.viewer, self.actor, instant(days=-1)), publish(self.actor, self.activity))
        [stray] = [{"viewer_id": unique("stray"), "sort_key": f"{instant(minutes=-5)}#stray", "actor_id": "nobody"}]
        stack.dynamodb.put_item(TableName=stack.table, Item={name: {"S": value} for name, value in stray.items()})
        self.differs = stray["viewer_id"]
        self.ids = stack.send(*["not json"] * 4)
        for id in self.ids:
            stack.dead_letter(id)

    def file(self, name, text):
        path = self.folder / f"{unique()}-{name}"
        path.write_text(text)
        return path

    def follows(self):
        return self.file("follows.csv", f"follower,followee\n{self.viewer},{self.actor}\n")

    def posts(self):
        return self.file("posts.csv", f"t,author,kind\n1000,{unique('author')},live\n")

    def commands(self):
        return self.file("commands.jsonl", body(follow(self.viewer, self.actor)) + "\n")


@pytest.fixture(scope="module")
def scene(stack, tmp_path_factory):
    return Scene(stack, tmp_path_factory.mktemp("files"))


# Every command that prints to standard output, and its exit code if all of it is read.
PRINTS = {
    "help": (lambda s: ["--help"], 0),
    "help of a command": (lambda s: ["replay", "--help"], 0),
    "version": (lambda s: ["--version"], 0),
    "follows import": (lambda s: ["follows", "import", s.follows()], 0),
    "publish a file": (lambda s: ["publish", "--file", s.commands()], 0),
    "replay": (lambda s: ["replay", s.posts()], 0),
    "replay as JSON": (lambda s: ["replay", s.posts(), "--json"], 0),
    "timeline": (lambda s: ["timeline", s.viewer], 0),
    "timeline as JSON": (lambda s: ["timeline", s.viewer, "--all", "--json"], 0),
    "dead-letters list": (lambda s: ["dead-letters", "list"], 0),
    "dead-letters list by reason": (lambda s: ["dead-letters", "list", "--reason", "not-json"], 0),
    "dead-letters list as JSON": (lambda s: ["dead-letters", "list", "--json"], 0),
    "dead-letters show": (lambda s: ["dead-letters", "show", s.ids[0]], 0),
    "dead-letters show all": (lambda s: ["dead-letters", "show", "--all"], 0),
    "dead-letters redrive": (lambda s: ["dead-letters", "redrive", "--reason", "conflict"], 0),
    "dead-letters drop": (lambda s: ["dead-letters", "drop", "--reason", "conflict"], 0),
    "fanout": (lambda s: ["fanout", s.activity], 0),
    "audit": (lambda s: ["audit", "--viewer", s.differs], 1),
    "audit as JSON": (lambda s: ["audit", "--viewer", s.differs, "--json"], 1),
    "forget": (lambda s: ["forget", unique("nobody")], 0),
    "forget as JSON": (lambda s: ["forget", unique("nobody"), "--json"], 0),
    "estimate": (lambda s: ESTIMATE, 0),
    "estimate as JSON": (lambda s: [*ESTIMATE, "--json"], 0),
    "up": (lambda s: ["up", "--port", "0"], None),
}
COMMANDS = pytest.mark.parametrize("args, code", PRINTS.values(), ids=PRINTS)


def printing(args, env, **streams):
    args = [NAGARE, *map(str, args)]
    return subprocess.run(args, env=env, text=True, timeout=60, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams})


def closed():
    """The end of a pipe that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    return write


@COMMANDS
def test_each_of_these_prints(scene, args, code):
    """Or the tests below would show nothing."""
    if code is not None:
        done = printing(args(scene), scene.stack.env)
        assert done.stdout and done.returncode == code, done.stderr


@COMMANDS
def test_a_reader_who_has_seen_enough_is_no_failure(scene, args, code):
    """As in `nagare dead-letters list | head -2`. Nor does it hide that the answer is no."""
    pipe = closed()
    try:
        done = printing(args(scene), scene.stack.env, stdout=pipe)
    finally:
        os.close(pipe)
    assert done.returncode == (code or 0), done.stderr
    assert "panick" not in done.stderr and "Broken pipe" not in done.stderr
    assert code or not any(line.startswith("nagare: ") for line in done.stderr.splitlines()), done.stderr


@COMMANDS
def test_a_full_disk_is_told_with_its_path(scene, args, code):
    with open("/dev/full", "w") as full:
        done = printing(args(scene), scene.stack.env, stdout=full)
    assert done.returncode == 1, done.stderr
    if code != 1:
        assert "nagare: standard output cannot be written: No space left on device (os error 28): /dev/full" in done.stderr


@pytest.mark.parametrize("where", ["closed pipe", "full disk"])
def test_nobody_reads_what_goes_wrong(scene, where):
    """Standard error, too, may be gone; what was to be done is done, and the exit code is the same."""
    viewer, actor = unique("viewer"), unique("actor")
    lines = "".join(f"{viewer},bad#{n}\n" for n in range(5_000))
    edges = scene.file("edges.csv", f"follower,followee\n{lines}{viewer},{actor}\n")
    for args, code in [
        (["follows", "import", "--skip-bad", edges], 0),
        (["follows", "import", edges], 2),
        (["follow", "bob"], 2),
        (["dead-letters", "show", "no-such-id"], 1),
        (["dead-letters", "drop", "no-such-id"], 1),
        (["audit", "--viewer", scene.differs], 1),
    ]:
        error = closed() if where == "closed pipe" else os.open("/dev/full", os.O_WRONLY)
        try:
            assert printing(args, scene.stack.env, stderr=error).returncode == code, args
        finally:
            os.close(error)
    scene.stack.apply(publish(actor, unique("a")))
    assert len(scene.stack.timeline(viewer)) == 1


def test_work_goes_on_when_nobody_reads_any_more(own_stack):
    """A repair whose output is closed repairs everything."""
    viewers = [f"viewer-{n}" for n in range(20)]
    own_stack.apply(*(follow(viewer, "anna") for viewer in viewers[:2]))
    for viewer in viewers:
        stray = {"viewer_id": viewer, "sort_key": f"{instant(minutes=-5)}#stray", "actor_id": "nobody"}
        own_stack.dynamodb.put_item(TableName=own_stack.table, Item={name: {"S": value} for name, value in stray.items()})
    pipe = closed()
    try:
        done = printing(["audit", "--viewer", *viewers, "--repair"], own_stack.env, stdout=pipe)
    finally:
        os.close(pipe)
    assert done.returncode == 0 and "20 differences" in done.stderr, done.stderr
    assert own_stack.entries() == []


# A copy that cannot be written ----------------------------------------------------------------------

def limited():
    """Files of this process cannot grow beyond 64 KiB; the write fails as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, 2**16))


INPUTS = {
    "publish": (["publish", "--file", "-"], lambda: (body(follow("bob", "anna")) + "\n") * 2_000),
    "follows import": (["follows", "import", "-"], lambda: "follower,followee\n" + "bob,anna\n" * 20_000),
    "replay": (["replay", "-"], lambda: "t,author,kind\n" + "".join(f"{n},anna,live\n" for n in range(10_000))),
}


@pytest.mark.parametrize("args, text", INPUTS.values(), ids=INPUTS)
def test_a_copy_that_does_not_fit_is_told_with_its_path(stack, tmp_path, args, text):
    env = stack.env | {"TMPDIR": str(tmp_path)}
    done = printing(args, env, input=text(), preexec_fn=limited)
    assert done.returncode == 1, done.stderr
    assert f"standard input cannot be copied to {tmp_path}/" in done.stderr and "File too large" in done.stderr
    assert "TMPDIR" in done.stderr and list(tmp_path.iterdir()) == []
    done = printing(args, stack.env | {"TMPDIR": f"{tmp_path}/none"}, input=text())
    assert done.returncode == 1 and f"{tmp_path}/none" in done.stderr
    assert stack.waiting() == 0


# What can be read only once -------------------------------------------------------------------------

def test_process_substitution_is_read_once(own_stack, tmp_path):
    """`<(…)`, of every command that reads a file, packed and unpacked."""
    stack = own_stack

    def bash(command):
        done = subprocess.run(["bash", "-c", command, "bash", NAGARE], env=stack.env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    (tmp_path / "follows.csv").write_text("follower,followee\nbob,anna\n")
    (tmp_path / "posts.csv").write_text("t,author,kind\n1000,anna,live\n1060,anna,live\n")
    (tmp_path / "commands.jsonl").write_text(body(publish("anna", "sent")) + "\n")
    assert bash(f'"$1" follows import <(cat {tmp_path}/follows.csv)') == "1 follow imported\n"
    assert bash(f'"$1" publish --file <(cat {tmp_path}/commands.jsonl)') == "1 command sent\n"
    assert json.loads(bash(f'"$1" replay --json <(gzip -c {tmp_path}/posts.csv)'))["entries"] == 2
    estimate = f'"$1" estimate --followers-csv <(cat {tmp_path}/follows.csv) --posts-csv <(cat {tmp_path}/posts.csv)'
    assert "A month" in bash(f"{estimate} --reads-per-day 10 --prices <(echo '{{}}')")
    stack.drain()
    assert sorted(stack.timeline("bob")) == ["anna-1000", "anna-1060", "sent"]


def test_a_stray_quote_is_one_bad_line(own_stack, tmp_path):
    """Ids contain no quotes, so no line is swallowed by one."""
    file = tmp_path / "follows.csv"
    good = [f"bob,actor-{n}" for n in range(1_000)]
    file.write_text("follower,followee\n" + "\n".join([*good[:500], 'bob,"stray', *good[500:]]) + "\n")
    refused = own_stack.cli("follows", "import", file, code=2)
    assert "line 502" in refused.stderr and "1 bad line:" in refused.stderr
    done = own_stack.cli("follows", "import", "--skip-bad", file)
    assert done.stdout == "1000 follows imported\n" and done.stderr.count("line ") == 1
    own_stack.apply(publish("actor-999", "last"))
    assert own_stack.timeline("bob") == ["last"]


# What strangers wrote ---------------------------------------------------------------------------------

# As it is, where SQS takes it, and written with JSON's escapes where it does not.
RAW = "a\x7fb\x85c\x9b31md\u061ce\u200ff\u202eg\u2066h\u2028i\u2029j"
ESCAPED = "k\x1b[2Jl\x07m\x00n\r"
STEERS = set("\x00\x07\x1b\x7f\x85\x9b\u061c\u200f\u202e\u2066\u2028\u2029\r")


def payload():
    """The text of a payload that has both."""
    escaped = json.dumps(ESCAPED)[1:-1]
    return f'{{"text":"{RAW}{escaped}","{RAW}":["{RAW}"]}}'


def with_payload(command):
    """A body whose payload is exactly that."""
    return body(command | {"payload": None}).replace("null", payload(), 1)


@pytest.fixture(scope="module")
def strangers(stack):
    """Somebody whose follower, room, poll and battle have such texts."""
    names = {name: unique(name) for name in ("viewer", "actor", "live", "room", "poll", "battle")}
    viewer, actor, live, room, poll, battle = names.values()
    stack.apply(follow(viewer, actor), follow(actor, actor))
    stack.send(
        with_payload(publish(actor, live)),
        with_payload(say(room, "m1", viewer)),
        # A message that is shown as its text alone.
        body(say(room, "m2", viewer) | {"payload": {"text": RAW + ESCAPED}}),
        with_payload(open_poll(actor, poll, ["a", "b"], instant(hours=-1), instant(hours=1))),
        with_payload(open_battle(actor, battle, 10)),
    )
    stack.drain()
    stack.send(like(viewer, live), tag(live, viewer))
    [letter] = stack.send(f'{{"type":"{RAW}"}}')
    stack.drain()
    stack.dead_letter(letter)
    until(lambda: stack.notifications(actor)["items"], "the notification")
    return names | {"letter": letter}


def texts(value):
    """Every text in a JSON value, names of members included."""
    if isinstance(value, dict):
        return [text for name, one in value.items() for text in (name, *texts(one))]
    if isinstance(value, list):
        return [text for one in value for text in texts(one)]
    return [value] if isinstance(value, str) else []


# What reads something, and in which forms.
PAGES = ["", "--json", "--json=pages"]
READS = {
    "timeline": (lambda s: ["timeline", s["viewer"]], PAGES),
    "page": (lambda s: ["page", s["actor"]], PAGES),
    "tagged": (lambda s: ["tagged", s["viewer"]], PAGES),
    "room": (lambda s: ["room", s["room"]], PAGES),
    "notifications": (lambda s: ["notifications", s["actor"]], ["", "--json"]),
    "poll": (lambda s: ["poll", "show", s["poll"]], ["", "--json"]),
    "battle": (lambda s: ["battle", "show", s["battle"]], ["", "--json"]),
    "letters": (lambda s: ["dead-letters", "list", "--reason", "unknown-type"], ["", "--json"]),
    "letter": (lambda s: ["dead-letters", "show", s["letter"]], [""]),
}
# These say ids and what is wrong, not what was sent.
OWN_WORDS = {"notifications", "letters"}


@pytest.mark.parametrize("name", READS)
def test_texts_of_strangers_steer_no_terminal(stack, strangers, name):
    args, forms = READS[name]
    args = args(strangers)
    for form in forms:
        printed = stack.cli(*args, *filter(None, [form]))
        for text in (printed.stdout, printed.stderr):
            assert not STEERS & set(text), (args, form, text)
        if name in OWN_WORDS:
            continue
        if form or name == "letter":
            values = [json.loads(line) for line in printed.stdout.splitlines()] if form else json.loads(printed.stdout)
            assert any(RAW in text for text in texts(values)), "JSON says what is there"
        else:
            assert "\\u009b31m" in printed.stdout, printed.stdout
    # There `show` draws over what it has drawn, and what reads letters says how far it is.
    if name not in ("poll", "battle", "letters", "letter"):
        code, drawn = on_a_terminal(args, stack.env)
        assert code == 0 and not STEERS & set(drawn.replace("\r\n", "\n")), (args, drawn)


def test_the_log_of_a_stack_has_no_sequences_of_its_own():
    """Not even as escapes."""
    with Stack(env={"NAGARE_LOG": "info"}) as stack:
        stack.cli("follow", "bob", "anna", "--wait")
        applied = until(lambda: [line for line in stack.log.read_text().splitlines() if " applied " in line], "a line")
    assert 'command="follow.created"' in applied[0] and "\\u{" not in applied[0], applied


def test_what_is_read_by_people_stays_as_it_is(stack):
    viewer, room = unique("viewer"), unique("room")
    said = "日本語 é e\u0301 नमस्ते 👩\u200d👧 \"quoted\" 'and' \\n"
    stack.apply(say(room, "m1", viewer, payload={"text": said}))
    assert said in stack.cli("room", room).stdout


@pytest.mark.parametrize("args", [["timeline", f"a{RAW}"], ["follow", f"a{RAW}", "b"], ["dead-letters", "show", RAW], ["room", "r", f"--{RAW}"]])
def test_what_was_typed_steers_no_terminal_either(stack, args):
    done = stack.cli(*args, code=None)
    assert done.returncode and not STEERS & set(done.stdout + done.stderr), done.stderr

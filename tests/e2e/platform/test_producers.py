"""docs/PRODUCERS.md: its snippets do what the page says. What is run here is cut out of the page."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import ROOT, follow, publish, unique

PAGE = (ROOT / "docs/PRODUCERS.md").read_text()


def blocks(language):
    """The fenced blocks of one language, in the order of the page: the later build on the earlier."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


PYTHON = "\n".join(blocks("python"))
_, _, ONE_BY_ONE, BATCH = blocks("sh")


def run(stack, folder, *command):
    """With nothing but the exports, and the tools that the tests were installed with."""
    tools = str(Path(sys.executable).parent)
    env = {**stack.env, "PATH": os.pathsep.join([tools, stack.env["PATH"]])}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120)


def succeeds(done):
    assert (done.returncode, done.stderr) == (0, "")


def shell(stack, folder, text):
    return run(stack, folder, "bash", "-euo", "pipefail", "-c", text)


def test_the_python(own_stack, tmp_path):
    (tmp_path / "producer.py").write_text(PYTHON)
    succeeds(run(own_stack, tmp_path, sys.executable, "producer.py"))
    own_stack.drain()
    [item] = own_stack.page("bob")["items"]
    assert item["activity_id"].startswith("live-")
    assert (item["kind"], item["payload"]) == ("live", {"title": "Speedrun"})
    assert all(own_stack.timeline(f"fan-{n}") == [item["activity_id"]] for n in range(25))
    # Run again it publishes another activity.
    succeeds(run(own_stack, tmp_path, sys.executable, "producer.py"))
    own_stack.drain()
    assert own_stack.page("bob")["items"][1:] == [item]
    assert own_stack.dead_letters() == []


@pytest.fixture
def producer(stack, monkeypatch, tmp_path):
    """The Python as a module whose functions can be called, and which does not wait between its tries."""
    for name, value in stack.exports.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "producer.py").write_text(PYTHON)
    spec = importlib.util.spec_from_file_location("producer", tmp_path / "producer.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.time = SimpleNamespace(sleep=lambda seconds: None)
    return module


class Unwell:
    """SQS that takes the first of every batch only, N times, and says that this is its own fault."""

    def __init__(self, sqs, times):
        self.sqs, self.times, self.calls = sqs, times, 0

    def send_message_batch(self, QueueUrl, Entries):
        self.calls += 1
        taken = 1 if self.calls <= self.times else len(Entries)
        answer = self.sqs.send_message_batch(QueueUrl=QueueUrl, Entries=Entries[:taken])
        left = [{"Id": one["Id"], "SenderFault": False, "Message": "unwell"} for one in Entries[taken:]]
        return {**answer, "Failed": answer.get("Failed", []) + left}


def some_publishes(count):
    """A viewer's follow, and activities that then have to be in their timeline."""
    viewer, actor, names = unique("viewer"), unique("actor"), [unique("a") for _ in range(count)]
    return viewer, names, [follow(viewer, actor), *(publish(actor, name) for name in names)]


def test_what_failed_for_a_while_is_sent_again_and_only_that(stack, producer):
    viewer, names, commands = some_publishes(12)
    producer.sqs = Unwell(producer.sqs, times=4)
    assert producer.send_all(commands) == []
    # Of the first ten, one is taken by each of four calls, and the rest by the fifth; then the last three.
    assert producer.sqs.calls == 6
    stack.drain()
    assert sorted(stack.timeline(viewer)) == sorted(names)


def test_it_gives_up_in_the_end(producer):
    _, _, commands = some_publishes(9)
    producer.sqs = Unwell(producer.sqs, times=99)
    with pytest.raises(TimeoutError, match="2 commands"):
        producer.send_all(commands)


def test_what_sqs_refuses_comes_back_and_the_others_go_through(stack, producer):
    viewer, names, commands = some_publishes(12)
    commands[7]["payload"] = "\uffff"
    [(command, reason)] = producer.send_all(commands)
    assert command == commands[7] and "characters" in reason
    stack.drain()
    assert sorted(stack.timeline(viewer)) == sorted(set(names) - {commands[7]["activity_id"]})


def test_the_shell(own_stack, tmp_path):
    succeeds(shell(own_stack, tmp_path, ONE_BY_ONE))
    own_stack.drain()
    [post] = own_stack.timeline("carla")
    assert re.fullmatch(r"post-\d+", post)
    # The batch deletes what was published, and has somebody else follow.
    at = ONE_BY_ONE.splitlines()[0]
    succeeds(shell(own_stack, tmp_path, f"{at}\npost={post}\n{BATCH}"))
    own_stack.drain()
    own_stack.apply(publish("anna", "post-18"))
    assert own_stack.timeline("carla") == own_stack.timeline("emil") == ["post-18"]
    assert own_stack.dead_letters() == []


def test_the_shell_notices_what_was_refused(own_stack, tmp_path):
    """A character that SQS does not take, in the second of the two."""
    broken = BATCH.replace("$post", r"$post\u0001")
    done = shell(own_stack, tmp_path, "at=2026-01-01T00:00:00Z\npost=post-17\n" + broken)
    assert done.returncode == 1 and done.stderr.startswith("1\tTrue\t")
    # The first was sent.
    own_stack.drain()
    own_stack.apply(publish("anna", "post-18"))
    assert own_stack.timeline("emil") == ["post-18"]


# Every command -------------------------------------------------------------------------------------------------

SCHEMA = json.loads((ROOT / "docs/schemas/command.schema.json").read_text())
EXAMPLES = [SCHEMA["$defs"][one["$ref"].removeprefix("#/$defs/")]["examples"][0] for one in SCHEMA["oneOf"]]
# As the page says it; tests/functions/platform/requests/mod.rs compares the same sentence with what `nagare` sends.
[SENTENCE] = re.findall(r"Set `MessageGroupId` to the first of these members that the command has: ([^.]*)\.", PAGE)
GROUPS = re.findall(r"`(\w+)`", SENTENCE)


def group(command):
    about = command["events"][0] if "events" in command else command
    return next(about[name] for name in GROUPS if name in about)


def test_what_is_made_from_the_schema_is_up_to_date():
    made = subprocess.run([sys.executable, ROOT / "tests/clients/producers.py"], capture_output=True, text=True)
    assert made.returncode == 0, made.stdout + made.stderr


def test_the_table_has_every_command():
    [_, table] = PAGE.split("| when | `type` | members |\n")
    rows = re.findall(r"^\| [^|]+ \| `([\w.]+)` \| ", table.split("\n\n")[0], re.MULTILINE)
    assert rows == [example["type"] for example in EXAMPLES]


def test_the_python_knows_every_command(producer):
    assert list(producer.GROUPS) == GROUPS
    for example in EXAMPLES:
        message = producer.message(example)
        assert json.loads(message["MessageBody"]) == example
        assert message["MessageGroupId"] == group(example), example["type"]


def test_the_typescript_knows_every_command(stack, modules, tmp_path):
    """Its type admits every example of the schema and no command of another type; its groups are those of the page."""
    [program] = blocks("ts")
    (tmp_path / "node_modules").symlink_to(modules)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    # Without what it sends by itself.
    helper = program[: program.index("\nawait send(")]
    examples = f"const examples: Command[] = {json.dumps(EXAMPLES)};\n"
    printing = "console.log(JSON.stringify(examples.map((one) => message(one).MessageGroupId)));\n"
    compiler = tmp_path / "node_modules/.bin/tsc"
    options = ["--strict", "--module", "nodenext", "--target", "es2023", "--types", "node", "examples.ts"]
    (tmp_path / "examples.ts").write_text(helper + examples + printing)
    succeeds(run(stack, tmp_path, str(compiler), *options))
    done = run(stack, tmp_path, "node", "examples.js")
    assert json.loads(done.stdout) == [group(example) for example in EXAMPLES], done.stderr
    (tmp_path / "examples.ts").write_text(helper + 'const bad: Command = { type: "nothing.happened", actor_id: "anna" };\n')
    assert run(stack, tmp_path, str(compiler), *options).returncode != 0

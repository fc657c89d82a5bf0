"""Every example of README.md and docs/*.md is run as it stands there: on one stack, page after page, and all of it twice.

A reader tries more than one page, and the same page again. So no two examples may use one id for different
things, and none may publish an id twice. A block that is not run here is listed below with the reason.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import NAGARE, PACKAGES, ROOT, Stack

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^( *)```(sh|text|python|ts|jsonl|json|toml)\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
# Lines that build, start or end the stack, or find it: here one runs already.
STACK = re.compile(r"\s*(cargo build|sleep|source|eval|PATH=|\S*nagare (up|env|down)\b)|^\s*$")


class Block:
    """A fenced block: its page, its language, and its text without what it is indented by."""

    def __init__(self, page, indent, language, text):
        self.page, self.language = page.name, language
        self.text = re.sub(rf"^{indent}", "", text, flags=re.MULTILINE)
        self.first = self.text.splitlines()[0]

    def __repr__(self):
        return f"{self.page}: {self.first}"


def all_blocks():
    return [Block(page, *match) for page in PAGES for match in BLOCK.findall(page.read_text())]


# What is not run here ------------------------------------------------------------------------------------------

BUILDS = "builds the project or installs a tool; CI does that by other steps"
MEASURES = "is a measurement or a long test, whose figures the page has"
ACCOUNT = "needs an account; tests/deploy/ does it on an emulator"
WHEEL = "is run by tests/wheel/run.sh"
FORM = "is no command: it shows the form of something"

# By page: something that is in the block and in no other, and why it is not run here.
ELSEWHERE = {
    "README.md": {"cargo ": BUILDS, "maturin ": WHEEL, "pip install dist/": WHEEL},
    "ARCHITECTURE.md": {"": FORM},
    "CLI.md": {"next_cursor": FORM, "notification_id": FORM, "█": FORM, "defeated": FORM, "process 41213": FORM,
               "nagare completions": "writes below the reader's home; test_commands.py has both commands"},
    "CLIENTS.md": {"──GET──": FORM, "/example/": "is opened in a browser by tests/console/test_example.py",
                   '"detail-type"': FORM, "aws events": ACCOUNT},
    "DEPLOYING.md": {"pip ": ACCOUNT, "sha256sum": "needs the files of a release"},
    "FAULTS.md": {"NAGARE_": MEASURES, "cargo test": MEASURES, "python -m pytest": MEASURES, "mount": MEASURES,
                  "nagare up": "starts stacks that fail on purpose; test_faults.py has them all"},
    "LOCAL.md": {"An error occurred": FORM, "openapi-python-client": "is run by test_clients.py, in a folder that is new each time",
                 "nagare events advance": "needs a stack whose clock is set; test_events.py has the commands",
                 "cargo lambda watch": "is run by tests/deploy/watch.sh",
                 "nagare follows import follows.csv.gz": "needs files of the reader's own; test_boto3.py has both commands"},
    "OPERATIONS.md": {"name=": ACCOUNT, "mapping=": ACCOUNT, "aws ": ACCOUNT, "$ nagare estimate": MEASURES,
                      "{": FORM, "filter": FORM},
    "PERFORMANCE.md": {"": MEASURES},
    "PRODUCERS.md": {'{\n  "Version"': FORM, '{\n  "type": "events.recorded"': FORM, '{"type": "notifications.read"': FORM, '{"type": "poll.opened"': FORM, '{"type": "message.posted"': FORM,
                     '{"type": "battle.opened"': FORM, "# samconfig.toml": FORM},
    "SCALE.md": {"": MEASURES},
    "TESTING.md": {"npm i": MEASURES, "cargo install": MEASURES, "": MEASURES},
}


def elsewhere(block):
    return any(part in block.text for part in ELSEWHERE.get(block.page, {}))


# How the others are run ----------------------------------------------------------------------------------------

class Reader:
    """Somebody who pastes examples into a shell, in a folder of their own, one after the other."""

    def __init__(self, stack, guarded, folder, modules):
        self.stack, self.guarded, self.folder, self.modules = stack, guarded, folder, modules
        tools = [str(Path(NAGARE).parent), str(Path(sys.executable).parent), os.environ["PATH"]]
        # curl fails where the API refuses, as readers would notice.
        (folder / ".curlrc").write_text("fail\nsilent\nshow-error\n")
        self.tools = {"PATH": os.pathsep.join(tools), "CURL_HOME": str(folder)}
        self.python = self.assigned = ""

    def tries(self, block):
        """Runs a block; true if this class knows how."""
        how = getattr(self, f"_{block.language}")
        return how(block) is not False

    def shell(self, text):
        """Against the stack, or, if the text makes tokens, against one that demands them."""
        stack = self.guarded if "nagare token" in text else self.stack
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=self.folder, env=stack.env | self.tools,
                              capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        stack.drain()

    def _sh(self, block):
        if block.first == "npm install":
            return self._compiled(block)
        lines = block.text.replace("\\\n", " ").splitlines()
        kept = [line for line in lines if not STACK.match(line) and "cloudformation" not in line]
        if block.first.startswith("nagare dead-letters"):
            # The others want the id of a letter, and there is none.
            kept = kept[:1]
        # What one block assigns, as `at=…`, the next may use.
        mine = "\n".join(line for line in kept if re.match(r"\w+=", line))
        if block.first.startswith("cat >"):
            return self.shell(f"{self.assigned}\n{block.text}")
        self.assigned = mine
        self.shell("\n".join(kept))

    def _text(self, block):
        """A session: lines after a `$ ` are typed, the others are what was printed."""
        typed = [line[2:] for line in block.text.splitlines() if line.startswith("$ ")]
        return self.shell("\n".join(typed)) if typed else False

    def _jsonl(self, block):
        (self.folder / "commands.jsonl").write_text(block.text)
        self.shell("nagare publish --file commands.jsonl")

    def _python(self, block):
        self.python += block.text
        (self.folder / "producer.py").write_text(self.python)
        self.shell("python producer.py")

    def _json(self, block):
        if '"devDependencies"' not in block.text:
            return False
        (self.folder / "package.json").write_text(block.text)
        pinned = json.loads((PACKAGES / "package.json").read_text())
        for kind in ("dependencies", "devDependencies"):
            wanted = {name: version.lstrip("^") for name, version in json.loads(block.text)[kind].items()}
            assert wanted == pinned[kind], "the page has other versions than tests/e2e/typescript"

    def _ts(self, block):
        (self.folder / "producer.ts").write_text(block.text)

    def _compiled(self, block):
        link = self.folder / "node_modules"
        if not link.exists():
            link.symlink_to(self.modules)
        (self.folder / "producer.js").unlink(missing_ok=True)
        self.shell("\n".join(block.text.splitlines()[1:]))

    def _toml(self, block):
        return False


@pytest.fixture(scope="module")
def reader(tmp_path_factory, modules):
    with Stack() as stack, Stack("--auth") as guarded:
        yield Reader(stack, guarded, tmp_path_factory.mktemp("reader"), modules)


@pytest.mark.parametrize("time", ["first time", "second time"])
def test_all_examples_on_one_stack(reader, time):
    tried = []
    before = len(reader.stack.page("bob", limit=100)["items"])
    reader.python = ""
    for block in all_blocks():
        if elsewhere(block):
            continue
        assert reader.tries(block), f"{block!r} is neither run nor listed with a reason"
        tried.append(block)
        # Named at once, and not at the end, to see which example it was.
        assert reader.stack.dead_letters() == [], f"{block!r} leaves a dead letter"
    pages = {block.page for block in tried}
    assert pages >= {"README.md", "LOCAL.md", "PRODUCERS.md", "DEPLOYING.md", "OPERATIONS.md"}
    # README's, LOCAL.md's, the Python's (which the second block of Python runs again) and the TypeScript's.
    assert len(reader.stack.page("bob", limit=100)["items"]) >= before + 4
    for fan in ("fan-24", "reader-24", "dora", "emil", "carla"):
        assert reader.stack.timeline(fan)


def test_what_is_listed_is_there():
    """A reason for a block that is gone would hide the next one that is like it."""
    blocks = all_blocks()
    for page, parts in ELSEWHERE.items():
        for part in parts:
            assert any(block.page == page and part in block.text for block in blocks), f"{page}: {part!r}"


def test_an_activity_id_means_one_thing_on_all_pages():
    """What is published under a fixed id is the same activity wherever it is published."""
    fixture = (ROOT / "tests/events/commands.json").read_text().replace('\\"', '"')
    found = {}
    for text in [fixture, *(block.text for block in all_blocks())]:
        for line in re.findall(r'\{"type":"activity\.published".*?\}(?=[\s"]|$)', text, re.MULTILINE):
            with_id = re.search(r'"activity_id":"([\w.:@|+-]+)"', line)
            if with_id:
                found.setdefault(with_id[1], set()).add(line)
        fixed = re.search(r"nagare publish .*--activity [\w.:@|+-]+(?!\S)(?!.*--at )", text)
        assert not fixed, f"{fixed[0]} publishes a fixed id at whatever time it is run"
    assert found["live-8391"]
    for activity, lines in found.items():
        assert len(lines) == 1, f"{activity} is {lines}"

"""The first two minutes with Nagare, as README.md tells them: every command is cut out of that page and typed in.

    python3 tests/first-minutes/first_minutes.py clone
    python3 tests/first-minutes/first_minutes.py wheel [--record docs/first-minutes.txt | --compare docs/first-minutes.txt]

`clone` makes a clean clone of the commit that is checked out, begins with README's first command, which builds
everything, and ends with its second, the tests. `wheel` builds the wheel as README says ("Without a compiler"), installs it into an empty environment and
begins with the command that stands there. Then both do what README does under "What you see", and compare what is
printed with what README shows. At the end there is a table of seconds.

What is printed can be recorded as plain text. `--compare` fails if the recording has other commands or answers of
another form: numbers, instants and cursors may differ, nothing else.

Needs Python 3.11 or later and what README names. Ports 3000 to 3002 have to be free.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
# How long one command may take. A first build is the longest.
PATIENCE = 3600
EXPORT = re.compile(r"^export (\w+)='(.*)'$")


class Failed(Exception):
    """What README says is not so."""


def section(title):
    """A section of README: from its heading to the next; without a title, what comes before the first."""
    parts = re.split(r"^## (.*)$", README, flags=re.MULTILINE)
    sections = {"": parts[0]} | dict(zip(parts[1::2], parts[2::2]))
    return sections[title]


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def session():
    """README's session: commands, each with the lines that are shown below it."""
    [text] = [block for block in blocks(section("What you see"), "text") if block.startswith("$ ")]
    typed = re.split(r"^\$ (.*)\n", text, flags=re.MULTILINE)[1:]
    return list(zip(typed[0::2], typed[1::2]))


def form(text):
    """A text with everything left out that differs from run to run."""
    text = re.sub(r"--cursor \S+", "--cursor C", text)
    text = re.sub(r"\(pid \d+\)|[0-9a-f]{8}-[0-9a-f-]{27}|[0-9a-f]{32,}", "ID", text)
    text = re.sub(r"\d+", "0", text)
    # Columns move with the length of what is in them.
    return re.sub(r" +", " ", text).strip()


class Terminal:
    """A shell whose commands are timed and written down."""

    def __init__(self, folder, path):
        self.folder, self.steps, self.record = folder, [], []
        self.env = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR", "CARGO_HOME", "RUSTUP_HOME") if name in os.environ}
        self.env |= {name: value for name, value in os.environ.items() if re.match(r"(PIP|UV|SSL|HTTPS?|NO)_", name, re.IGNORECASE)}
        self.env |= {"PATH": os.pathsep.join([*map(str, path), os.environ["PATH"]]), "XDG_STATE_HOME": str(folder / "state")}
        self.stack = None

    def types(self, command, shown=None):
        """Runs a command to its end. What it prints has the form of what is shown; a reading may need a moment, because a
        command takes effect after it was sent."""
        begun, end = time.monotonic(), time.monotonic() + 10
        while True:
            done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.env, text=True, timeout=PATIENCE,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            if done.returncode:
                raise Failed(f"`{command}` ended with {done.returncode}:\n{done.stdout}")
            if shown is None or form(done.stdout) == form(shown):
                break
            if time.monotonic() > end or not command.startswith("nagare timeline "):
                raise Failed(f"`{command}` printed\n{done.stdout}\nand README shows\n{shown}")
            time.sleep(0.05)
        self._note(command, begun, done.stdout)

    def starts(self, command):
        """Runs a command that goes on, until it says that it is ready; then its `export` lines are pasted."""
        begun, printed = time.monotonic(), []
        self.stack = subprocess.Popen(["bash", "-c", f"exec {command}"], cwd=self.folder, env=self.env, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        for line in self.stack.stdout:
            printed.append(line)
            export = EXPORT.match(line)
            if export and "Paste the lines above" in README:
                self.env[export[1]] = export[2]
            if "ends the stack" in line:
                break
        else:
            raise Failed(f"`{command}` ended and was never ready:\n{''.join(printed)}")
        self._note(command, begun, "".join(printed))

    def ends(self):
        """Ctrl-C."""
        if self.stack and self.stack.poll() is None:
            os.killpg(self.stack.pid, signal.SIGINT)
            self.stack.communicate(timeout=30)

    def _note(self, command, begun, printed):
        self.steps.append((command, time.monotonic() - begun))
        self.record.append(f"$ {command}\n{printed}")


def clone(terminal, folder):
    [start] = [line for line in blocks(section(""), "sh")[0].splitlines() if line]
    terminal.types(f"git clone --quiet {ROOT} {folder / 'nagare'}")
    terminal.folder = folder / "nagare"
    terminal.env["PATH"] = os.pathsep.join([str(terminal.folder / "target/debug"), terminal.env["PATH"]])
    terminal.starts(start)


def wheel(terminal, folder):
    build, use = [block.splitlines() for block in blocks(section("Without a compiler"), "sh")]
    for command in build:
        # The sources are here; only what is built is put elsewhere.
        terminal.folder = ROOT
        terminal.types(command.replace("dist", str(folder / "dist")))
    [file] = folder.glob("dist/*.whl")
    if not any(name.endswith("/LICENSE") for name in zipfile.ZipFile(file).namelist()):
        raise Failed(f"{file.name} has no licence in it")
    environment = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    terminal.folder = folder
    terminal.env["PATH"] = os.pathsep.join([str(environment / "bin"), terminal.env["PATH"]])
    install, start = use
    terminal.types(f"{install} --no-index --quiet --disable-pip-version-check")
    found = subprocess.run(["bash", "-c", "command -v nagare"], env=terminal.env, capture_output=True, text=True)
    if Path(found.stdout.strip()) != environment / "bin/nagare":
        raise Failed(f"`nagare` is not the wheel's: {found.stdout}")
    terminal.starts(start)


def recorded(terminal):
    """From the start of the stack on; what a build prints is of no use to a reader."""
    first = next(n for n, text in enumerate(terminal.record) if "export NAGARE_API_URL" in text)
    texts = [re.sub(r"^ *(Compiling|Downloaded|Downloading|Updating|Locking) .*\n", "", text, flags=re.MULTILINE)
             for text in terminal.record[first:]]
    text = re.sub(r"((?:SECRET|JWT_KEY)=')[0-9a-f]+'", r"\1…'", "".join(texts))
    return re.sub(r"(\?token=)[0-9a-f]+", r"\1…", text)


def compare(file, terminal):
    old, new = Path(file).read_text(), recorded(terminal)
    if "\x1b" in old:
        raise Failed(f"{file} has escapes; it is to be plain text")
    if form(old) != form(new):
        raise Failed(f"{file} is out of date; --record makes it again. Now it is\n{new}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("way", choices=["clone", "wheel"])
    parser.add_argument("--record", metavar="FILE")
    parser.add_argument("--compare", metavar="FILE")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="nagare-first-minutes-"))
    terminal = Terminal(folder, [])
    try:
        {"clone": clone, "wheel": wheel}[args.way](terminal, folder)
        for command, shown in session():
            terminal.types(command, shown)
        if args.way == "clone":
            terminal.ends()
            [tests] = [line for block in blocks(section(""), "sh") for line in block.splitlines() if line.startswith("cargo test")]
            terminal.types(tests)
        if args.record:
            Path(args.record).write_text(recorded(terminal))
        if args.compare:
            compare(args.compare, terminal)
        for file in folder.glob("dist/*.whl"):
            print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB")
    except Failed as failed:
        sys.exit(f"first minutes: {failed}")
    finally:
        terminal.ends()
        shutil.rmtree(folder, ignore_errors=True)
    for command, seconds in terminal.steps:
        print(f"{seconds:8.2f}  {command}")
    print(f"{sum(seconds for _, seconds in terminal.steps):8.2f}  all")


if __name__ == "__main__":
    main()

"""What the benchmarks share: the program, a table to write against, and how results are shown.

A figure is the median of several runs, with the least and the greatest beside it; two programs are
compared run by run, in turns, so that what else the machine does meets both of them.
"""

import json
import os
import signal
import statistics
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
NAGARE = str(Path(os.environ.get("NAGARE_BIN") or ROOT / "target/release/nagare").absolute())

BENCH = str(Path(NAGARE).with_name("nagare-bench"))

# What is measured, by the name it is shown under.
WRITERS = {"nagare": "fanout", "plain SDK": "plain-sdk"}
# The same with the least that a client could take, which is no writer: it gives up where a table refuses.
WITH_LEAST = WRITERS | {"by hand": "by-hand"}


class Table:
    """A `nagare-bench table` that is ready."""

    def __init__(self, *options):
        command = [BENCH, "table", *map(str, options)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.environment = dict(os.environ)
        for line in self.process.stdout:
            if line.startswith("# Ready"):
                break
            name, value = line.removeprefix("export ").strip().split("=", 1)
            self.environment[name] = value.strip("'")
        else:
            sys.exit(f"{' '.join(command)} did not start; it says above why")

    def stop(self):
        """Ends it and returns what it counted."""
        self.process.send_signal(signal.SIGTERM)
        return json.loads(self.process.communicate(timeout=60)[0])


@contextmanager
def table(*options):
    """A table for as long as the block lasts."""
    running = Table(*options)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.kill()
            running.process.wait()


def up(*options):
    """A `nagare up` that is ready, and the variables that it exports."""
    command = [NAGARE, "up", "--port", "0", *map(str, options)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    exports = {}
    for line in process.stdout:
        if line.startswith("export "):
            name, value = line.removeprefix("export ").strip().split("=", 1)
            exports[name] = value.strip("'\"")
        if "Ctrl-C" in line:
            break
    else:
        sys.exit(f"{' '.join(map(str, command))} did not start")
    threading.Thread(target=process.stdout.read, daemon=True).start()
    return process, exports


def percentile(values, percent):
    """The value that N percent of the others do not exceed."""
    return sorted(values)[(len(values) - 1) * percent // 100]


def start_writer(writer, table, followers, in_flight):
    """Begins to write."""
    command = [BENCH, WITH_LEAST[writer], "--followers", str(followers)]
    command += ["--endpoint", table.environment["AWS_ENDPOINT_URL_DYNAMODB"]]
    command += ["--in-flight", str(in_flight)]
    return subprocess.Popen(command, env=table.environment, stdout=subprocess.PIPE, text=True)


def finish_writer(process):
    """Waits for it, and returns its report."""
    output, _ = process.communicate()
    if process.returncode != 0:
        sys.exit("the writer failed; it says above why")
    return json.loads(output)


def write(writer, followers, in_flight, *options):
    """Writes once into a table of its own: the writer's report, and beside it the table's."""
    with table(*options) as running:
        report = finish_writer(start_writer(writer, running, followers, in_flight))
        counted = running.stop()
    if counted["items_accepted"] != followers:
        sys.exit(f"{followers} entries were written and {counted['items_accepted']} arrived")
    return report | {"table": counted}


def in_turns(count, names):
    """The names in turns, N times, each time in the other order."""
    names = list(names)
    for turn in range(count):
        yield from names if turn % 2 == 0 else reversed(names)


def spread(values):
    """Median, least and greatest."""
    return {"median": statistics.median(values), "least": min(values), "greatest": max(values)}


def said(figure, digits=2):
    """A spread as text."""
    middle, least, greatest = (figure[name] for name in ("median", "least", "greatest"))
    return f"{middle:,.{digits}f} ({least:,.{digits}f}–{greatest:,.{digits}f})"


def show(headings, rows):
    """Prints a table as Markdown has them, so that it can be copied into a page."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headings, *rows)]
    for row in (headings, ["-" * width for width in widths], *rows):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |")
    print(flush=True)


def note(text):
    """Says what is going on, where nobody mistakes it for a result."""
    print(text, file=sys.stderr, flush=True)


def machine():
    """What the figures were measured on."""
    cpu = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.split(":", 1)[1].strip()
            break
    return {"cpu": cpu, "cores": os.cpu_count(), "load": os.getloadavg()[0]}


def save(path, results):
    """Writes results as JSON, if somebody asked for it."""
    if path:
        Path(path).write_text(json.dumps({"machine": machine()} | results, indent=1) + "\n")

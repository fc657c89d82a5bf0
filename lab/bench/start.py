"""How long a function takes from exec to its first request for work, and what it weighs.

    python lab/bench/start.py

The functions beside an empty one with the same runtime and the same SDK client
(lab/bench/empty-function), each started in turns by an imitation of the Lambda runtime API that
notes when the first `GET …/invocation/next` arrives.
"""

import argparse
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import bench
from runtime import ENVIRONMENT

FUNCTIONS = ["fanout-writer", "timeline-reader", "dlq-alerter", "projector"]
EMPTY = "empty-function"
BUILT = bench.ROOT / "target/release"
MEGABYTE = 1024 * 1024


def start(program):
    """Starts a program; milliseconds until it asks for work, and what it holds and has spent by then."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        address = "{}:{}".format(*server.getsockname())
        environment = ENVIRONMENT | {"AWS_LAMBDA_RUNTIME_API": address}
        begun = time.perf_counter()
        process = subprocess.Popen([program], env=environment, stdout=subprocess.DEVNULL)
        try:
            connection, _ = server.accept()
            with connection:
                request = connection.recv(4096)
                took = time.perf_counter() - begun
                if b"/runtime/invocation/next" not in request.split(b"\r\n", 1)[0]:
                    raise SystemExit(f"{program} began with {request[:80]!r}")
                # No answer ever comes: it idles.
                return {"ms": took * 1000, "rss_mb": resident(process.pid), "cpu_ms": cpu(process.pid)}
        finally:
            process.kill()
            process.wait()


def resident(pid):
    """Megabytes in memory."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024


def cpu(pid):
    """Milliseconds that its threads have been on a CPU."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e6


def stripped(program, directory):
    """Megabytes on disk without symbols, as `cargo lambda build` leaves it."""
    copy = Path(shutil.copy(program, directory))
    subprocess.run(["strip", "--strip-all", copy], check=True)
    return copy.stat().st_size / MEGABYTE


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=101, help="starts of each")
    parser.add_argument("--programs", type=Path, default=BUILT, help="the folder of the programs")
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured there")
    options = parser.parse_args()

    names = [EMPTY, *FUNCTIONS]
    build = ["cargo", "build", "--release", "--locked"]
    subprocess.run([*build, "-p", EMPTY], check=True, cwd=bench.ROOT / "lab")
    subprocess.run([*build, "--bins", *(f"-p={name}" for name in ["nagare", *FUNCTIONS])], check=True, cwd=bench.ROOT)
    runs = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as directory:
        for name in bench.in_turns(options.runs, names):
            runs[name].append(start(options.programs / name))
        sizes = {name: stripped(options.programs / name, directory) for name in names}
    figures = {
        name: {what: bench.spread([run[what] for run in results]) for what in ("ms", "cpu_ms", "rss_mb")}
        | {"size_mb": sizes[name]}
        | {"ratio": figure_ratio(results, runs[EMPTY])}
        for name, results in runs.items()
    }
    print(f"exec to first request for work; median (least–greatest) of {options.runs} starts in turns")
    bench.show(["program", "ms", "over empty", "CPU ms", "idle memory, MB", "size, MB"],
               [[name, bench.said(figure["ms"], 1), f"{figure['ratio']:.2f}", bench.said(figure["cpu_ms"], 1),
                 bench.said(figure["rss_mb"], 1), f"{figure['size_mb']:.1f}"]
                for name, figure in figures.items()])
    bench.save(options.json, {"start": figures})


def figure_ratio(results, of_empty):
    """The median of the ratios, start by start."""
    return bench.spread([own["ms"] / empty["ms"] for own, empty in zip(results, of_empty)])["median"]


if __name__ == "__main__":
    main()

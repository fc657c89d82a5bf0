"""What a page of a timeline costs by the number of follows: the reader's own code beside PostgreSQL,
which finds the same page by a query over the same activities and follows.

    python lab/bench/reading.py

PostgreSQL runs in a temporary directory, with either of two indexes, asked in either of two ways. The
reader reads the embedded tables, which are another process. Draws docs/reading.svg.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from datetime import datetime, timedelta, timezone

import bench
import postgres

# As in lab/bench/src/dataset.rs.
ACTORS = 50_000
DAYS = 25

INDEXES = {
    "by actor": "CREATE INDEX one ON activities (actor_id, published_at DESC)",
    "by time": "CREATE INDEX one ON activities (published_at DESC)",
}
COLUMNS = "a.id, a.actor_id, a.kind, a.published_at, a.payload"
QUERIES = {
    # The application has the list of follows.
    "IN": f"SELECT {COLUMNS} FROM activities a WHERE a.actor_id = ANY(%(follows)s)"
          " AND a.published_at >= %(start)s ORDER BY a.published_at DESC, a.id DESC LIMIT 20",
    # The database has it.
    "JOIN": f"SELECT {COLUMNS} FROM activities a JOIN follows f ON f.followee_id = a.actor_id"
            " WHERE f.follower_id = %(viewer)s AND a.published_at >= %(start)s"
            " ORDER BY a.published_at DESC, a.id DESC LIMIT 20",
}


def mixed(n):
    """SplitMix64's finalizer, as in dataset.rs."""
    mask = 2**64 - 1
    n = (n + 1) * 0x9E3779B97F4A7C15 & mask
    n = (n ^ (n >> 30)) * 0xBF58476D1CE4E5B9 & mask
    n = (n ^ (n >> 27)) * 0x94D049BB133111EB & mask
    return n ^ (n >> 31)


def load(connection, options, now):
    """The same activities and follows, with numbers for ids, which are the cheaper ones here."""
    connection.execute("CREATE TABLE activities (id bigint PRIMARY KEY, actor_id bigint NOT NULL, kind text NOT NULL,"
                       " published_at timestamptz NOT NULL, payload text NOT NULL)")
    connection.execute("CREATE TABLE follows (follower_id bigint, followee_id bigint,"
                       " PRIMARY KEY (follower_id, followee_id))")
    with connection.cursor() as cursor:
        with cursor.copy("COPY activities FROM STDIN") as copy:
            for n in range(options.activities):
                age = timedelta(days=DAYS) * (options.activities - n) / options.activities
                payload = json.dumps({"title": f"What activity-{n:07} is about"})
                copy.write_row((n, mixed(n) % ACTORS, "live", now - age, payload))
        with cursor.copy("COPY follows FROM STDIN") as copy:
            for follows in options.follows:
                for actor in range(follows):
                    copy.write_row((follows, actor))


def ask(connection, query, follows, options, now):
    """A warm query: p50 of what a caller waits, the CPU that the database spends on it, and the ids it
    finds."""
    parameters = {"follows": list(range(follows)), "viewer": follows, "start": now - timedelta(days=30)}
    with connection.cursor() as cursor:

        def rows():
            return cursor.execute(query, parameters, prepare=True).fetchall()

        # The first ones fill the cache and make the plan.
        for _ in range(6):
            page = [row[0] for row in rows()]
        taken, before, end = [], postgres.cpu_seconds(connection), time.monotonic() + options.seconds
        while len(taken) < 5 or (len(taken) < options.pages and time.monotonic() < end):
            begun = time.perf_counter()
            rows()
            taken.append((time.perf_counter() - begun) * 1000)
    cpu = (postgres.cpu_seconds(connection) - before) * 1000 / len(taken)
    return {"p50_ms": statistics.median(taken), "cpu_ms": cpu, "pages": len(taken)}, page


def relational(options):
    """What it takes by index, query and number of follows; and the pages, which depend on the last alone."""
    figures, pages = {}, {}
    now = datetime.now(timezone.utc)
    with postgres.cluster() as connection:
        bench.note(f"loading {options.activities:,} activities into PostgreSQL")
        load(connection, options, now)
        version = connection.execute("SHOW server_version").fetchone()[0]
        for index, definition in INDEXES.items():
            connection.execute("DROP INDEX IF EXISTS one")
            connection.execute(definition)
            connection.execute("VACUUM ANALYZE")
            for kind, query in QUERIES.items():
                for follows in options.follows:
                    bench.note(f"PostgreSQL, {kind}, index {index}, {follows:,} follows")
                    figure, page = ask(connection, query, follows, options, now)
                    figures.setdefault(f"{kind}, {index}", {})[follows] = figure
                    if pages.setdefault(follows, page) != page:
                        sys.exit(f"PostgreSQL finds another page {index} than otherwise")
    return version, figures, pages


def ours(options):
    """What `nagare-bench read` prints, by number of follows."""
    bench.note("loading the embedded tables, and reading")
    command = [bench.BENCH, "read", "--follows", ",".join(map(str, options.follows))]
    command += ["--pages", str(options.pages), "--activities", str(options.activities)]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    return {line["follows"]: line for line in map(json.loads, lines)}


def draw(options, figures, read):
    """CPU for a page, by number of follows."""
    import chart  # which not everybody who measures has the packages for

    drawing, axes = chart.figure("CPU for a page of 20, by number of follows", "follows", "ms")
    axes.plot(options.follows, [read[follows]["cpu_us_per_page"] / 1000 for follows in options.follows], marker="o",
              color=chart.COLOURS["nagare"], label="nagare: the reader")
    styles = [("-", "s"), ("--", "^"), (":", "D"), ("-.", "v")]
    for (name, values), (line, marker) in zip(figures.items(), styles):
        axes.plot(options.follows, [values[follows]["cpu_ms"] for follows in options.follows], linestyle=line,
                  marker=marker, markersize=4, color=chart.COLOURS["PostgreSQL"], label=f"PostgreSQL: {name}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_formatter(chart.THOUSANDS)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.legend(fontsize=8)
    chart.save(drawing, "reading.svg")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--follows", type=lambda text: [int(number) for number in text.split(",")],
                        default=[30, 300, 3_000, 30_000])
    parser.add_argument("--activities", type=int, default=1_000_000)
    parser.add_argument("--pages", type=int, default=1_000, help="pages read at each number of follows")
    parser.add_argument("--seconds", type=float, default=20, help="the most for one query of PostgreSQL")
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured there")
    options = parser.parse_args()

    version, figures, pages = relational(options)
    read = ours(options)
    for follows in options.follows:
        found = [f"activity-{n:07}" for n in pages[follows]]
        if found != read[follows]["page"]:
            sys.exit(f"{follows} follows: PostgreSQL finds {found}, and the reader {read[follows]['page']}")
    print(f"the newest page of 20 among {options.activities:,} activities of {ACTORS:,} actors, warm. "
          f"PostgreSQL {version}; every page was the same one everywhere\n")
    for what, title, ours_of in [
        ("cpu_ms", "CPU for a page, ms: PostgreSQL's, and the reader's", lambda line: line["cpu_us_per_page"] / 1000),
        ("p50_ms", "p50 of the wait, ms; the reader's with the embedded tables behind it", lambda line: line["p50_ms"]),
    ]:
        print(title)
        bench.show(["follows", *(f"PostgreSQL, {name}" for name in figures), "nagare"],
                   [[f"{follows:,}", *(f"{values[follows][what]:.2f}" for values in figures.values()),
                     f"{ours_of(read[follows]):.2f}"] for follows in options.follows])
    bench.save(options.json, {"postgresql": {"version": version} | figures, "nagare": read})
    draw(options, figures, read)


if __name__ == "__main__":
    main()

"""`nagare estimate`: counts, times the measured table of units, times prices."""

import csv
import gzip
import json
import re

import pytest

from conftest import ROOT, clean_environment, run

MILLION, DAY = 1_000_000, 86_400


@pytest.fixture
def estimate(tmp_path):
    """Needs no stack."""
    def call(*options, code=0):
        done = run(["estimate", *options], clean_environment(tmp_path))
        assert done.returncode == code, done.stderr
        return done
    return call


@pytest.fixture
def files(tmp_path):
    """Three follow anna, of whom one follows ben; nobody follows carl. Four posts within a day."""
    follows, posts = tmp_path / "follows.csv", tmp_path / "posts.csv.gz"
    follows.write_text("follower,followee\na1,anna\na2,anna\na3,anna\na1,ben\n")
    start = 1_795_000_000
    rows = [(start, "anna"), (start + 600, "ben"), (start + 1200, "carl"), (start + DAY, "anna")]
    posts.write_bytes(gzip.compress(("t,author,kind\n" + "".join(f"{t},{who},post\n" for t, who in rows)).encode()))
    return ["--followers-csv", follows, "--posts-csv", posts]


def bill(done):
    found = json.loads(done.stdout)
    return found, {(line["service"], line["what"]): line for line in found["lines"]}


def units(*requests):
    """The write units and the read units of rows of the table."""
    with (ROOT / "tools/operator/src/cost/units.csv").open(encoding="utf-8") as table:
        rows = {row["request"]: row for row in csv.DictReader(table)}
    return [sum(float(rows[name][column]) * number for name, number in requests) for column in ("write_units", "read_units")]


def test_a_graph_and_its_posts(estimate, files):
    found, lines = bill(estimate(*files, "--json"))
    # Four posts and seven entries, every day of the month.
    writes, reads = units(("activity.published", 4), ("activity.published folded", 4), ("an entry of activity.published", 7))
    assert (found["write_units"], found["read_units"]) == pytest.approx((30 * writes, 30 * reads))
    assert (found["publishes"], found["entries"], found["pages"]) == (120, 210, 0)
    assert lines["DynamoDB", "write units"]["dollars"] == pytest.approx(30 * writes * 0.625 / MILLION)
    assert lines["Lambda", "requests"]["amount"] == pytest.approx(2 * 120 / MILLION)
    assert found["dollars"] == pytest.approx(sum(line["dollars"] for line in found["lines"]))
    assert all(line["dollars"] == pytest.approx(line["amount"] * line["price"]) for line in found["lines"])
    # Each of four follows is sent, received and deleted.
    writes, reads = units(("follow.created without activities", 4))
    import_units = (writes * 0.625 + reads * 0.125 + 4 * (0.2 + 3 * 0.5)) / MILLION
    # Waiting makes up the rest.
    assert import_units < found["import_dollars"] < import_units * 2


@pytest.mark.parametrize("period, half", [("day", 0.5), ("week", 3.5), ("month", 15)])
def test_events(estimate, period, half):
    """A hundred million a month of 600 bytes: a unit each, and 700 bytes stored for as long as their tables exist."""
    daily, gb = 100 * MILLION / 30, 1024**3
    options = ["--deliveries-per-day", 0, "--events-per-day", daily, "--event-bytes", 600, "--event-period", period]
    found, lines = bill(estimate(*options, "--json"))
    folding = units(("a hundred events folded", MILLION))[0]
    assert found["write_units"] == pytest.approx(100 * MILLION + folding)
    assert lines["DynamoDB", "write units"]["amount"] == pytest.approx(folding / MILLION)
    amounts = {what: lines[service, what]["amount"] for service, what in lines if "event" in what}
    assert amounts == pytest.approx({
        "events, write units": 100, "events, scans to archive": 100 * 600 / 4096,
        "events, storage": daily * 700 * (half + 7) / gb, "events, recovery": daily * 700 * (half + 7) / gb,
        "events, storage once archived": daily * 700 * (35 - 7) / gb, "archives of events": daily * 600 * 15.9 / 206 * 400 / gb,
    })
    kept = sum(lines[service, what]["dollars"] for service, what in lines if "event" in what)
    assert kept < 100, kept
    # Provisioned, the write units of the tables are the hours of as many units a second, of which 75 % are used.
    series = 30 * 96 * 11 * 0.01 / 1000 + 0.10
    saved = 100 * 0.625 - 100 * MILLION / 3600 / 0.754 * 0.00065 - series
    assert found["dollars"] - found["provisioned_dollars"] == pytest.approx(saved)
    each, provisioned = found["million_events_dollars"]
    assert each - provisioned == pytest.approx(saved / 100)
    without, lines = bill(estimate("--deliveries-per-day", 1, "--json"))
    assert ("S3", "archives of events") not in lines
    assert "provisioned_dollars" not in without and "million_events_dollars" not in without


def test_so_many_a_day(estimate):
    rates = ["--deliveries-per-day", 1_000_000, "--followers-per-publish", 500, "--reads-per-day", 200_000]
    found, lines = bill(estimate(*rates, "--json"))
    assert (found["publishes"], found["entries"], found["pages"]) == (60_000, 30 * MILLION, 6 * MILLION)
    page = units(("a page with three new records", 1))[1]
    assert lines["DynamoDB", "read units, reader"]["amount"] == pytest.approx(6 * page)
    assert found["write_units"] == pytest.approx(units(("an entry of activity.published", 30 * MILLION), ("activity.published", 60_000))[0])
    assert lines["API Gateway", "requests"]["dollars"] == pytest.approx(6.0)
    _, mixed = bill(estimate(*rates, "--polls-per-day", 1_800_000, "--likes-share", 0.5, "--json"))
    poll, likes = units(("a poll", 54))[1], units(("the likes of a page", 3))[1]
    assert mixed["DynamoDB", "read units, reader"]["amount"] == pytest.approx(6 * page + poll + likes)


def test_larger_payloads(estimate):
    rates = ["--deliveries-per-day", 1_000_000, "--reads-per-day", 200_000]
    small, large = [bill(estimate(*rates, "--payload-bytes", 200 + kilobytes * 1024, "--json")) for kilobytes in (0, 2)]
    assert large[0]["write_units"] - small[0]["write_units"] == pytest.approx(units(("a KB more in activity.published", 2 * small[0]["publishes"]))[0])
    answers = [lines["Data transfer", "answers"]["amount"] for _, lines in (small, large)]
    assert answers[1] > 4 * answers[0]


def test_the_readme_quotes_what_is_printed(estimate):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(r"^nagare estimate (.+)$", readme, re.MULTILINE)[1].split()
    quoted = re.search(r"come to \$([0-9.]+) a month", readme)[1]
    found, _ = bill(estimate(*command, "--json"))
    assert f"{found['dollars']:.2f}" == quoted


@pytest.mark.parametrize("option, command, fold", [
    ("likes", "like.created of a liked activity", "like.created of a liked activity folded"), ("tags", "tag.created", None),
    ("votes", "vote.cast by a new voter", "vote.cast by a new voter folded"), ("hits", "battle.hit", "battle.hit folded"),
    ("messages", "message.posted", None),
])
def test_commands(estimate, option, command, fold):
    options = ["--deliveries-per-day", 0, f"--{option}-per-day", 1_000_000]
    found, lines = bill(estimate(*options, "--json"))
    number = 30 * MILLION
    assert found[option] == number
    assert [found["write_units"], found["read_units"]] == pytest.approx(units(*[(name, number) for name in (command, fold) if name]))
    # The writer's invocation, and the projector's.
    assert lines["Lambda", "requests"]["amount"] == pytest.approx(60 if fold else 30)
    assert lines["DynamoDB", "storage"]["amount"] > 12 * number * 100 / 2**30
    assert f", 30,000,000 {option}.\n" in estimate(*options).stdout


def test_what_is_printed_for_people_is_the_same(estimate, files):
    found, lines = bill(estimate(*files, "--reads-per-day", 5e6, "--json"))
    text = estimate(*files, "--reads-per-day", 5e6).stdout
    assert text.startswith("A month: 120 publishes, 210 entries, 0 new follows, 150,000,000 pages.\n")
    table = text.split("\n\n")[1].splitlines()[1:]
    printed = {tuple(part.strip() for part in (row[:16], row[16:40])): row.split()[-1] for row in table[: len(lines)]}
    assert printed == {name: f"{line['dollars']:.2f}" for name, line in lines.items()}
    assert table[len(lines)].split() == ["total", f"{found['dollars']:.2f}"]
    fixed = found["fixed_dollars"]
    assert [row.split()[-1] for row in table[len(lines) + 1 :][:2]] == [f"{fixed[name]:.2f}" for name in ("history_on", "history_off")]


def test_what_is_fixed_depends_on_the_event_history(estimate, files):
    """It is the bill of a month without commands and reads, but for metrics of what happens."""
    found, lines = bill(estimate("--deliveries-per-day", 0, "--json"))
    fixed = found["fixed_dollars"]
    assert fixed["history_on"] == pytest.approx(found["dollars"] - lines["CloudWatch", "metrics"]["dollars"])
    alarm = lines["CloudWatch", "alarms"]["price"]
    assert 0 < fixed["history_off"] < fixed["history_on"] - 20 * alarm
    busy, _ = bill(estimate(*files, "--reads-per-day", 5e6, "--json"))
    assert busy["fixed_dollars"] == fixed


def test_other_prices(estimate, files, tmp_path):
    prices = tmp_path / "prices.json"
    prices.write_text('{"dynamodb_million_writes": 1000000}')
    found, lines = bill(estimate(*files, "--prices", prices, "--json"))
    assert lines["DynamoDB", "write units"]["dollars"] == pytest.approx(30 * units(("activity.published", 4), ("an entry of activity.published", 7))[0])
    assert (found["prices"]["dynamodb_million_writes"], found["prices"]["dynamodb_million_reads"]) == (1_000_000, 0.125)
    prices.write_text('{"dynamodb_milion_writes": 1}')
    assert "dynamodb_milion_writes" in estimate(*files, "--prices", prices, code=2).stderr


@pytest.mark.parametrize(
    "options",
    [
        [], ["--deliveries-per-day", -1], ["--deliveries-per-day", "nan"], ["--deliveries-per-day", 1, "--followers-per-publish", 0],
        ["--followers-csv", "f.csv"], ["--deliveries-per-day", 1, "--prices", "nowhere.json"],
        ["--deliveries-per-day", 1, "--likes-share", 1.5], ["--deliveries-per-day", 1, "--payload-bytes", 4097],
        ["--followers-csv", "nowhere.csv", "--posts-csv", "nowhere.csv"],
    ],
)
def test_wrong_usage(estimate, options):
    assert estimate(*options, code=2).stderr


def test_a_bad_row_and_a_moment(estimate, files, tmp_path):
    posts = tmp_path / "posts.csv"
    posts.write_text("t,author,kind\n1795000000,anna,post\nsoon,anna,post\n")
    assert "line 3" in estimate(*files[:2], "--posts-csv", posts, code=2).stderr
    posts.write_text("t,author,kind\n1795000000,anna,post\n")
    assert "two instants" in estimate(*files[:2], "--posts-csv", posts, code=2).stderr

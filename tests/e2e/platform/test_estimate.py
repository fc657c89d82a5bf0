"""`nagare estimate`: units as they are counted by hand, times prices; tests/functions/platform/units/mod.rs compares them with the tables'."""

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


def test_a_graph_and_its_posts(estimate, files):
    found, lines = bill(estimate(*files, "--json"))
    # Four claims, records, outbox rows, rows of their kind and facts, and seven entries; the followers of each, and for those who have any
    # the record and the followers again; who was tagged before, and whether anybody likes what is published. Every day of the
    # month.
    assert (found["write_units"], found["read_units"]) == (30 * (4 * 5 + 7), 30 * (4 + 3 * 2 + 4 + 4))
    assert (found["publishes"], found["entries"], found["pages"]) == (120, 210, 0)
    assert lines["DynamoDB", "write units"]["dollars"] == pytest.approx(30 * 27 * 0.625 / MILLION)
    assert lines["Lambda", "requests"]["amount"] == pytest.approx(2 * 120 / MILLION)
    assert found["dollars"] == pytest.approx(sum(line["dollars"] for line in found["lines"]))
    assert all(line["dollars"] == pytest.approx(line["amount"] * line["price"]) for line in found["lines"])
    # The actor is hidden, the edge, its line in the index and its row in the follower's list are written, the actor is
    # shown; who is hidden, the edge and an outbox are asked for; each follow is sent, received and deleted.
    import_units = 4 * (5 * 0.625 + 3 * 0.125 + 0.2 + 3 * 0.5) / MILLION
    # What the writers take for it, most of which is waiting, is no more than that again.
    assert import_units < found["import_dollars"] < import_units * 2


@pytest.mark.parametrize("period, half", [("day", 0.5), ("week", 3.5), ("month", 15)])
def test_events(estimate, period, half):
    """A hundred million a month of 600 bytes: a unit each, and 700 bytes stored for as long as their tables are there."""
    daily, gb = 100 * MILLION / 30, 1024**3
    options = ["--deliveries-per-day", 0, "--events-per-day", daily, "--event-bytes", 600, "--event-period", period]
    found, lines = bill(estimate(*options, "--json"))
    # A hundred are folded at once, into as many customers, their name and the witness of the period.
    folding = 102 * MILLION
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
    by_customer = bill(estimate(*options, "--events-per-customer", 20, "--json"))[0]
    assert by_customer["write_units"] == pytest.approx(100 * MILLION + 7 * MILLION)
    without, lines = bill(estimate("--deliveries-per-day", 1, "--json"))
    assert ("S3", "archives of events") not in lines
    assert "provisioned_dollars" not in without and "million_events_dollars" not in without


def test_so_many_a_day(estimate):
    rates = ["--deliveries-per-day", 1_000_000, "--followers-per-publish", 500, "--reads-per-day", 200_000]
    found, lines = bill(estimate(*rates, "--json"))
    assert (found["publishes"], found["entries"], found["pages"]) == (60_000, 30 * MILLION, 6 * MILLION)
    # Twenty activities and the one beyond, most of whose records are kept: a query, who is hidden, what has changed.
    assert lines["DynamoDB", "read units, reader"]["amount"] == pytest.approx(6 * (1 + 2 + 2.5))
    _, cold = bill(estimate(*rates, "--records-per-read", 21, "--json"))
    assert cold["DynamoDB", "read units, reader"]["amount"] == pytest.approx(6 * (1 + 2 + 21))
    # The entries, five rows of each activity, and that its fan-out has ended: each has more than a hundred followers.
    assert found["write_units"] == 30 * MILLION + 6 * 60_000
    assert lines["API Gateway", "requests"]["dollars"] == pytest.approx(6.0)
    _, polls = bill(estimate(*rates, "--activities-per-read", 0, "--json"))
    assert polls["DynamoDB", "read units, reader"]["amount"] == pytest.approx(6)
    mix = ["--polls-per-day", 1_800_000, "--likes-share", 0.5, "--shared-reads-per-day", 200_000, "--cached-share", 0.9]
    found, mixed = bill(estimate(*rates, *mix, "--json"))
    assert found["pages"] == pytest.approx((6 + 54 + 0.6) * MILLION)
    # Half a unit for each of twenty counts, three for the viewer's own likes, and one for what is counted of them.
    likes = (mixed["DynamoDB", "read units, reader"]["amount"] - 6.6 * (1 + 2 + 2.5) - 54) / 3
    assert likes == pytest.approx(10 + 3 + 1)


def test_the_readme_quotes_what_is_printed(estimate):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command = re.search(r"^nagare estimate (.+)$", readme, re.MULTILINE)[1].split()
    quoted = re.search(r"come to \$([0-9.]+) a month", readme)[1]
    found, _ = bill(estimate(*command, "--json"))
    assert f"{found['dollars']:.2f}" == quoted


def test_likes(estimate):
    rates = ["--deliveries-per-day", 0]
    without, lines = bill(estimate(*rates, "--json"))
    assert "likes" not in without and ("Lambda", "compute, projector") not in lines
    likes = ["--likes-per-day", 1_000_000, "--undos-per-day", 100_000]
    found, lines = bill(estimate(*rates, *likes, "--json"))
    assert found["likes"] == 33 * MILLION
    # The row and its place in the viewer's list; for a like the view and the inbox of who is told of it, in a transaction; for an undo the view alone;
    # and what the view counts of each of them.
    assert (found["write_units"], found["read_units"]) == ((2 * 33 + 30 * 4 + 3 + 33) * MILLION, (30 * 2 + 3) * MILLION)
    assert lines["DynamoDB", "read units, projector"]["amount"] == pytest.approx(63)
    # The writer's invocation and the projector's.
    assert lines["Lambda", "requests"]["amount"] == pytest.approx(66)
    # A call and what an invocation costs anyway: no timeline shows a like, so no hold follows it.
    assert lines["Lambda", "compute, writer"]["amount"] == pytest.approx((33 * 0.007 + 30 * 0.0005) * MILLION * 1769 / 1024)
    # Rows of all months are kept, and their places in lists.
    assert lines["DynamoDB", "storage"]["amount"] == pytest.approx(12 * 30 * MILLION * (100 + 196 + 100 + 136) / 2**30, rel=0.05)
    storm, _ = bill(estimate(*rates, *likes, "--likes-per-fold", 100, "--json"))
    assert storm["write_units"] == pytest.approx((2 * 33 + 1.23 + 33) * MILLION)
    assert ", 33,000,000 likes and undos.\n" in estimate(*rates, *likes).stdout


def test_tags(estimate):
    rates = ["--deliveries-per-day", 0]
    without, _ = bill(estimate(*rates, "--json"))
    assert "tags" not in without
    found, lines = bill(estimate(*rates, "--tags-per-day", 1_000_000, "--json"))
    # The tag and the listing; whose the activity is.
    assert (found["tags"], found["write_units"], found["read_units"]) == (30 * MILLION, 60 * MILLION, 30 * MILLION)
    assert lines["DynamoDB", "storage"]["amount"] == pytest.approx(12 * 30 * MILLION * (2 * 100 + 209) / 2**30, rel=0.05)
    assert ", 30,000,000 tags.\n" in estimate(*rates, "--tags-per-day", 1_000_000).stdout


def test_votes_and_hits(estimate):
    rates = ["--deliveries-per-day", 0]
    without, _ = bill(estimate(*rates, "--json"))
    assert "votes" not in without and "hits" not in without
    games = ["--votes-per-day", 1_000_000, "--hits-per-day", 2_000_000]
    found, lines = bill(estimate(*rates, *games, "--json"))
    assert (found["votes"], found["hits"], found["read_units"]) == (30 * MILLION, 60 * MILLION, (30 + 60 * 3) * MILLION)
    # The rows; the view of the poll, and what it counts of a voter; that of the battle with its log, in a transaction, then the hit's number and its viewer's
    # share, and the view once more, which says that they are written.
    assert found["write_units"] == pytest.approx((30 + 60 + 2 * 30 + 60 * 7) * MILLION, rel=0.05)
    assert lines["Lambda", "requests"]["amount"] == pytest.approx(2 * 90)
    storm, _ = bill(estimate(*rates, *games, "--votes-per-fold", 500, "--hits-per-fold", 500, "--json"))
    # Each of 500 hits has its number, and 200 viewers their share.
    assert storm["write_units"] == pytest.approx((30 + 60 + 30 + 60 * 1.4) * MILLION, rel=0.1)
    assert ", 30,000,000 votes, 60,000,000 hits.\n" in estimate(*rates, *games).stdout


def test_callers_who_do_not_accept_gzip(estimate):
    def answers(share, per_page=20):
        rates = ["--deliveries-per-day", 1000, "--reads-per-day", 1_000_000, "--activities-per-read", per_page]
        _, lines = bill(estimate(*rates, "--gzip-share", share, "--json"))
        return lines["Data transfer", "answers"]["amount"]

    assert answers(1) < answers(0) / 2
    assert answers(0.5) == pytest.approx((answers(0) + answers(1)) / 2)
    # A page without activities is too short to be compressed.
    assert answers(1, per_page=0) == answers(0, per_page=0)


def test_what_is_printed_for_people_is_the_same(estimate, files):
    found, lines = bill(estimate(*files, "--reads-per-day", 5e6, "--json"))
    text = estimate(*files, "--reads-per-day", 5e6).stdout
    assert text.startswith("A month: 120 publishes, 210 entries, 0 new follows, 150,000,000 pages read.\n")
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
    assert lines["DynamoDB", "write units"]["dollars"] == pytest.approx(30 * 27)
    assert (found["prices"]["dynamodb_million_writes"], found["prices"]["dynamodb_million_reads"]) == (1_000_000, 0.125)
    prices.write_text('{"dynamodb_milion_writes": 1}')
    assert "dynamodb_milion_writes" in estimate(*files, "--prices", prices, code=2).stderr


@pytest.mark.parametrize(
    "options",
    [
        [], ["--deliveries-per-day", -1], ["--deliveries-per-day", "nan"], ["--deliveries-per-day", 1, "--followers-per-publish", 0],
        ["--followers-csv", "f.csv"], ["--deliveries-per-day", 1, "--prices", "nowhere.json"],
        ["--deliveries-per-day", 1, "--gzip-share", 1.5], ["--deliveries-per-day", 1, "--likes-per-fold", 0],
        ["--deliveries-per-day", 1, "--votes-per-fold", 1001], ["--deliveries-per-day", 1, "--hits-per-fold", 0],
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

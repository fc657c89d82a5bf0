"""`nagare replay`, once, again, interrupted, twice at once; and what it counts."""

import json
import signal
import subprocess

import pytest

from conftest import NAGARE, follow, instant, publish, read_instant, unique, until

DAY = 86_400


def rows_of(actor, seconds):
    return [(t, actor) for t in seconds]


def csv(folder, rows):
    file = folder / f"{unique('posts')}.csv"
    file.write_text("t,author,kind\n" + "".join(f"{t},{author},live\n" for t, author in rows))
    return file


def replay(stack, file, *options, code=0):
    done = stack.cli("replay", file, "--json", *options, code=code)
    return json.loads(done.stdout)


def refused(stack, file, *options):
    """A replay that is refused has done nothing; returns what it said."""
    before = stack.entries(), stack.dead_letters()
    done = stack.cli("replay", file, *options, code=1)
    assert done.stdout == "" and "nothing was sent" in done.stderr and "--run NAME" in done.stderr
    stack.drain()
    assert (stack.entries(), stack.dead_letters()) == before
    return done.stderr


def offsets(stack, viewer, suffix=""):
    """By how many seconds the times of a timeline's activities were moved, each once."""
    items = stack.page(viewer, limit=100)["items"]
    own = [(item["activity_id"].removesuffix(suffix), item["published_at"]) for item in items if item["activity_id"].endswith(suffix)]
    return {round(read_instant(at).timestamp() - int(id.rsplit("-", 1)[1]), 3) for id, at in own}


@pytest.fixture
def viewers(own_stack):
    own_stack.apply(*(follow(viewer, "anna", instant(days=-1)) for viewer in ("bob", "carla")), follow("bob", "ben", instant(days=-1)))
    return own_stack


def test_a_second_replay_is_refused_and_one_of_its_own_is_not(viewers, tmp_path):
    file = csv(tmp_path, [(1000, "anna"), (1000, "ben"), (1060, "anna")])
    first = replay(viewers, file)
    assert [first[name] for name in ("activities", "activities_before", "entries", "dead_letters")] == [3, 0, 5, 0]
    assert "was replayed at" in refused(viewers, file)
    assert "was replayed at" in refused(viewers, file, "--limit", "2")
    for run in ("second", "third_1.0"):
        again = replay(viewers, file, "--run", run)
        # Its own, not all that there are.
        assert [again[name] for name in ("activities", "entries", "dead_letters")] == [3, 5, 0]
        assert "was replayed at" in refused(viewers, file, "--run", run)
    ids = [f"anna-1060{run}" for run in ("-third_1.0", "-second", "")]
    assert [id for id in viewers.timeline("carla", limit=100) if "1060" in id] == ids
    assert len(viewers.entries("bob")) == 9
    done = viewers.cli("replay", csv(tmp_path, [(5, "anna")]))
    assert done.stdout.startswith("1 activity published in ") and done.stdout.endswith(" s: 2 entries; 0 dead letters\n")


def test_standard_input_is_refused_the_second_time_too(viewers):
    text = "t,author,kind\n1000,anna,live\n"
    assert json.loads(viewers.cli("replay", "-", "--json", stdin=text).stdout)["entries"] == 2
    assert "standard input was replayed at" in viewers.cli("replay", "-", stdin=text, code=1).stderr
    assert viewers.dead_letters() == []


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_replay_is_finished_by_running_it_again(viewers, tmp_path, how):
    """Where it was, with its offset, and without a dead letter."""
    file = csv(tmp_path, rows_of("anna", range(1000, 1090)))
    running = subprocess.Popen([NAGARE, "replay", file, "--speed", "15"], env=viewers.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               # What runs in the background ignores it.
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    until(lambda: len(viewers.entries("bob")) >= 10, "some of the rows")
    running.send_signal(how)
    running.communicate(timeout=30)
    viewers.drain()
    there = len(viewers.entries("bob"))
    assert 10 <= there < 90, "it was interrupted in the middle"
    done = viewers.cli("replay", file, "--json")
    result = json.loads(done.stdout)
    assert f"{there} of 90 rows were published by a replay that was interrupted" in done.stderr
    assert [result[name] for name in ("activities", "activities_before", "entries", "dead_letters")] == [90, there, 180, 0]
    assert viewers.timeline("bob", limit=100) == [f"anna-{t}" for t in reversed(range(1000, 1090))]
    assert len(offsets(viewers, "bob")) == 1
    assert viewers.dead_letters() == []
    refused(viewers, file)


def test_a_replay_that_had_sent_nothing_is_joined(viewers, tmp_path):
    """It reserved its first row before it was killed, or is about to send."""
    file = csv(tmp_path, rows_of("anna", range(1000, 1003)))
    for run in ("", "-mine"):
        at = instant(minutes=-3)
        claim = {"pk": f"activity#anna-1000{run}", "sk": "claim", "actor_id": "anna", "published_at": at}
        viewers.dynamodb.put_item(TableName=viewers.exports["NAGARE_LEDGER_TABLE"], Item={name: {"S": value} for name, value in claim.items()})
        result = replay(viewers, file, *(["--run", run[1:]] if run else []))
        assert [result[name] for name in ("activities", "activities_before", "entries")] == [3, 0, 6]
        first = [item for item in viewers.page("bob")["items"] if item["activity_id"] == f"anna-1000{run}"]
        assert [item["published_at"] for item in first] == [at]
        refused(viewers, file, *(["--run", run[1:]] if run else []))
    assert viewers.dead_letters() == []


def test_two_at_once_make_one_run(viewers, tmp_path):
    file = csv(tmp_path, rows_of("anna", range(1000, 3000)))
    pair = [
        subprocess.Popen([NAGARE, "replay", file, "--json"], env=viewers.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for running in pair:
        printed, said = running.communicate(timeout=90)
        if running.returncode == 0:
            result = json.loads(printed)
            assert [result[name] for name in ("activities", "entries", "dead_letters")] == [2000, 4000, 0]
        else:
            # The other one was through before this one looked.
            assert running.returncode == 1 and "was replayed at" in said
    assert 0 in [running.returncode for running in pair]
    viewers.drain()
    assert viewers.dead_letters() == [] and len(viewers.entries()) == 4000
    assert len(offsets(viewers, "bob")) == 1


def test_a_row_that_dies_is_counted_and_the_exit_code_says_so(viewers, tmp_path):
    """Its time, moved, lies before 2015, which no command may say."""
    file = csv(tmp_path, [(0, "anna"), (0, "anna"), (1_700_000_000, "anna"), (1_700_000_000, "ben")])
    done = viewers.cli("replay", file, "--json", code=1)
    result = json.loads(done.stdout)
    assert [result[name] for name in ("activities", "entries", "dead_letters")] == [2, 3, 2]
    assert "2 dead letters came of this replay" in done.stderr
    assert [letter["reason"] for letter in viewers.dead_letters()] == ["malformed"] * 2


def test_what_others_do_is_not_counted(viewers, tmp_path):
    """Entries and dead letters of before, and of others meanwhile, with ids that look like this run's."""
    look_alike = lambda n, at: publish("ben", f"ben-{n}", at)
    viewers.send("not json", look_alike(1000, instant(minutes=-5)), look_alike(1001, instant(minutes=-5)))
    viewers.send(look_alike(1000, instant(minutes=-6)))
    viewers.drain()
    assert len(viewers.dead_letters()) == 2
    file = csv(tmp_path, rows_of("anna", range(1000, 1030)))
    running = subprocess.Popen([NAGARE, "replay", file, "--json", "--speed", "15"], env=viewers.env, stdout=subprocess.PIPE, text=True)
    until(lambda: any(entry["actor_id"] == "anna" for entry in viewers.entries("bob")), "the replay to begin")
    viewers.send("not json", look_alike(1002, instant()), look_alike(1001, instant(minutes=-7)), "not json")
    printed, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    result = json.loads(printed)
    assert [result[name] for name in ("activities", "entries", "dead_letters")] == [30, 60, 0]
    viewers.drain()
    assert len(viewers.dead_letters()) == 5 and len(viewers.entries()) == 63


def test_rows_that_an_earlier_replay_moved_otherwise_are_refused(viewers, tmp_path):
    rows = rows_of("anna", range(1000, 100_000, 3600))
    replay(viewers, csv(tmp_path, rows[:3]))
    assert "others would lie in the future" in refused(viewers, csv(tmp_path, rows))
    replay(viewers, csv(tmp_path, rows_of("anna", [500_000])))
    mixed = csv(tmp_path, rows[:3] + [(500_000, "anna")])
    assert "line 5: the id of its activity belongs to another one" in refused(viewers, mixed)
    # Another actor's.
    viewers.apply(publish("ben", "carla-77"))
    assert "line 3" in refused(viewers, csv(tmp_path, [(78, "carla"), (77, "carla")]))


def test_a_file_older_than_retention_is_replayed_once(viewers, tmp_path):
    """What is older reaches no timeline and no ledger, and does not make the run look interrupted."""
    file = csv(tmp_path, rows_of("anna", [0, 40 * DAY, 60 * DAY]))
    result = replay(viewers, file)
    assert [result[name] for name in ("activities", "entries", "dead_letters")] == [3, 4, 0]
    refused(viewers, file)


@pytest.mark.parametrize("name", ["", "2nd", "a-b", "a b", "_x", "x" * 33])
def test_names_that_no_run_can_have(viewers, tmp_path, name):
    assert "expected 1 to 32 characters" in viewers.cli("replay", csv(tmp_path, [(1, "anna")]), "--run", name, code=2).stderr


def test_an_id_that_is_too_long_is_named_with_its_line(viewers, tmp_path):
    file = csv(tmp_path, [(1000, "anna"), (1000, "a" * 120)])
    viewers.cli("replay", file)
    long = "r" * 20
    assert "line 3" in viewers.cli("replay", file, "--run", long, code=2).stderr
    assert len(viewers.entries("bob")) == 1

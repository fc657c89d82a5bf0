"""Every page is answered, in bounded work, however much of what it passes is hidden, and however slow tables are."""

import json
import os
import re

import pytest

from conftest import Stack, during, follow, ids, instant, publish, say, unfollow, unique, unsay
from test_rooms import ids as messages
from test_rooms import page as room_page

# The more there are, the longer it takes to publish them: 30,000 take minutes.
ACTIVITIES = int(os.environ.get("NAGARE_HIDDEN", "2500"))
MESSAGES = int(os.environ.get("NAGARE_DELETED", "1500"))
# Read units of one page with its likes.
UNITS = 700


def cost(stack, viewer):
    """The read units of a first page, as the console counts them."""
    shown = stack.console(f"timeline?viewer={viewer}&limit=20")
    assert shown.status == 200, shown.text
    return float(re.search(r"read units</dt><dd>([\d.]+)</dd>", shown.text)[1])


def test_who_leaves_somebody_with_very_many_activities_reads_on(tmp_path):
    left = [f"c{n:02}" for n in range(30)]
    file = tmp_path / "activities.jsonl"
    commands = [publish("anna", f"a{n:05}", instant(seconds=-n / 10)) for n in range(ACTIVITIES)]
    file.write_text("".join(json.dumps(one) + "\n" for one in commands))
    with Stack("--faults=partition-writes=1000,partition-reads=3000,seed=3") as stack:
        stack.apply(follow("bob", "anna"), follow("bob", "carl"))
        stack.send(*(publish("carl", name, instant(hours=-2, seconds=-n)) for n, name in enumerate(left)))
        stack.cli("publish", "--file", file)
        stack.drain(90)
        assert len(stack.entries("bob")) == ACTIVITIES + 30
        firsts, pages, units = [], [], []

        def look():
            walk = stack.walk("bob", limit=100)
            shown = [one for page in walk for one in ids(page)]
            assert [one for one in shown if one.startswith("c")] == left, shown
            firsts.append(any(one.startswith("a") for one in shown))
            pages.append(len(walk))
            units.append(cost(stack, "bob"))

        def work():
            stack.send(unfollow("bob", "anna"))
            stack.drain(90)

        during(work, look)
        look()
        assert firsts == sorted(firsts, reverse=True) and not firsts[-1], "what was left came back"
        assert stack.timeline("bob", limit=100) == left and len(stack.entries("bob")) == 30
        print(f"{len(firsts)} walks of up to {max(pages)} pages, of up to {max(units)} read units")
        assert max(units) <= UNITS, units


def test_a_busy_room_is_read_whole_where_calls_are_slow():
    room, said = unique("room"), [f"m{n:03}" for n in range(300)]
    with Stack("--faults=slow=40ms,seed=5") as stack:
        stack.apply(say(room, "first", "eve", instant(minutes=-30)))
        newer, came = room_page(stack, room)["newer_cursor"], []

        def poll():
            nonlocal newer
            since = room_page(stack, room, f"cursor={newer}")
            newer = since["newer_cursor"]
            came.extend(messages(since))
            return messages(since) or since["next_cursor"]

        def look():
            latest = room_page(stack, room, "limit=20")
            assert messages(latest) == sorted(messages(latest), reverse=True) or "first" in messages(latest)
            poll()

        def work():
            stack.send(*(say(room, name, f"v{n % 7}", instant(seconds=n - 300)) for n, name in enumerate(said)))
            stack.drain(60)

        during(work, look)
        while poll():
            pass
        assert sorted(came) == said


@pytest.mark.parametrize("limit", [1, 20])
def test_what_was_deleted_in_a_room_is_passed(emptied, limit):
    stack, room, kept = emptied
    found, pages, query = [], 0, f"limit={limit}"
    while query:
        page = room_page(stack, room, query)
        found, pages = found + messages(page), pages + 1
        query = page["next_cursor"] and f"limit={limit}&cursor={page['next_cursor']}"
    print(f"{pages} pages over {MESSAGES} that were deleted")
    assert found == kept


@pytest.fixture(scope="module")
def emptied():
    """A room of which all but the oldest messages were deleted."""
    room, kept = unique("room"), ["k2", "k1", "k0"]
    names = [f"m{n:05}" for n in range(MESSAGES)]
    with Stack() as stack:
        stack.send(*(say(room, name, "eve", instant(hours=-3, seconds=-n)) for n, name in enumerate(kept)))
        stack.send(*(say(room, name, "eve", instant(seconds=-n / 10)) for n, name in enumerate(names)))
        stack.drain(60)
        stack.send(*(unsay(room, name, "eve") for name in names))
        stack.drain(120)
        yield stack, room, kept

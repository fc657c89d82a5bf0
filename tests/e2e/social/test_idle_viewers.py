"""Viewers who do not read for weeks, on a stack that skips them."""

import pytest
from conftest import Stack, clean_environment, follow, publish, run

DAYS = {n: f"2026-{month:02}-{day:02}" for n, (month, day) in {0: (1, 1), 20: (1, 21), 45: (2, 15), 46: (2, 16), 90: (4, 1)}.items()}


def on(stack, n):
    """Moves the clock to noon of a day, and says when that is."""
    at = f"{DAYS[n]}T12:00:00.000Z"
    stack.cli("events", "advance", "--to", at)
    return at


def is_written(stack, n):
    """Publishes an activity of anna on a day, and says whether bob's timeline has an entry of it."""
    stack.apply(publish("anna", f"day-{n}", on(stack, n)))
    return any(entry["sort_key"].endswith(f"#day-{n}") for entry in stack.entries("bob"))


def test_who_comes_back_misses_nothing():
    with Stack("--clock", DAYS[0], "--idle-days", "30") as stack:
        stack.apply(follow("bob", "anna", f"{DAYS[0]}T00:00:00Z"))
        assert is_written(stack, 0)
        assert is_written(stack, 20)
        assert not is_written(stack, 45), "bob has not read for 45 days"
        stack.cli("audit", "--viewer", "bob", code=0)
        assert stack.timeline("bob") == ["day-45", "day-20"]
        assert is_written(stack, 46)
        page = stack.get("bob", {"limit": 1})
        assert page.activities() == ["day-46"]
        # A client with a cursor from before its viewer was idle.
        assert not is_written(stack, 90)
        assert stack.get("bob", {"cursor": page.json["newer_cursor"]}).activities() == ["day-90"]
        assert not stack.dead_letters()


@pytest.mark.parametrize("days", ["6", "3651", "-1", "x"])
def test_other_numbers_of_days_are_refused(days, tmp_path):
    refused = run(["up", "--port", "0", f"--idle-days={days}"], clean_environment(str(tmp_path)))
    assert refused.returncode == 2
    assert "expected 0, or 7 to 3650 days" in refused.stderr

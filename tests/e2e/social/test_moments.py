"""Every page is what the query says at one moment, whatever happens meanwhile and however slow the tables are."""

import pytest

from conftest import (
    Stack, delete, during, follow, hit, instant, like, open_battle, open_poll, publish, unfollow, unlike, until, update, vote,
)

# A follow that takes a while, and tables that answer late: pages are read in another order then.
SLOW = ["", "--faults=slow=40ms,seed=4"]


@pytest.fixture(params=SLOW, ids=["as it is", "slow tables"])
def slow_stack(request):
    with Stack(*filter(None, [request.param])) as stack:
        yield stack


def test_a_follow_shows_all_that_it_brings_in_or_nothing(slow_stack):
    stack = slow_stack
    stack.send(follow("bob", "carl"), publish("carl", "c"))
    stack.send(*(publish("anna", f"a{n:04}", instant(seconds=-n)) for n in range(1_500)))
    stack.drain(120)
    seen = set()

    def look():
        items = [one for one in stack.timeline("bob", limit=100) if one != "c"]
        assert items in ([], [f"a{n:04}" for n in range(len(items))]) and len(items) in (0, 99, 100), items
        seen.add(bool(items))

    def work():
        for _ in range(3):
            stack.apply(follow("bob", "anna"))
            stack.apply(unfollow("bob", "anna"))
        stack.apply(follow("bob", "anna"))

    pages = during(work, look)
    assert seen == {True, False}, pages
    assert len([one for page in stack.walk("bob", limit=100) for one in page["items"]]) == 1_501


def test_who_always_follows_somebody_never_sees_an_empty_page(slow_stack):
    """The next is followed before the former is left, and each of them has published."""
    stack = slow_stack
    stack.apply(publish("anna", "a"), publish("carl", "c"), follow("bob", "carl"))

    def work():
        for _ in range(8):
            for change, actor in ((follow, "anna"), (unfollow, "carl"), (follow, "carl"), (unfollow, "anna")):
                # Made one after the other: of two at the same instant the unfollow would win.
                stack.apply(change("bob", actor))

    def look():
        shown = stack.timeline("bob")
        assert shown and set(shown) <= {"a", "c"}

    assert during(work, look) > 10


def test_edits_and_deletes_are_seen_at_once_by_who_has_read_before(slow_stack):
    stack = slow_stack
    stack.apply(follow("bob", "anna"))
    for n in range(12):
        stack.apply(publish("anna", f"a{n}", payload=0))
        assert stack.page("bob")["items"][0]["payload"] == 0
        stack.apply(update("anna", f"a{n}", n))
        assert stack.page("bob")["items"][0]["payload"] == n
        if n % 2:
            stack.apply(delete("anna", f"a{n}"))
            assert f"a{n}" not in stack.timeline("bob")


def test_what_was_published_later_is_not_shown_without_what_was_deleted_before(slow_stack):
    """Each activity is deleted before the next is published, so that there is never more than one."""
    stack = slow_stack
    stack.apply(follow("bob", "anna"))

    def work():
        for n in range(20):
            stack.apply(publish("anna", f"a{n}"), delete("anna", f"a{n}"))

    def look():
        assert len(stack.timeline("bob")) <= 1

    assert during(work, look) > 10


def test_a_number_and_one_s_own_part_in_it_agree(slow_stack):
    """Others have liked, voted and hit before. While the viewer does, each answer has their part in its numbers."""
    stack, seen = slow_stack, set()
    opened, choices = instant(minutes=-10), ["red", "blue"]
    stack.apply(publish("anna", "a"), open_poll("anna", "p", choices, opened, instant(hours=1)), open_battle("anna", "b", 1_000))
    for n in range(3):
        stack.send(like(f"other-{n}", "a"), vote(f"other-{n}", "p", "red", instant()))
    stack.drain()
    until(lambda: stack.read("/v1/activities/a")["likes"]["count"] == 3, "three likes")
    until(lambda: stack.read("/v1/polls/p")["votes"] == 3, "three votes")

    def work():
        for n in range(12):
            commands = unlike("bob", "a") if n % 2 else like("bob", "a"), vote("bob", "p", choices[n % 2], instant())
            stack.apply(*commands, hit("bob", "b", f"h{n}", 2))

    def look():
        likes = stack.read("/v1/activities/a?viewer=bob")["likes"]
        assert likes["count"] == 3 + likes["liked"], likes
        poll = stack.read("/v1/polls/p?viewer=bob")
        sums = {one["choice"]: one["votes"] for one in poll["choices"]}
        assert sums == {"red": 3 + (poll["vote"] == "red"), "blue": int(poll["vote"] == "blue")}, poll
        battle = stack.read("/v1/battles/b?viewer=bob")
        assert battle["viewer"] == {"hits": battle["hits"], "damage": 2 * battle["hits"]}, battle
        assert battle["hp_left"] == 1_000 - battle["viewer"]["damage"], battle
        seen.add((likes["liked"], poll["vote"], battle["hits"] > 0))

    during(work, look)
    assert {liked for liked, _, _ in seen} == {True, False} and {"red", "blue"} <= {vote for _, vote, _ in seen}

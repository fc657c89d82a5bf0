"""What is counted and what is the caller's own are of one moment, however slow tables are and wherever the projector is."""

import os

from conftest import Stack, instant, like, open_poll, publish, unlike, vote

# How often it is tried.
TRIES = int(os.environ.get("NAGARE_TRIES", "300"))
# More than a view says itself what it counts of.
OTHERS = 40


def test_a_like_is_counted_as_soon_as_it_is_shown_and_no_sooner():
    """Only one viewer changes what is counted; others like and unlike other things, so that the projector has work."""
    seen = {False: 0, True: 0}
    with Stack("--faults=slow=30ms,seed=6") as stack:
        stack.apply(publish("anna", "a"), publish("anna", "b"))
        stack.send(*(like(f"v{n}", "a") for n in range(OTHERS)))
        stack.drain()
        while stack.read("/v1/activities/a")["likes"]["count"] < OTHERS:
            pass
        liked = False
        for n in range(TRIES):
            if n % 3 == 0:
                liked = not liked
                change = like if liked else unlike
                stack.send(change("bob", "a", instant()), like(f"w{n}", "b"))
            for path in ("/v1/activities/a?viewer=bob", "/v1/actors/anna/activities?include=likes&viewer=bob"):
                page = stack.read(path)
                [one] = [one for one in page.get("items", [page]) if one["activity_id"] == "a"]
                likes = one["likes"]
                assert likes["count"] == OTHERS + likes["liked"], f"try {n}: {likes}"
                seen[likes["liked"]] += 1
    print(seen)
    assert min(seen.values()) > TRIES / 10, seen


def test_a_vote_is_counted_as_soon_as_it_is_shown_and_no_sooner():
    choices = ["red", "blue", "green"]
    seen = dict.fromkeys([None, *choices], 0)
    with Stack("--faults=slow=30ms,seed=7") as stack:
        stack.apply(open_poll("anna", "p", choices, instant(minutes=-5), instant(hours=1)))
        stack.send(*(vote(f"v{n}", "p", "red") for n in range(OTHERS)))
        stack.drain()
        while stack.read("/v1/polls/p")["votes"] < OTHERS:
            pass
        for n in range(TRIES):
            if n % 3 == 0:
                stack.send(vote("bob", "p", [*choices, None][n // 3 % 4]))
            poll = stack.read("/v1/polls/p?viewer=bob")
            counted = {one["choice"]: one["votes"] for one in poll["choices"]}
            own = [name for name in choices if counted[name] - (OTHERS if name == "red" else 0)]
            assert own == ([poll["vote"]] if poll["vote"] else []), f"try {n}: {poll}"
            seen[poll["vote"]] += 1
    print(seen)
    assert min(seen.values()) > TRIES / 20, seen

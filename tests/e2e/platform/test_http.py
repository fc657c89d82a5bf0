"""The HTTP API as its callers see it: pages, cursors, and every row of the list of errors."""

import base64
import gzip
import hashlib
import hmac
import json
import os
import string
import time
import urllib.request
from datetime import datetime, timedelta, timezone
from urllib.parse import quote

import jwt
import pytest

from conftest import (
    Stack, delete, follow, ids, instant, like, publish, read_instant, run, unfollow, unique, update, written,
)


@pytest.fixture
def pair(stack):
    """A viewer who follows an actor, both new."""
    viewer, actor = unique("viewer"), unique("actor")
    stack.apply(follow(viewer, actor, instant(days=-40)))
    return viewer, actor


@pytest.fixture(autouse=True)
def _no_dead_letters(request):
    """Whatever a test here sends is right, unless it says otherwise."""
    yield
    if "stack" in request.fixturenames and "leaves_dead_letters" not in request.keywords:
        stack = request.getfixturevalue("stack")
        stack.drain()
        assert stack.dead_letters() == []


def problem(answer, status, *named):
    """Asserts that an answer is a problem document, and says which parameter is wrong."""
    assert answer.status == status, answer.text
    assert answer.headers["content-type"].split(";")[0] == "application/problem+json"
    document = answer.json
    assert document["status"] == status
    assert all(isinstance(document[member], str) and document[member] for member in ("type", "title", "detail"))
    said = document["title"] + document["detail"]
    assert not named or any(name in said for name in named), f"{document} does not name {named}"
    inside = ("dynamo", "sqlite", "rust", "panick", ".rs", "nagare-ledger", "sort_key")
    assert not [word for word in inside if word in answer.text.lower()]
    return document


# What a page is --------------------------------------------------------------------------------------

def test_a_page_has_what_the_contract_says(stack, pair):
    viewer, actor = pair
    at = instant(minutes=-1)
    stack.apply(publish(actor, unique("live"), at, kind="live", payload={"title": "Speedrun"}))
    answer = stack.get(viewer)
    assert answer.headers["content-type"].split(";")[0] == "application/json"
    page = answer.json
    assert page.keys() == {"viewer_id", "items", "next_cursor", "newer_cursor", "retained_from"}
    assert page["viewer_id"] == viewer and page["next_cursor"] is None
    [item] = page["items"]
    assert item.keys() == {"activity_id", "actor_id", "kind", "published_at", "payload"}
    assert (item["published_at"], item["kind"], item["payload"]) == (at, "live", {"title": "Speedrun"})
    retained = read_instant(page["retained_from"]) + timedelta(days=30)
    assert abs(datetime.now(timezone.utc) - retained) < timedelta(seconds=30)


def test_a_page_is_compressed_for_a_caller_who_accepts_that(stack, pair):
    viewer, actor = pair
    stack.apply(publish(actor, unique("long"), payload={"text": "All of this is said again. " * 60}))
    address = f"{stack.exports['NAGARE_API_URL']}/v1/timelines/{viewer}"
    with urllib.request.urlopen(urllib.request.Request(address, headers={"Accept-Encoding": "gzip"})) as answer:
        packed, headers = answer.read(), answer.headers
    plain = stack.get(viewer, headers={"Accept-Encoding": "identity"})
    assert (headers["content-encoding"], headers["vary"]) == ("gzip", "accept-encoding")
    assert len(packed) == int(headers["content-length"]) < len(plain.text) / 2
    assert json.loads(gzip.decompress(packed))["items"] == plain.json["items"]
    assert "content-encoding" not in plain.headers and plain.headers["vary"] == "accept-encoding"


def test_a_viewer_nobody_has_heard_of_has_an_empty_timeline(stack):
    page = stack.page(unique("nobody"))
    assert page["items"] == [] and page["next_cursor"] is None and page["newer_cursor"]


def test_following_oneself_shows_ones_own(stack):
    me, activity = unique("me"), unique("mine")
    stack.apply(follow(me, me), publish(me, activity))
    assert stack.timeline(me) == [activity]


def test_the_viewer_may_be_percent_encoded(stack, pair):
    viewer, actor = pair
    stack.apply(publish(actor, unique("a")))
    encoded = "".join(f"%{ord(letter):02x}" for letter in viewer)
    assert stack.page(encoded)["viewer_id"] == viewer
    assert len(stack.timeline(encoded)) == 1


def test_parameters_nobody_asked_for_are_ignored(stack, pair):
    assert stack.get(pair[0], "utm_source=x&limit=3").status == 200


PAYLOADS = [
    "null", "true", '"text"', "0", "-0", "1.0", "1.10", "1e400", "-1E-400", "1E+2", "123456789012345678901234567890",
    "0.1000000000000000055511151231257827", "[]", "{}", '{"b":1,"a":2,"b":3}', '[1, 2 ,\t3]', '"\\u00e9\\/é"',
    '{"deep":[{"1.0":1.0}]}', '" <>&\u2028"', '"\\ud83d\\ude00"',
]


@pytest.mark.parametrize("text", PAYLOADS)
def test_a_payload_comes_back_as_it_was_sent(stack, pair, text):
    viewer, actor = pair
    command = json.dumps(publish(actor, unique("p")))
    stack.apply(f'{command[:-1]},"payload":{text}}}')
    assert f'"payload":{text}' in stack.get(viewer).text.replace('"payload": ', '"payload":')
    # By an update too, and in the line that the command prints.
    [activity] = stack.timeline(viewer)
    command = json.dumps(update(actor, activity, None))
    stack.apply(command.replace('"payload": null', f'"payload": {text}'))
    assert f'"payload":{text}' in stack.get(viewer).text.replace('"payload": ', '"payload":')
    # What would steer a terminal is escaped there; the value stays.
    assert text.replace("\u2028", "\\u2028") in stack.cli("timeline", viewer, "--json").stdout


# Order and pages ---------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def crowd(stack):
    """Twenty-three activities of two actors with many ties, and the order that they have to be in."""
    viewer, actors = unique("viewer"), [unique("actor"), unique("actor")]
    stack.send(*(follow(viewer, actor, instant(days=-1)) for actor in actors))
    tag = unique("t")
    names = ["a", "B", "b", "_", "-", ".", ":", "@", "0", "9", "10", "aa", "a.", "a-", "a_", "A", "Z", "z", "zz", "a:", "a@", "a0", "aA"]
    moments = [instant(minutes=-n) for n in (5, 4, 3)]
    activities = [(moments[n % 3], f"{tag}{name}") for n, name in enumerate(names)]
    stack.send(*(publish(actors[n % 2], id, at) for n, (at, id) in enumerate(activities)))
    stack.drain()
    # Ties by id, byte by byte.
    oldest_first = [id for _, id in sorted(activities, key=lambda one: (one[0], one[1].encode()))]
    return viewer, oldest_first, moments


@pytest.mark.parametrize("limit", [1, 2, 7, 22, 23, 24, 100])
def test_walking_the_pages_shows_everything_once_in_both_directions(stack, crowd, limit):
    viewer, oldest_first, _ = crowd
    for order, expected in (("oldest", oldest_first), ("newest", oldest_first[::-1])):
        pages = stack.walk(viewer, limit=limit, order=order)
        assert sum(map(ids, pages), []) == expected
        # A page is short only when it is the last; and there is no empty page after a full one.
        assert [len(ids(page)) for page in pages[:-1]] == [limit] * (len(pages) - 1)
        assert 1 <= len(ids(pages[-1])) <= limit
        assert len(pages) == -(-len(expected) // limit)


def test_twenty_newest_first_is_the_default(stack, crowd):
    viewer, oldest_first, _ = crowd
    assert stack.timeline(viewer) == oldest_first[::-1][:20]
    rest = stack.page(viewer, cursor=stack.page(viewer)["next_cursor"])
    assert ids(rest) == oldest_first[::-1][20:]


def test_the_limit_may_change_from_page_to_page(stack, crowd):
    viewer, oldest_first, _ = crowd
    first = stack.page(viewer, limit=5)
    second = stack.page(viewer, cursor=first["next_cursor"], limit=3)
    third = stack.page(viewer, cursor=second["next_cursor"])
    assert ids(first) + ids(second) + ids(third) == oldest_first[::-1]


def test_ranges_hold_from_and_not_to(stack, crowd):
    viewer, oldest_first, moments = crowd
    first, second, third = (oldest_first[:8], oldest_first[8:16], oldest_first[16:])
    just_after = written(read_instant(moments[1]) + timedelta(milliseconds=1))
    table = [
        ({"from": moments[1]}, second + third),
        ({"to": moments[1]}, first),
        ({"from": moments[1], "to": moments[2]}, second),
        ({"from": moments[1], "to": just_after}, second),
        ({"from": just_after}, third),
        ({"from": moments[1], "to": moments[1]}, []),
        ({"from": moments[2], "to": moments[0]}, []),
        ({"from": "2015-01-01", "to": "2099-12-31T23:59:59+09:00"}, first + second + third),
        ({"from": "0000-01-01"}, first + second + third),
        ({"to": "9999-12-31"}, first + second + third),
        ({"from": "9999-12-31"}, []),
        ({"to": "0000-01-01"}, []),
    ]
    for query, expected in table:
        for limit in (3, 100):
            pages = stack.walk(viewer, order="oldest", limit=limit, **query)
            assert sum(map(ids, pages), []) == expected, query
            pages = stack.walk(viewer, limit=limit, **query)
            assert sum(map(ids, pages), []) == expected[::-1], query


def test_offsets_in_a_range(stack, crowd):
    viewer, oldest_first, moments = crowd
    at = read_instant(moments[1]).astimezone(timezone(timedelta(hours=9))).isoformat(timespec="milliseconds")
    assert stack.timeline(viewer, order="oldest", to=at) == oldest_first[:8]


def test_dates_are_whole_days_in_utc(stack, pair):
    viewer, actor = pair
    day = (datetime.now(timezone.utc) - timedelta(days=3)).strftime("%Y-%m-%d")
    day_before, day_after = ((datetime.fromisoformat(day) + timedelta(days=n)).strftime("%Y-%m-%d") for n in (-1, 1))
    at = [
        f"{day_before}T23:59:59.999Z", f"{day}T00:00:00.000Z", f"{day}T23:59:59.999Z", f"{day_after}T00:00:00.000Z",
    ]
    names = [unique("d") for _ in at]
    stack.send(*(publish(actor, name, when) for name, when in zip(names, at)))
    stack.drain()
    table = [
        ({"from": day, "to": day}, names[1:3]),
        ({"from": day}, names[1:]),
        ({"to": day}, names[:3]),
        ({"from": day_before, "to": day_before}, names[:1]),
        ({"from": f"{day}T00:00:00Z", "to": day_after}, names[1:]),
    ]
    for query, expected in table:
        assert stack.timeline(viewer, order="oldest", **query) == expected, query


def test_pages_stay_right_while_things_are_published_and_deleted(stack, pair):
    viewer, actor = pair
    at = [instant(minutes=-n) for n in range(20, 8, -1)]
    names = [unique("w") for _ in at]
    stack.send(*(publish(actor, name, when) for name, when in zip(names, at)))
    stack.drain()
    first = stack.page(viewer, limit=3)
    assert ids(first) == names[:-4:-1]
    # Above the place, at the place (the very entry that the cursor stands on), and below it.
    stack.apply(publish(actor, unique("above")), delete(actor, names[-3]), delete(actor, names[5]))
    rest = stack.walk(viewer, cursor=first["next_cursor"], limit=3)
    assert sum(map(ids, rest), []) == [name for name in names[:-3][::-1] if name != names[5]]
    # Full pages even where something was taken out of the middle.
    assert len(ids(rest[0])) == 3


# newer_cursor --------------------------------------------------------------------------------------------

def test_newer_reads_what_came_after_oldest_first_without_a_gap(stack, pair):
    viewer, actor = pair
    stack.apply(publish(actor, "seen-" + unique(), instant(minutes=-30)))
    newer = stack.page(viewer)["newer_cursor"]
    for turn in range(2):
        # Nothing yet: an empty page, and a cursor again.
        page = stack.page(viewer, cursor=newer, limit=2)
        assert page["items"] == [] and page["newer_cursor"] and page["next_cursor"] is None
        came = [unique("n") for _ in range(5)]
        minute = -20 + 10 * turn
        stack.send(*(publish(actor, name, instant(minutes=minute, seconds=n)) for n, name in enumerate(came)))
        stack.drain()
        # Page by page, by either of the two cursors.
        step = ("newer_cursor", "next_cursor")[turn]
        page = stack.page(viewer, cursor=page["newer_cursor"], limit=2)
        read = ids(page)
        while len(read) < 5:
            page = stack.page(viewer, cursor=page[step], limit=2)
            assert page["items"]
            read += ids(page)
        assert read == came
        newer = page["newer_cursor"]


def test_newer_of_an_empty_timeline(stack):
    viewer, actor, activity = unique("viewer"), unique("actor"), unique("first")
    newer = stack.page(viewer)["newer_cursor"]
    assert stack.page(viewer, cursor=newer)["items"] == []
    stack.apply(follow(viewer, actor), publish(actor, activity))
    assert stack.timeline(viewer, cursor=newer) == [activity]


def test_newer_of_a_later_page_still_means_the_newest_seen(stack, crowd):
    viewer, oldest_first, _ = crowd
    pages = stack.walk(viewer, limit=6)
    assert [stack.timeline(viewer, cursor=page["newer_cursor"]) for page in pages] == [[]] * len(pages)
    # Reading upwards, the newest seen is the last one.
    first = stack.page(viewer, limit=6, order="oldest")
    assert stack.timeline(viewer, cursor=first["newer_cursor"], limit=4) == oldest_first[6:10]


def test_newer_keeps_its_range(stack, crowd):
    viewer, oldest_first, moments = crowd
    page = stack.page(viewer, to=moments[1], limit=2)
    assert stack.timeline(viewer, cursor=page["newer_cursor"]) == []


# What commands do to timelines -----------------------------------------------------------------------------

def test_following_brings_in_unfollowing_takes_out_following_again_brings_back(stack):
    viewer, actor, other = unique("viewer"), unique("actor"), unique("actor")
    names = [unique("f") for _ in range(30)]
    stack.send(*(publish(actor, name, instant(minutes=-40 + n)) for n, name in enumerate(names)))
    kept = unique("kept")
    stack.send(publish(other, kept, instant(minutes=-25)), follow(viewer, other))
    stack.drain()
    stack.apply(follow(viewer, actor, instant(seconds=-9)))
    assert len(stack.timeline(viewer, limit=100)) == 31
    before = stack.page(viewer, limit=5)
    stack.apply(unfollow(viewer, actor, instant(seconds=-8)))
    assert stack.timeline(viewer) == [kept]
    assert stack.timeline(viewer, cursor=before["next_cursor"]) == [kept]
    stack.apply(follow(viewer, actor, instant(seconds=-7)))
    assert [name for name in stack.timeline(viewer, limit=100) if name != kept] == names[::-1]


def test_the_latest_follow_command_wins_in_any_order(stack):
    early, late = instant(seconds=-20), instant(seconds=-10)
    table = [
        ((unfollow, early), (follow, late), 1),
        ((follow, early), (unfollow, late), 0),
        ((follow, late), (unfollow, late), 0),
    ]
    for one, other, expected in table:
        for first, second in ((one, other), (other, one)):
            viewer, actor = unique("viewer"), unique("actor")
            stack.send(publish(actor, unique("a")))
            stack.apply(first[0](viewer, actor, first[1]), second[0](viewer, actor, second[1]))
            stack.apply(publish(actor, unique("a")))
            assert len(stack.timeline(viewer)) == 2 * expected
            assert len(stack.entries(viewer)) == 2 * expected


def test_publishing_again_changes_nothing(stack, pair):
    viewer, actor = pair
    activity = unique("again")
    moment = datetime.now(timezone.utc).replace(microsecond=123000)
    stack.apply(publish(actor, activity, written(moment), payload=1))
    # The same instant by another offset, and by digits that are cut.
    tokyo = moment.astimezone(timezone(timedelta(hours=9))).isoformat(timespec="milliseconds")
    finer = moment.strftime("%Y-%m-%dT%H:%M:%S.123456Z")
    for same in (written(moment), tokyo, finer):
        stack.apply(publish(actor, activity, same, payload=2, kind="other"))
    [item] = stack.page(viewer)["items"]
    assert (item["payload"], item["kind"], item["published_at"]) == (1, "post", written(moment))


@pytest.mark.leaves_dead_letters
def test_a_conflict_is_a_dead_letter_and_writes_nothing(stack, pair):
    viewer, actor = pair
    other, activity, at = unique("actor"), unique("mine"), instant(minutes=-5)
    stack.apply(follow(viewer, other, instant(days=-40)), publish(actor, activity, at, payload="first"))
    conflicts = [
        publish(other, activity, at),
        publish(actor, activity, instant(minutes=-4)),
        publish(actor, activity, written(read_instant(at) + timedelta(milliseconds=1))),
    ]
    for command in conflicts:
        [sent] = stack.send(command)
        letter = stack.dead_letter(sent)
        assert letter["reason"] == "conflict"
        stack.cli("dead-letters", "drop", sent)
    [item] = stack.page(viewer)["items"]
    assert (item["actor_id"], item["published_at"], item["payload"]) == (actor, at, "first")
    assert len(stack.entries(viewer)) == 1
    # Deleted or not: the id stays taken.
    stack.apply(delete(actor, activity))
    [sent] = stack.send(publish(other, activity, at))
    assert stack.dead_letter(sent)["reason"] == "conflict"
    stack.cli("dead-letters", "drop", sent)
    assert stack.timeline(viewer) == [] and stack.dead_letters() == []


def test_deletes(stack, pair):
    viewer, actor = pair
    after, before, not_mine = unique("x"), unique("x"), unique("x")
    at = instant(minutes=-1)
    stack.apply(publish(actor, after, at), delete(actor, after))
    stack.apply(delete(actor, before), publish(actor, before, at))
    stack.apply(publish(actor, not_mine, at), delete(unique("actor"), not_mine))
    assert stack.timeline(viewer) == [not_mine]
    # Sent again, they stay where they are: out.
    stack.apply(publish(actor, after, at), publish(actor, before, at))
    assert stack.timeline(viewer) == [not_mine]
    # And a delete by somebody else, before the publish, has no effect either.
    early = unique("x")
    stack.apply(delete(unique("actor"), early), publish(actor, early, at))
    assert sorted(stack.timeline(viewer)) == sorted([not_mine, early])
    # Nor does following bring anything back that was deleted.
    late = unique("viewer")
    stack.apply(follow(late, actor))
    assert sorted(stack.timeline(late)) == sorted([not_mine, early])


def test_the_latest_update_wins(stack, pair):
    viewer, actor = pair
    at = instant(minutes=-5)

    def payload_after(*commands):
        activity = unique("u")
        for make in commands:
            stack.apply(make(activity))
        [item] = [item for item in stack.page(viewer, limit=100)["items"] if item["activity_id"] == activity]
        assert item["published_at"] == at
        return item["payload"]

    published = lambda id: publish(actor, id, at, payload="published")
    one = lambda id: update(actor, id, "one", instant(minutes=-4))
    two = lambda id: update(actor, id, "two", instant(minutes=-3))
    # Published counts as the earliest, whatever the clocks of the two said.
    earlier = lambda id: update(actor, id, "earlier", instant(days=-9))
    assert payload_after(published, one, two) == "two"
    assert payload_after(published, two, one) == "two"
    assert payload_after(two, published, one) == "two"
    assert payload_after(one, published) == "one"
    assert payload_after(published, earlier) == "earlier"
    assert payload_after(earlier, published) == "earlier"
    assert payload_after(one, published, published) == "one"


def test_what_is_older_than_retention_reaches_no_timeline(stack, pair):
    viewer, actor = pair
    old, older, young = unique("r"), unique("r"), unique("r")
    stack.apply(
        publish(actor, old, instant(days=-31)),
        publish(actor, older, "2015-01-01T00:00:00Z"),
        publish(actor, young, instant(days=-29, hours=-23)),
    )
    assert stack.timeline(viewer) == [young]
    assert len(stack.entries(viewer)) == 1
    late = unique("viewer")
    stack.apply(follow(late, actor))
    assert stack.timeline(late) == [young]


# 400 -----------------------------------------------------------------------------------------------------

BAD_QUERIES = {
    "limit": [
        "limit=0", "limit=-1", "limit=101", "limit=9223372036854775808", "limit=18446744073709551617", "limit=",
        "limit=" + quote("١٠"), "limit=1e1", "limit=10.0", "limit=0x10", "limit=ten", "limit=+5", "limit=%2B5",
        "limit=%205", "limit=5%20", "limit=5%00", "limit=null", "limit", "limit=5&limit=5", "limit=5&limit=",
        "limit=" + "9" * 999, "limit=5,6",
    ],
    "order": [
        "order=", "order=NEWEST", "order=asc", "order=newest%20", "order=newest&order=newest", "order=oldest&order=x",
    ],
    "from": [
        "from=", "from=yesterday", "from=2026-11", "from=2026-13-01", "from=2026-02-30", "from=2026-11-20T12:00:00",
        "from=2026-11-20T12:00:00+09:00", "from=1767225600", "from=26-11-20", "from=2026-11-20T", "from=%20",
        "from=2026-11-20&from=2026-11-20", "from=" + quote("٢٠٢٦-١١-٢٠"), "from=2026-11-20T25:00:00Z",
        "from=20261120", "from=2026-1-2", "from=%2B2026-11-20", "from=-2026-11-20", "from=12026-11-20",
    ],
    "to": [
        "to=", "to=tomorrow", "to=2026-11-31", "to=2026-11-20T12:00:00", "to=2026-11-20T12:00:00+09:00",
        "to=2026-11-20&to=2026-11-21", "to=10000-01-01",
    ],
}


@pytest.mark.parametrize(
    "parameter, query", [(name, query) for name, all in BAD_QUERIES.items() for query in all], ids=lambda x: x[:50]
)
def test_a_bad_parameter_is_400_and_named(stack, parameter, query):
    problem(stack.get("bob", query), 400, parameter)


BAD_VIEWERS = [
    "a%23b", "a%20b", "a%2Fb", "a%2fb", "a%00b", "a%0Ab", "a%25b", "a%2520b", "%", "%zz", "a%C3%28", "%ff",
    quote("😀"), quote("caf\u00e9"), quote("cafe\u0301"), "v" * 129, "v" * 8000, "a%3Fb", "a,b", "a;b", "a*b", "~a",
    "%e2%80%8b",
]


@pytest.mark.parametrize("viewer", BAD_VIEWERS, ids=lambda viewer: viewer[:30])
def test_a_bad_viewer_is_400_and_named(stack, viewer):
    problem(stack.get(viewer), 400, "viewer")


def test_the_longest_viewer_is_fine(stack):
    assert stack.get("v" * 128).status == 200


# Cursors -----------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def cursor(stack, crowd):
    viewer, _, moments = crowd
    page = stack.page(viewer, limit=3, to=moments[2])
    assert stack.get(viewer, {"cursor": page["next_cursor"]}).status == 200
    return viewer, page["next_cursor"], page["newer_cursor"]


def refused(stack, viewer, cursor):
    return problem(stack.get(viewer, {"cursor": cursor}), 400, "cursor")


def test_a_cursor_with_any_character_changed_is_400(stack, cursor):
    viewer, *cursors = cursor
    for good in cursors:
        for place, character in enumerate(good):
            other = "B" if character == "A" else "A"
            refused(stack, viewer, good[:place] + other + good[place + 1 :])


def test_a_cursor_has_no_other_spelling(stack, cursor):
    """The last character may have bits that carry nothing: none of its neighbours may pass."""
    viewer, *cursors = cursor
    for good in cursors:
        for other in set(string.ascii_letters + string.digits + "-_+/=") - {good[-1]}:
            refused(stack, viewer, good[:-1] + other)
        for other in (good + "=", good + "==", good + "A", "A" + good, good + " ", " " + good, good + "\n", good * 2):
            refused(stack, viewer, other)
        if good.upper() != good:
            refused(stack, viewer, good.upper())


def test_a_cut_cursor_is_400(stack, cursor):
    viewer, *cursors = cursor
    for good in cursors:
        for length in range(len(good)):
            refused(stack, viewer, good[:length])
            refused(stack, viewer, good[length + 1 :])


def test_a_cursor_with_two_pieces_of_others_is_400(stack, cursor):
    viewer, one, other = cursor
    for place in range(1, min(len(one), len(other))):
        for mixed in (one[:place] + other[place:], other[:place] + one[place:]):
            if mixed not in (one, other):
                refused(stack, viewer, mixed)


@pytest.mark.parametrize(
    "text",
    ["", "null", "undefined", "0", "AAAA", "A" * 64, "A" * 512, "A" * 513, "A" * 8000, "😀", "\0", "../../etc", "{}",
     base64.urlsafe_b64encode(b'{"v":1}').decode(), base64.urlsafe_b64encode(bytes([2]) + bytes(40)).decode().rstrip("=")],
    ids=lambda text: repr(text)[:20],
)
def test_something_else_for_a_cursor_is_400(stack, text):
    refused(stack, "bob", text)


def test_bytes_that_are_not_utf_8_for_a_cursor_are_400(stack):
    problem(stack.get("bob", "cursor=%ff%fe"), 400, "cursor")
    problem(stack.get("bob", "cursor"), 400, "cursor")


def test_a_cursor_of_another_viewer_is_400(stack, cursor):
    viewer, *cursors = cursor
    for good in cursors:
        refused(stack, unique("viewer"), good)
        refused(stack, viewer.upper(), good)
        refused(stack, viewer + "0", good)


def test_a_cursor_of_another_stack_is_400(own_stack, cursor):
    """Another secret: nobody can make one for themselves."""
    viewer, *cursors = cursor
    for good in cursors:
        refused(own_stack, viewer, good)


def test_a_cursor_given_twice_is_400(stack, cursor):
    viewer, good, _ = cursor
    problem(stack.get(viewer, f"cursor={good}&cursor={good}"), 400, "cursor")


@pytest.mark.parametrize(
    "name, value",
    [("order", "newest"), ("order", "oldest"), ("from", "2026-01-01"), ("to", "2026-12-31T00:00:00Z"), ("order", ""), ("from", "x")],
)
def test_only_limit_goes_with_a_cursor(stack, cursor, name, value):
    viewer, good, newer = cursor
    for one in (good, newer):
        problem(stack.get(viewer, {"cursor": one, name: value}), 400, name, "cursor")
        problem(stack.get(viewer, {name: value, "cursor": one}), 400, name, "cursor")
        assert stack.get(viewer, {"cursor": one, "limit": 1}).status == 200
    problem(stack.get(viewer, {"cursor": good, "limit": 0}), 400, "limit")


def test_cursors_are_at_most_512_characters(stack):
    viewer, actor = "w" * 128, "c" * 128
    stack.send(follow(viewer, actor), *(publish(actor, str(n) + "i" * 127, instant(minutes=-1)) for n in range(3)))
    stack.drain()
    page = stack.page(viewer, limit=1, **{"from": instant(days=-2), "to": instant(days=1)})
    for _ in range(3):
        assert len(page["newer_cursor"]) <= 512
        if page["next_cursor"]:
            assert len(page["next_cursor"]) <= 512
            page = stack.page(viewer, limit=1, cursor=page["next_cursor"])


# 404 and 405 -------------------------------------------------------------------------------------------------

@pytest.mark.parametrize(
    "path",
    ["/", "/v1", "/v1/", "/v1/timelines", "/v1/timelines/", "/v1/timelines/bob/", "/v1/timelines/bob/x", "/v2/timelines/bob",
     "/v1/timeline/bob", "/V1/timelines/bob", "//v1/timelines/bob", "/v1//timelines/bob", "/timelines/bob", "/favicon.ico",
     "/health", "/v1/timelines/bob%2f..%2f/x"],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_unknown_path_is_404(stack, path, method):
    problem(stack.request(path, method), 404)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "PROPFIND"])
def test_another_method_is_405_and_says_which_is_allowed(stack, method):
    for data in (None, b"{}"):
        answer = stack.request("/v1/timelines/bob", method, data=data)
        problem(answer, 405)
        assert "GET" in [one.strip() for one in answer.headers["allow"].split(",")]


@pytest.mark.parametrize("viewer", ["auth0|5f7c", "anna+live@example.org", "a|b+c"])
def test_ids_of_identity_providers_in_paths_and_queries(stack, viewer):
    activity, actor = unique("a"), unique("actor") + "|+"
    stack.apply(follow(viewer, actor), publish(actor, activity), like(viewer, activity))
    # A `+` of a path is a plus, literal or encoded; a `+` of a query is a space.
    for path in (viewer, quote(viewer, safe=""), viewer.replace("+", "%2B"), viewer.replace("|", "%7c")):
        assert stack.request(f"/v1/timelines/{path}").json["viewer_id"] == viewer
    encoded = quote(viewer, safe="")
    assert stack.request(f"/v1/activities/{activity}?viewer={encoded}").json["likes"] == {"count": 1, "liked": True}
    if "+" in viewer:
        document = problem(stack.request(f"/v1/activities/{activity}?viewer={viewer}"), 400, "viewer")
        assert "write `+` as %2B" in document["detail"]
    assert [item["activity_id"] for item in stack.cli_json("timeline", viewer, "--json")] == [activity]


# 401 and 403 -------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def guarded():
    with Stack("--auth") as running:
        yield running


def test_the_local_stack_is_open_unless_told(stack, guarded):
    assert "NAGARE_JWT_KEY" not in stack.exports
    assert stack.get("bob").status == 200
    assert guarded.exports["NAGARE_JWT_KEY"]


def token(stack, key=None, algorithm="HS256", headers=None, **claims):
    claims = {"sub": "bob", "exp": int(time.time()) + 300} | claims
    claims = {name: value for name, value in claims.items() if value is not ...}
    return jwt.encode(claims, stack.exports["NAGARE_JWT_KEY"] if key is None else key, algorithm, headers)


def bearing(text):
    return {"Authorization": f"Bearer {text}"}


def test_ones_own_timeline_with_a_token(guarded):
    guarded.apply(follow("bob", "anna"), publish("anna", "one"))
    answer = guarded.get("bob", headers=bearing(token(guarded)))
    assert answer.status == 200 and answer.activities() == ["one"]
    more = token(guarded, iat=int(time.time()) - 5, scope="read", aud="nagare", nested={"a": [1]})
    assert guarded.get("bob", headers=bearing(more)).status == 200
    assert guarded.get("bob", headers={"authorization": f"bearer {token(guarded)}"}).status == 200
    # The command line finds the key among the exports.
    assert len(guarded.cli_json("timeline", "bob", "--json")) == 1


def test_another_viewers_timeline_is_403(guarded):
    for viewer in ("anna", "BOB", "bobb", "bo", "%62obb"):
        document = problem(guarded.get(viewer, headers=bearing(token(guarded))), 403)
        assert "bob" not in document["detail"]
    assert guarded.get("%62ob", headers=bearing(token(guarded))).status == 200


def unsigned(stack):
    return jwt.encode({"sub": "bob", "exp": int(time.time()) + 300}, None, algorithm="none")


def swapped(stack):
    """The claims of one token with the seal of another."""
    head, _, seal = token(stack, sub="anna").split(".")
    return ".".join((head, token(stack).split(".")[1], seal))


CLAIMS = '{"sub":"bob","exp":9999999999}'


def raw_token(claims, key):
    """For what the library refuses to write."""
    encode = lambda part: base64.urlsafe_b64encode(part).rstrip(b"=")
    signed = encode(b'{"alg":"HS256","typ":"JWT"}') + b"." + encode(claims.encode())
    seal = hmac.new(key.encode(), signed, hashlib.sha256).digest()
    return (signed + b"." + encode(seal)).decode()


BAD_TOKENS = {
    "of another key": lambda stack: token(stack, key="another key, and just as long as it"),
    "of the empty key": lambda stack: raw_token(CLAIMS, key=""),
    "of the key's other reading": lambda stack: token(stack, key=bytes.fromhex(stack.exports["NAGARE_JWT_KEY"])),
    "without a signature": unsigned,
    "with its signature cut off": lambda stack: token(stack).rsplit(".", 1)[0] + ".",
    "without its third part": lambda stack: token(stack).rsplit(".", 1)[0],
    "by another algorithm": lambda stack: token(stack, algorithm="HS512"),
    "by HS384": lambda stack: token(stack, algorithm="HS384"),
    "with the claims of another": swapped,
    "expired an hour ago": lambda stack: token(stack, exp=int(time.time()) - 3600),
    "expired a second ago": lambda stack: token(stack, exp=int(time.time()) - 1),
    "expired in 1970": lambda stack: token(stack, exp=0),
    "without exp": lambda stack: token(stack, exp=...),
    "with exp a null": lambda stack: token(stack, exp=None),
    "without sub": lambda stack: token(stack, sub=...),
    "with sub empty": lambda stack: token(stack, sub=""),
    "not valid yet": lambda stack: token(stack, nbf=int(time.time()) + 300),
    "empty": lambda stack: "",
    "nonsense": lambda stack: "nonsense",
    "three dots": lambda stack: "...",
}


@pytest.mark.parametrize("make", BAD_TOKENS.values(), ids=BAD_TOKENS)
def test_a_bad_token_is_401(guarded, make):
    text = make(guarded)
    answer = guarded.get("bob", headers=bearing(text))
    document = problem(answer, 401)
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert not text or text not in json.dumps(document)


@pytest.mark.parametrize(
    "claims", ['{"sub":17,"exp":9999999999}', '{"sub":"bob","exp":"9999999999"}', "[]", "null", "{", '{"sub":["bob"],"exp":9999999999}']
)
def test_signed_claims_of_the_wrong_form_are_401(guarded, claims):
    key = guarded.exports["NAGARE_JWT_KEY"]
    assert guarded.get("bob", headers=bearing(raw_token(CLAIMS, key))).status == 200
    problem(guarded.get("bob", headers=bearing(raw_token(claims, key))), 401)


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic Ym9iOmJvYg==", "{token}", "Token {token}", "Bearer{token}"])
def test_without_a_bearer_token_it_is_401(guarded, header):
    headers = {} if header is None else {"Authorization": header.replace("{token}", token(guarded))}
    answer = guarded.get("bob", headers=headers)
    problem(answer, 401)
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_token_in_the_query_counts_for_nothing(guarded):
    problem(guarded.get("bob", {"access_token": token(guarded)}), 401)


def test_bad_input_is_400_with_a_token_too(guarded):
    problem(guarded.get("bob", "limit=0", bearing(token(guarded))), 400, "limit")
    problem(guarded.get("a%23b", "", bearing(token(guarded, sub="a#b"))), 400, "viewer")


@pytest.mark.parametrize("tenant", [None, True, 5, ["acme"], {}], ids=str)
def test_a_tenant_is_a_string(guarded, tenant):
    sent = {"events": [{"customer_id": "c", "event_id": "e", "name": "n", "at": "2026-01-01T00:00:00Z"}]}
    text = json.dumps(tenant) if tenant is not None else "null"
    name = {"[\"acme\"]": "acme"}.get(text, text)
    headers = bearing(token(guarded, tenant_id=tenant)) | {"Content-Type": "application/json"}
    path = f"/v1/tenants/{quote(name, safe='')}/events"
    assert guarded.request(path, "POST", data=json.dumps(sent).encode(), headers=headers).status in (400, 403)


def test_another_claim_has_the_viewer():
    viewer = "auth0|5f7c+x"
    with Stack("--auth", "--viewer-claim", "https://example.com/uid") as stack:
        stack.apply(follow(viewer, "anna"), publish("anna", "one"))
        assert [item["activity_id"] for item in stack.cli_json("timeline", viewer, "--json")] == ["one"]
        printed = stack.cli("token", viewer).stdout.strip()
        assert jwt.decode(printed, options={"verify_signature": False})["https://example.com/uid"] == viewer
        assert stack.get(quote(viewer, safe=""), headers=bearing(printed)).status == 200
        for claims in ({}, {"https://example.com/uid": [viewer]}, {"https://example.com/uid": ""}):
            headers = bearing(token(stack, **{"sub": viewer} | claims))
            problem(stack.get(quote(viewer, safe=""), headers=headers), 401)
    for wrong in (["--viewer-claim", "uid"], ["--auth", "--viewer-claim", "tenant_id"], ["--auth", "--viewer-claim", ""]):
        assert run(["up", "--port", "0", *wrong], os.environ).returncode == 2, wrong


def test_without_the_key_the_command_line_is_turned_away(guarded):
    env = {name: value for name, value in guarded.env.items() if name != "NAGARE_JWT_KEY"}
    guarded.env, kept = env, guarded.env
    try:
        assert "401" in guarded.cli("timeline", "bob", code=1).stderr
    finally:
        guarded.env = kept

"""What caches may keep (`PublicCacheSeconds`, locally `--public-cache`): what is the same for everybody, and nothing else.

    python -m pytest tests/e2e/social/test_public_cache.py
"""

import http.client
import json
import urllib.parse

import pytest

from shared_cache import SharedCache, lifetime
from conftest import DEADLINE, Stack, follow, hit, instant, join, like, open_battle, open_poll, publish, say, vote

PRIVATE, PUBLIC = "private, no-store", "public, max-age=1"
SHARED = ["/v1/polls/p", "/v1/battles/b", "/v1/actors/anna/activities", "/v1/actors/anna/activities?include=likes", "/v1/rooms/open/messages"]
OWN = ["/v1/timelines/bob", "/v1/notifications/bob", "/v1/viewers/bob/likes", "/v1/viewers/bob/following", "/v1/profiles/bob",
       "/v1/activities/a", "/v1/actors/anna/followers"]


def fill(stack):
    stack.send(
        follow("bob", "anna"), publish("anna", "a"), like("bob", "a"), say("open", "m", "bob"),
        say("closed", "m", "bob"), join("closed", "bob"), say("secret", "m", "bob", private=True),
        open_poll("anna", "p", ["red", "blue"], instant(minutes=-1), instant(minutes=9)), vote("bob", "p", "red"),
        open_battle("anna", "b", 100), hit("bob", "b", "h", 7),
    )
    stack.drain()
    return stack


@pytest.fixture(scope="module")
def cached():
    with Stack("--public-cache", "1") as stack:
        yield fill(stack)


@pytest.fixture(scope="module")
def guarded():
    with Stack("--auth", "--public-cache", "1") as stack:
        yield fill(stack)


def token(stack, viewer):
    return {"Authorization": "Bearer " + stack.cli("token", viewer).stdout.strip()}


def kept(answer):
    return answer.headers["cache-control"]


def lines(stack, path, headers=None):
    """Status and header lines as they travel, each of them."""
    url = urllib.parse.urlsplit(stack.exports["NAGARE_API_URL"])
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=DEADLINE)
    try:
        connection.request("GET", path, headers=headers or {})
        answer = connection.getresponse()
        answer.read()
        return answer.status, answer.getheaders()
    finally:
        connection.close()


@pytest.mark.parametrize("path", SHARED)
def test_what_is_the_same_for_everybody_may_be_kept(cached, guarded, path):
    assert kept(cached.request(path)) == PUBLIC
    bobs, eves = (guarded.request(path, headers=token(guarded, viewer)) for viewer in ("bob", "eve"))
    assert kept(bobs) == kept(eves) == PUBLIC
    # Cursors are sealed again for each answer of some lists; whatever else there is has to be equal.
    plain = lambda answer: {name: value for name, value in answer.json.items() if not name.endswith("cursor")}
    assert plain(bobs) == plain(eves)
    assert "bob" not in json.dumps({name: bobs.json.get(name) for name in ("vote", "viewer")})


def test_the_callers_own_part_is_asked_for_by_name(guarded):
    bob = token(guarded, "bob")
    for path, own in (("/v1/polls/p", lambda it: it["vote"]), ("/v1/battles/b", lambda it: it["viewer"]),
                      ("/v1/actors/anna/activities?include=likes", lambda it: it["items"][0]["likes"]["liked"])):
        assert own(guarded.request(path, headers=bob).json) is None, path
        named = guarded.request(path + ("&" if "?" in path else "?") + "viewer=bob", headers=bob)
        assert own(named.json) and kept(named) == PRIVATE, path
        other = guarded.request(path + ("&" if "?" in path else "?") + "viewer=eve", headers=bob)
        assert other.status == 403 and kept(other) == PRIVATE, path


@pytest.mark.parametrize("path", OWN)
def test_what_is_somebodys_own_is_never_kept(cached, guarded, path):
    assert kept(cached.request(path)) == PRIVATE
    assert kept(guarded.request(path, headers=token(guarded, "bob"))) == PRIVATE


@pytest.mark.parametrize("room", ["closed", "secret"])
def test_a_private_room_is_never_kept(guarded, room):
    guarded.apply(join(room, "bob"))
    path = f"/v1/rooms/{room}/messages"
    page = guarded.request(path, headers=token(guarded, "bob"))
    assert page.status == 200 and len(page.json["items"]) == 1 and kept(page) == PRIVATE
    newer = guarded.request(f"{path}?cursor={page.json['newer_cursor']}", headers=token(guarded, "bob"))
    assert newer.status == 200 and kept(newer) == PRIVATE
    refused = guarded.request(path, headers=token(guarded, "eve"))
    assert refused.status == 403 and kept(refused) == PRIVATE


def test_following_an_open_room_may_be_kept_until_it_is_private():
    with Stack("--auth", "--public-cache", "1") as stack:
        stack.apply(say("room", "m1", "bob"))
        bob = token(stack, "bob")
        cursor = stack.request("/v1/rooms/room/messages", headers=bob).json["newer_cursor"]
        newer = f"/v1/rooms/room/messages?cursor={cursor}"
        assert kept(stack.request(newer, headers=bob)) == PUBLIC
        stack.apply(join("room", "bob"), say("room", "m2", "bob"))
        mine = stack.request(newer, headers=bob)
        assert [one["message_id"] for one in mine.json["items"]] == ["m2"] and kept(mine) == PRIVATE
        # Whoever was given the same cursor by a cache reads nothing by it.
        assert stack.request(newer, headers=token(stack, "eve")).status == 403


def test_problems_are_never_kept(cached):
    for path in ("/v1/polls/nowhere", "/v1/rooms/open/messages?limit=0", "/v1/actors/an%20na/activities", "/v1/nowhere"):
        answer = cached.request(path)
        assert answer.status >= 400 and kept(answer) == PRIVATE, path


def test_by_default_nothing_is_kept_and_the_own_part_is_there():
    with Stack("--auth") as stack:
        fill(stack)
        bob = token(stack, "bob")
        for path in SHARED:
            assert kept(stack.request(path, headers=bob)) == PRIVATE, path
        assert stack.request("/v1/polls/p", headers=bob).json["vote"] == "red"
        assert stack.request("/v1/battles/b", headers=bob).json["viewer"]["hits"] == 1


def test_the_option_has_bounds(cached):
    assert cached.cli("up", "--public-cache", "61", code=2).stderr
    assert cached.cli("up", "--public-cache", "-1", code=2).stderr


def test_a_cache_keeps_what_is_the_same_for_everybody_and_nothing_else(cached, guarded):
    """A cache that follows RFC 9111, with the lines as they travel: of two `Cache-Control` lines the strictest counts."""
    bob = token(guarded, "bob")
    for path in SHARED:
        assert lifetime(*lines(cached, path)) == 1, path
        assert lifetime(*lines(guarded, path, bob), list(bob.items())) == 1, path
    for path in OWN:
        assert lifetime(*lines(cached, path)) is None, path
        assert lifetime(*lines(guarded, path, bob), list(bob.items())) is None, path


DATE = ("Date", "Sun, 29 Nov 2026 12:00:00 GMT")
AUTHORIZED = [("Authorization", "Bearer x")]


@pytest.mark.parametrize(("said", "request_lines", "seconds"), [
    (["public, max-age=7"], [], 7),
    (["private, no-store", "public, max-age=7"], [], None),
    (["public, max-age=7", "no-store"], [], None),
    (["max-age=7"], [], 7),
    (["max-age=7"], AUTHORIZED, None),
    (["public, max-age=7"], AUTHORIZED, 7),
    (["s-maxage=3, max-age=7"], AUTHORIZED, 3),
    (["max-age=9, max-age=7"], [], 7),
    (["max-age=7, no-cache"], [], 0),
    (["public"], [], 0),
    ([], [], 0),
    (["max-age=x"], [], 0),
])
def test_the_cache_follows_rfc_9111(said, request_lines, seconds):
    assert lifetime(200, [("Cache-Control", one) for one in said], request_lines) == seconds


def test_the_cache_follows_rfc_9111_in_time_and_by_request():
    assert lifetime(200, [DATE, ("Expires", "Sun, 29 Nov 2026 12:00:05 GMT")]) == 5
    assert lifetime(200, [DATE, ("Expires", "0")]) == 0
    assert lifetime(200, [("Cache-Control", "public, max-age=7"), ("Vary", "*")]) is None
    at = 1795953600
    said = [DATE, ("Cache-Control", "public, max-age=7"), ("Vary", "accept-encoding")]
    cache, zipped = SharedCache(), [("Accept-Encoding", "gzip")]
    assert cache.keep("/", 200, said, "plain", at, at + 2.5)
    assert (cache.found("/", at + 3), cache.found("/", at + 7.4), cache.found("/", at + 7.6)) == ("plain", "plain", None)
    assert cache.found("/", at + 3, zipped) is None
    assert cache.keep("/", 200, [*said, ("Age", "6")], "zipped", at + 3, at + 3, zipped)
    assert (cache.found("/", at + 3.9, zipped), cache.found("/", at + 4.1, zipped), cache.found("/", at + 4)) == ("zipped", None, "plain")

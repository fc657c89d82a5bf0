"""Nobody is given a timeline but their own: every viewer asked for, with every token there is.

    python -m pytest tests/e2e/platform/test_isolation.py -rP      prints how often what was answered
"""

import base64
import collections
import hashlib
import hmac
import itertools
import json
import time
import urllib.parse

import pytest

from conftest import Stack, follow, publish

VIEWERS = ["bob", "Bob", "BOB", "bobb", "bo", "b.ob", "b_ob", "bob-", "bob@x", "bob:1", "anna", "0"]
LOOK_ALIKES = ["b\u043eb", "\uff42\uff4f\uff42", "bo\u200bb", "bob\u0000", " bob", "bob ", "bob\n", "bo\u0062\u0301", "b\u00f6b", "%62ob", "bob/", "bob#", "*", "bob,anna", "B\u039fB"]
"""What somebody might take for bob, and what no viewer can be called."""


def encoded(part):
    return base64.urlsafe_b64encode(part if isinstance(part, bytes) else json.dumps(part).encode()).rstrip(b"=").decode()


def token(sub, key, algorithm="HS256", digest=hashlib.sha256, **claims):
    claims = {name: value for name, value in ({"sub": sub, "exp": int(time.time()) + 3600} | claims).items() if value is not ...}
    signed = f"{encoded({'alg': algorithm, 'typ': 'JWT'})}.{encoded(claims)}"
    seal = b"" if digest is None else hmac.new(key.encode(), signed.encode(), digest).digest()
    return f"{signed}.{encoded(seal)}"


def cut(text):
    return text[:-8]


def with_the_seal_of(other, text):
    return ".".join([*text.split(".")[:2], other.split(".")[2]])


GOOD = "valid"
BAD = {
    "missing": lambda sub, key: None,
    "expired": lambda sub, key: token(sub, key, exp=int(time.time()) - 1),
    "without exp": lambda sub, key: token(sub, key, exp=...),
    "not valid yet": lambda sub, key: token(sub, key, nbf=int(time.time()) + 3600),
    "of another key": lambda sub, key: token(sub, key[::-1]),
    "of the empty key": lambda sub, key: token(sub, ""),
    "algorithm none": lambda sub, key: token(sub, key, algorithm="none", digest=None),
    "algorithm None, signed": lambda sub, key: token(sub, key, algorithm="None"),
    "algorithm HS512": lambda sub, key: token(sub, key, algorithm="HS512", digest=hashlib.sha512),
    "said to be RS256": lambda sub, key: token(sub, key, algorithm="RS256"),
    "seal cut": lambda sub, key: cut(token(sub, key)),
    "seal of another's": lambda sub, key: with_the_seal_of(token(sub + "x", key), token(sub, key)),
}


@pytest.fixture(scope="module")
def guarded():
    """Each viewer follows an actor of their own, who has published three things."""
    with Stack("--auth") as running:
        for n, viewer in enumerate(VIEWERS):
            running.send(follow(viewer, f"actor-{n}"), *(publish(f"actor-{n}", f"of-{n}-{m}") for m in range(3)))
        running.drain()
        yield running


def ask(stack, viewer, bearer, cursor=None):
    headers = {} if bearer is None else {"Authorization": f"Bearer {bearer}"}
    query = {"limit": 2} | ({"cursor": cursor} if cursor else {})
    return stack.get(urllib.parse.quote(viewer, safe=""), query, headers)


def shows_of(answer):
    """The numbers of the viewers whose activities an answer holds, wherever in it."""
    return {n for n in range(len(VIEWERS)) if f"of-{n}-" in answer.text}


def test_every_viewer_with_every_token(guarded):
    key, told = guarded.exports["NAGARE_JWT_KEY"], collections.defaultdict(collections.Counter)
    for viewer, sub in itertools.product(VIEWERS + LOOK_ALIKES, VIEWERS + LOOK_ALIKES):
        answer = ask(guarded, viewer, token(sub, key))
        told[GOOD + (", own" if viewer == sub else ", another's")][answer.status] += 1
        if viewer not in VIEWERS:
            assert answer.status == 400, (viewer, sub, answer.text)
        elif viewer == sub:
            assert answer.status == 200 and shows_of(answer) == {VIEWERS.index(viewer)}, (viewer, answer.text)
        else:
            assert answer.status == 403 and not shows_of(answer), (viewer, sub, answer.text)
    for kind, make in BAD.items():
        for viewer, sub in itertools.product(VIEWERS, VIEWERS):
            answer = ask(guarded, viewer, make(sub, key))
            told[kind][answer.status] += 1
            assert answer.status == 401 and not shows_of(answer), (kind, viewer, sub, answer.text)
    for kind, statuses in told.items():
        print(f"token {kind:<24} {sum(statuses.values()):>5} requests: {dict(sorted(statuses.items()))}")
    print(f"{sum(counts.total() for counts in told.values())} requests, another viewer's activities shown: 0")


def test_every_viewer_with_every_cursor(guarded):
    key = guarded.exports["NAGARE_JWT_KEY"]
    pages = {viewer: ask(guarded, viewer, token(viewer, key)).json for viewer in VIEWERS}
    told = collections.Counter()
    for viewer, owner, name in itertools.product(VIEWERS, VIEWERS, ("next_cursor", "newer_cursor")):
        answer = ask(guarded, viewer, token(viewer, key), pages[owner][name])
        whose = "own" if viewer == owner else "another's"
        told[whose, answer.status] += 1
        assert answer.status == (200 if viewer == owner else 400), (viewer, owner, answer.text)
        assert shows_of(answer) <= {VIEWERS.index(viewer)}
        stolen = ask(guarded, owner, token(viewer, key), pages[owner][name])
        told[f"{whose}, and their path", stolen.status] += 1
        assert stolen.status == (200 if viewer == owner else 403), (viewer, owner, stolen.text)
    print(f"cursors: {dict(told)}, another viewer's activities shown: 0")

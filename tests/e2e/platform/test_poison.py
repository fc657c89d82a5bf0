"""Good commands pass bad ones: those are dead letters at their first receive, and hold nobody up.

    NAGARE_POISON=1000000,1000 python -m pytest tests/e2e/platform/test_poison.py -rP
"""

import collections
import json
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from conftest import Stack, follow, instant, publish, until

GOOD, BAD = map(int, os.environ.get("NAGARE_POISON", "3000,300").split(","))
ACTORS = 100
SENDERS = 4

POISON = {
    "not-json": lambda n: f"not json {n}",
    "unknown-type": lambda n: json.dumps({"type": "activity.liked", "n": n}),
    "malformed": lambda n: json.dumps(publish("a b", f"bad-{n}")),
    "conflict": lambda n: json.dumps(publish(f"thief-{n}", "taken", instant(days=-1))),
}


def good(n):
    """One entry each: every actor has one follower."""
    return publish(f"actor-{n % ACTORS}", f"activity-{n}", instant(milliseconds=-(n % 1_000_000)))


def send(stack):
    """All of them, the bad ones evenly among the good; returns how many of which reason were sent by id."""
    every, poison, lock = GOOD // BAD, {}, threading.Lock()
    kinds = list(POISON)

    def share(first):
        for bad in range(first, BAD, SENDERS):
            reason = kinds[bad % len(kinds)]
            start, end = bad * every, GOOD if bad == BAD - 1 else (bad + 1) * every
            sent = stack.send(POISON[reason](bad), *map(good, range(start, end)))
            with lock:
                poison[sent[0]] = reason

    with ThreadPoolExecutor(SENDERS) as pool:
        list(pool.map(share, range(SENDERS)))
    return poison


def entries(stack):
    pages = stack.dynamodb.get_paginator("scan").paginate(TableName=stack.table, Select="COUNT")
    return sum(page["Count"] for page in pages)


def test_the_good_pass_the_bad():
    with Stack() as stack:
        stack.apply(publish("owner", "taken", instant(days=-1)))
        stack.send(*(follow(f"viewer-{n}", f"actor-{n}") for n in range(ACTORS)))
        stack.drain()
        start = time.monotonic()
        poison = send(stack)
        until(lambda: stack.waiting() == 0, "the queue to drain", 60 + GOOD // 100)
        seconds = time.monotonic() - start
        stack.drain(60 + BAD // 10)

        letters = stack.dead_letters()
        in_effect = entries(stack)
        log = stack.log.read_text()
        refused, again = log.count(" refused: "), log.count("retry later")
        reasons = collections.Counter(letter["reason"] for letter in letters)
        receives = collections.Counter(letter["receive_count"] for letter in letters)
        print(
            f"{GOOD} good and {BAD} bad commands in {seconds:.0f} s: {in_effect} in effect, {len(letters)} dead letters "
            f"{dict(sorted(reasons.items()))}, their receives {dict(receives)}, messages delivered again {again}"
        )
        assert in_effect == GOOD
        assert {letter["id"]: letter["reason"] for letter in letters} == poison
        assert receives == {1: BAD}
        # The log tells of both.
        assert (refused, again) == (BAD, 0)

"""`nagare forget`: afterwards nothing in any table names the person but tombstones that say nothing, and go."""

import json
import subprocess
import threading
import time

import pytest

from conftest import (
    NAGARE, Stack, delete, follow, ids, instant, join, like, mark_all_read, mark_read, plain, publish, say, spread, tag, unfollow,
    unique, unlike, unsay, untag, until, update,
)

TABLES = [
    "NAGARE_TIMELINES_TABLE", "NAGARE_LEDGER_TABLE", "NAGARE_FACTS_TABLE", "NAGARE_VIEWS_TABLE", "NAGARE_DEAD_LETTERS_TABLE",
]
DAY = 86_400


def everything(stack):
    """Every item of every table, as (the table's variable, item)."""
    for table in TABLES:
        pages = stack.dynamodb.get_paginator("scan").paginate(TableName=stack.exports[table], ConsistentRead=True)
        yield from ((table, plain(item)) for page in pages for item in page["Items"])


def naming(stack, text):
    """Every item that has a text, or has it in what it keeps as bytes."""
    has = lambda item: any(one in json.dumps(item) for one in (text, text.encode().hex()))
    return [(table, item) for table, item in everything(stack) if has(item)]


def kind_of(item):
    """Which of the tombstones of docs/OPERATIONS.md an item is; nothing if it says more than one may."""
    kind = item["pk"].split("#")[0]
    if item["sk"] in ("claim", "owner") or item["sk"].startswith(("all#", "end#")):
        kind += "#" + item["sk"].split("#")[0]
    says = {name: value for name, value in item.items() if name not in ("pk", "sk", "forget_at", "revision", "complete_for")}
    expected = {
        "followers": {"follower_id": None, "followee_id": None, "following": False, "changed_at": None},
        "outbox": {"activity_id": None, "deleted": True},
        "activity#claim": {"actor_id": None, "published_at": None},
        "activity": {"deleted": True},
        "person": {"at": None},
        "likes": {"liked": False, "changed_at": None},
        "tags": {"tagged": False, "at": None},
        "activity#owner": {"actor": None, "deleted": True},
        "read": {"through": None, "behind": None, "read_at": None},
        "read#all": {},
        "votes": {"erased_at": None},
        "poll": {"actor": None, "opens_at": None, "closes_at": None},
        "poll#end": {"at": None},
        "battle": {"actor": None, "hp": None, "at": None},
        "hit": {"damage": None, "at": None},
        "message#claim": {"author_id": None, "at": None, "shards": None},
        "message": {"author_id": None},
        "said": {"deleted": True},
        # Where the message's own id names them.
        "room": {"deleted": True},
    }
    if kind == "room" and "arrived" in says:
        expected[kind] |= {"arrived": None}
    if kind == "activity" and "published_at" in says:
        expected[kind] |= {"published_at": None, "kind": "post", "payload": "null"}
    fits = says.keys() == expected[kind].keys()
    return kind if fits and all(says[n] == v for n, v in expected[kind].items() if v is not None) else None


def only_tombstones(stack, person):
    """Asserts that nothing is left of somebody but tombstones; returns their kinds."""
    of_views = lambda: [item for table, item in naming(stack, person) if table == "NAGARE_VIEWS_TABLE"]
    follows = lambda item: "forget_at" in item and item.get("count", 0) == 0 and item.get("unread", 0) == 0
    until(lambda: all(follows(item) for item in of_views()), "the views to follow")
    left = naming(stack, person)
    for table, item in left:
        # A view says of an activity that is gone how many like it, an inbox how many are unread, and nothing of anybody.
        assert table == "NAGARE_VIEWS_TABLE" or (table in ("NAGARE_LEDGER_TABLE", "NAGARE_FACTS_TABLE") and kind_of(item)), item
        # What is left in the place of a message, or lists whom somebody follows, is for deliveries that are about to write it.
        least = 2 if item["pk"].startswith(("said#", "room#")) or item["pk"].endswith("#following") else 18
        assert least * DAY < item["forget_at"] - time.time() < 33 * DAY, item
    return {kind_of(item) for table, item in left if table != "NAGARE_VIEWS_TABLE"}


def forget(stack, person, *options, **more):
    [report] = stack.cli_json("forget", person, "--json", *options, **more)
    assert report["person_id"] == person
    return report


def tagged_in(stack, viewer):
    return ids(stack.read(f"/v1/viewers/{viewer}/tagged"))


def counts(report):
    return [report[name] for name in ("activities", "followers", "followees", "dead_letters")]


def a_life(person, others):
    """Follows both ways, activities of every kind, and what can never be applied."""
    fan, friend, idol, former = others
    secret = {"says": f"secret of {person}"}
    return [
        follow(fan, person), follow(friend, person), follow(person, person), follow(person, friend), follow(person, idol),
        follow(former, person, instant(seconds=-9)), unfollow(former, person, instant(seconds=-8)),
        follow(person, former, instant(seconds=-9)), unfollow(person, former, instant(seconds=-8)),
        publish(person, f"{person}:1", instant(minutes=-3), kind="live", payload=secret),
        update(person, f"{person}:1", secret, kind="clip"),
        publish(person, f"{person}:2", instant(minutes=-2), payload=secret),
        delete(person, f"{person}:2"),
        publish(person, f"{person}:3", instant(days=-29, hours=-23), payload=secret),
        # Never published, and somebody else's.
        update(person, f"{person}:4", secret),
        delete(person, f"{friend}:1"),
        publish(friend, f"{friend}:1", instant(minutes=-1), payload="theirs"),
        publish(idol, f"{idol}:1", instant(minutes=-1), payload="theirs"),
        like(person, f"{idol}:1", instant(seconds=-7)), like(friend, f"{idol}:1"), like(fan, f"{person}:1"),
        like(person, f"{friend}:1", instant(seconds=-7)), unlike(person, f"{friend}:1", instant(seconds=-6)),
        # Tags of theirs and in theirs, taken back, and of what nobody has published.
        tag(f"{idol}:1", person), tag(f"{idol}:1", friend), tag(f"{person}:1", friend), tag(f"{person}:1", person),
        tag(f"{friend}:1", person, instant(seconds=-5)), untag(f"{friend}:1", person, instant(seconds=-4)),
        tag(f"{person}:2", fan, instant(seconds=-5)), tag(f"{former}:unpublished", person),
        # Dead letters: a conflict, a member too little, garbage.
        publish(person, f"{person}:1", instant(minutes=-4), payload=secret),
        {"type": "follow.created", "follower_id": person, "secret": f"secret of {person}"},
        f"{person}, garbled: secret of {person}",
    ]


def games(person, others):
    """Polls and battles, theirs, others' and of nobody yet, and what they and others do there."""
    fan, friend, _, _ = others
    secret = {"says": f"secret of {person}"}
    when = {"opens_at": instant(hours=-1), "closes_at": instant(hours=9), "choices": ["red", "blue"]}
    yield from (
        {"type": "poll.opened", "poll_id": f"{actor}:poll", "actor_id": actor, "payload": payload, **when}
        for actor, payload in ((person, secret), (friend, "theirs"))
    )
    yield from (
        {"type": "battle.opened", "battle_id": f"{actor}:battle", "actor_id": actor, "hp": 30, "at": instant(hours=-1), "payload": payload}
        for actor, payload in ((person, secret), (friend, "theirs"))
    )
    # The last is opened by nobody.
    for of in (person, friend, fan):
        for viewer in (person, fan):
            vote = {"type": "vote.cast", "poll_id": f"{of}:poll", "viewer_id": viewer}
            yield from ({**vote, "choice": choice, "at": at} for choice, at in (("red", instant(minutes=-9)), ("blue", instant(minutes=-8))))
            yield from (
                {"type": "battle.hit", "battle_id": f"{of}:battle", "hit_id": f"{viewer.split('-')[0]}:{n}", "viewer_id": viewer, "damage": 1,
                 "at": instant(minutes=-7)}
                for n in range(20)
            )
    yield from ({"type": "poll.closed", "poll_id": f"{of}:poll", "actor_id": person, "at": instant(minutes=-1)} for of in (person, friend))


def talk(person, others):
    """What they said in two rooms, of which one is private, and others did; what they took back, before and after."""
    fan, friend, _, _ = others
    secret = {"says": f"secret of {person}"}
    for room in (f"{fan}:hall", f"{fan}:den"):
        yield say(room, f"{person}:1", person, instant(minutes=-4), payload=secret)
        yield say(room, f"{friend}:1", friend, instant(minutes=-3), payload="theirs")
        yield say(room, f"{person}:2", person, instant(minutes=-2), payload=secret)
        yield unsay(room, f"{person}:2", person)
        yield unsay(room, f"{friend}:1", person)
        yield unsay(room, f"{person}:3", person)
        yield say(room, f"{person}:3", person, instant(minutes=-1), payload=secret)
    yield from (join(f"{fan}:den", viewer) for viewer in (person, friend))


def said(stack, room, viewer=None):
    """Status and messages of a room."""
    answer = stack.request(f"/v1/rooms/{room}/messages" + (f"?viewer={viewer}" if viewer else ""))
    return answer.status, [item["message_id"] for item in answer.json.get("items", [])]


def notified(stack, viewer):
    """State, number and names of all that a viewer is notified of."""
    return [(one["state"], one["count"], one["viewers"]) for one in stack.notifications(viewer)["items"]]


def marks(stack, person, others):
    """What somebody is notified of and somebody is told of them: unread, read, and all of it read. Returns the commands."""
    fan, friend, idol, _ = others
    until(lambda: notified(stack, person) == [("unread", 1, [fan])], "the fan's like")
    until(lambda: notified(stack, friend) == [("unread", 1, [person])], "the like that was undone")
    until(lambda: len(notified(stack, idol)) == 1 and notified(stack, idol)[0][1] == 2, "two likes")
    of_idol, of_person = (stack.notifications(one)["items"] for one in (idol, person))
    sent = [mark_read(idol, *of_idol), mark_read(person, *of_person), mark_all_read(person), like(friend, f"{person}:1")]
    stack.apply(*sent)
    until(lambda: notified(stack, idol) == [("read", 2, [friend, person])], "the idol to have read")
    until(lambda: notified(stack, person) == [("unread", 1, [friend]), ("read", 1, [fan])], "a like after the mark")
    return sent


@pytest.fixture
def others():
    return [unique(name) for name in ("fan", "friend", "idol", "former")]


@pytest.fixture
def life(stack, others):
    person = unique("person") + "-who-leaves"
    commands = a_life(person, others) + list(games(person, others)) + list(talk(person, others))
    stack.send(follow(others[0], others[1]), follow(others[1], others[2]))
    stack.apply(*commands)
    commands += marks(stack, person, others)
    until(lambda: len([one for one in naming(stack, person) if "DEAD" in one[0]]) == 3, "three dead letters")
    assert stack.timeline(person) and stack.timeline(others[0])
    assert said(stack, f"{others[0]}:den", person) == (200, [f"{others[1]}:1", f"{person}:1"])
    friend = others[1]
    until(lambda: stack.request(f"/v1/polls/{friend}:poll").json["votes"] == 2, "two votes")
    until(lambda: stack.request(f"/v1/battles/{friend}:battle").json["state"] == "defeated", "the last hit")
    return person, commands


def test_when_it_returns_nothing_shows_the_name(stack):
    """Not even what somebody else is notified of, which is folded from likes after they are erased."""
    for _ in range(5):
        person, friend, live = unique("person"), unique("friend"), unique("live")
        stack.apply(publish(friend, live), follow(person, friend), like(person, live))
        until(lambda: notified(stack, friend) == [("unread", 1, [person])], "the like")
        forget(stack, person)
        shown = [notified(stack, friend), stack.read(f"/v1/actors/{friend}/followers"), stack.read(f"/v1/activities/{live}")]
        assert person not in json.dumps(shown), shown


def test_nothing_is_left_but_tombstones(stack, others, life):
    person, _ = life
    fan, friend, idol, former = others
    assert counts(forget(stack, person)) == [5, 4, 3, 3]
    assert naming(stack, "secret of " + person) == []
    assert only_tombstones(stack, person) == {
        "followers", "outbox", "activity", "activity#claim", "activity#owner", "person", "likes", "read", "read#all",
        "votes", "poll", "poll#end", "battle", "hit", "tags", "message", "message#claim", "said", "room",
    }
    # What others said stays, and so does who may read it.
    assert said(stack, f"{fan}:hall") == (200, [f"{friend}:1"])
    assert [said(stack, f"{fan}:den", one) for one in (person, friend)] == [(403, []), (200, [f"{friend}:1"])]
    # Their vote is withdrawn. What they hit stays hit.
    shown = [stack.request(f"/v1/{path}") for path in (f"polls/{friend}:poll", f"battles/{friend}:battle")]
    assert (shown[0].json["votes"], shown[1].json["hits"], shown[1].json["hp_left"]) == (1, 30, 0)
    assert person not in shown[1].text
    assert [stack.request(f"/v1/{path}").status for path in (f"polls/{person}:poll", f"battles/{person}:battle")] == [404, 404]
    # Others are told of their like no more.
    assert notified(stack, idol) == [("read", 1, [friend])]
    assert notified(stack, friend) == []
    assert stack.notifications(person) == {"viewer_id": person, "unread_count": 0, "items": [], "next_cursor": None}
    # Theirs counts no more, the others' do.
    until(lambda: stack.request(f"/v1/activities/{idol}:1").json["likes"]["count"] == 1, "one like less")
    assert stack.entries(person) == [] and stack.timeline(person) == []
    assert [tagged_in(stack, one) for one in (person, friend, fan)] == [[], [f"{idol}:1"], []]
    # The others have what is theirs, and nothing else.
    assert [stack.timeline(one) for one in others] == [[f"{friend}:1"], [f"{idol}:1"], [], []]
    stack.cli("audit", "--viewer", person, *others)


# What every item of every table may hold, by kind. A kind or an attribute that is not here may hold an id of which
# nothing below knows: add it here, and a place to PLACES.
ENTRY = {"viewer_id", "sort_key", "actor_id", "expires_at"}
LETTER = {"id", "part", "message_id", "reason", "detail", "evidence", "receive_count", "sent_at", "stored_at", "parts",
          "group_id", "body", "digest"}
RECORD = {"revision", "published_at", "kind", "payload", "deleted", "edited_payload", "edited_payload_at", "edited_kind",
          "edited_kind_at"}
KNOWN = {
    "NAGARE_TIMELINES_TABLE": {"entry": ENTRY},
    "NAGARE_LEDGER_TABLE": {
        kind: {"pk", "sk", "forget_at"} | attributes
        for kind, attributes in {
            "activity claim": {"actor_id", "published_at"},
            "activity actor": RECORD,
            "outbox": {"activity_id", "deleted"},
            "followers": {"follower_id", "followee_id", "following", "changed_at", "complete_for"},
            "fanout actor": {"parts", "begun_at", "ended_at", "place", "written", "done"},
            "settle": {"place"},
            "person profile": {"at", "payload"},
            "person kind": {"at"},
            "person tagged": {"at", "tagged", "actor_id"},
            "tags": {"at", "tagged"},
            "listing": {"place"},
            "person liked": {"at"},
            "person seen": {"fingerprints"},
            "person hidden": {"at", "edges_until", "left", "joining", "shows"},
            "person following": {"at", "following"},
            "changes": {"epoch", "count", "latest", "copies"},
            "message claim": {"author_id", "at", "shards", "digest", "private"},
            "arrived": {"messages"},
            "message deleted": {"author_id"},
            "room": {"author_id", "payload", "deleted", "arrived"},
            "room room": {"private", "shards"},
            "said": {"author_id", "payload", "deleted", "arrived"},
            "person rooms": {"at", "present"},
            "events periods": {"state", "version", "arn", "created"},
            "refusal": {"counted", "kept", "reason"},
            "refused": {"kept"},
            "refusals": {"refused", "unkept"},
        }.items()
    },
    "NAGARE_FACTS_TABLE": {
        kind: {"pk", "sk", "forget_at"} | attributes
        for kind, attributes in {
            "likes": {"liked", "changed_at", "first_liked_at", "moved_from", "liked_since", "recorded_at"},
            "activity owner": {"actor", "deleted"},
            "read activity": {"through", "behind", "read_at"},
            "read all": set(),
            "poll poll": {"actor", "choices", "opens_at", "closes_at", "payload"},
            "poll end": {"at"},
            "votes": {"an instant", "votes", "bytes", "erased_at", "recorded_at"},
            "battle battle": {"actor", "hp", "at", "payload"},
            "hit": {"viewer", "damage", "at"},
            "barrier": set(),
        }.items()
    },
    "NAGARE_VIEWS_TABLE": {
        kind: {"pk", "sk", "forget_at"} | attributes
        for kind, attributes in {
            "activity likes": {"count", "marks", "version", "recent", "actor", "deleted", "owed", "read", "erased", "unread",
                               "last_read"},
            "notifications inbox": {"unread", "listed", "version"},
            "notifications unread": {"count"},
            "notifications read": {"read_at", "likes"},
            "poll poll": {"actor", "choices", "opens_at", "closes_at", "end", "votes", "latest", "blocks_from", "blocks", "closing",
                          "waiting_from", "waiting_to", "marks", "version", "recent"},
            "poll events": {"events"},
            "poll waiting": {"changes"},
            "battle battle": {"actor", "hp", "hp_left", "hits", "last_hit", "latest", "owed", "before", "numbered_from", "waiting_from",
                              "waiting_to", "marks", "version"},
            "battle log": {"hits"},
            "battle waiting": {"changes"},
            "battle share": {"hits", "damage"},
            "hit": {"number"},
            "barrier": {"rows", "marks", "version"},
            "shard": {"through"},
        }.items()
    },
    "NAGARE_DEAD_LETTERS_TABLE": {"letter": LETTER, "body": {"id", "part", "body", "stored_at"}},
}


def known_kind(table, item):
    """Which of the above an item is."""
    if table not in ("NAGARE_TIMELINES_TABLE", "NAGARE_DEAD_LETTERS_TABLE"):
        kind, *pk = item["pk"].split("#")
        first, more = item["sk"].split("#")[0], item["sk"].count("#")
        details = {
            "activity": first, "fanout": first, "person": pk[1] if len(pk) > 1 else None, "read": "all" if first == "all" else "activity",
            "notifications": ("inbox", "unread", "read")[min(more, 2)],
            "poll": first, "battle": "share" if len(pk) > 1 else first, "message": first, "events": pk[0],
        }
        if kind == "room" and len(pk) == 1:
            details["room"] = first
        kind = f"{kind} {details[kind]}" if kind in details else kind
    else:
        kind = item["part"].split("#")[0] if "part" in item else "entry"
    assert kind in KNOWN[table], f"a new kind of item: {item}"
    names = {"an instant" if name.startswith("20") else name.split("#")[0] for name in item}
    assert names <= KNOWN[table][kind], f"a new attribute of {kind}: {names - KNOWN[table][kind]}"
    return kind


def places(person, other):
    """Everything that can be left over and hold an id, beyond what a life leaves; as (table, item)."""
    old, ledger, letters = instant(hours=-2), "NAGARE_LEDGER_TABLE", "NAGARE_DEAD_LETTERS_TABLE"
    edge = f"{spread(person):04x}#{person}"
    part = {"written": 1, "done": False, "place": edge}
    letter = {
        "part": "letter", "message_id": "m", "reason": "malformed", "detail": "d", "receive_count": 1, "sent_at": old,
        "stored_at": old, "parts": 1, "digest": "d",
    }
    of_other = json.dumps(delete(other, f"{other}:9"))
    # What an audit leaves for a day.
    for table, pk, says in (("NAGARE_FACTS_TABLE", "barrier#00#0", {}), ("NAGARE_VIEWS_TABLE", "barrier#00", {"rows": 1, "version": 1})):
        yield table, {"pk": pk, "sk": "barrier", "forget_at": int(time.time()) + DAY, **says}
    # How far a shard of the stream is worked off.
    yield "NAGARE_VIEWS_TABLE", {"pk": "shard#0123456789abcdef", "sk": "shard", "through": "7", "forget_at": int(time.time()) + DAY}
    # More votes than a view has room for.
    yield "NAGARE_VIEWS_TABLE", {"pk": f"poll#{person}:poll", "sk": f"events#{0:020}", "events": b""}
    # More unread ones than an inbox has room for.
    yield "NAGARE_VIEWS_TABLE", {"pk": f"notifications#{person}", "sk": f"{old}#{person}:9", "count": 1}
    yield ledger, {"pk": f"fanout#{other}:9", "sk": f"actor#{other}#spread#0000-ffff", **part}
    yield ledger, {"pk": f"fanout#{other}:9", "sk": f"actor#{other}#erase#0000-ffff", **part}
    yield ledger, {"pk": f"fanout#{person}:8", "sk": f"actor#{person}#spread#0000-ffff", **part}
    yield ledger, {"pk": f"fanout#{person}:8", "sk": f"actor#{person}#spread", "parts": 1, "begun_at": old}
    # What is not of that kind any more.
    yield ledger, {"pk": f"person#{person}#kind#clip", "sk": f"{old}#{person}:9", "at": "0"}
    yield ledger, {"pk": f"person#{person}#profile", "sk": "profile", "at": old, "payload": f'"secret of {person}"'}
    yield ledger, {"pk": f"person#{person}#seen", "sk": "00" * 16, "fingerprints": b"", "forget_at": int(time.time()) + DAY}
    marks = {f"left#{person}": f"{old}#1795000000", f"joining#{person}": f"{old}#1795000000", "joining#somebody": f"{old}#1795000000"}
    yield ledger, {"pk": f"person#{other}#hidden", "sk": "actors", "at": "any text", **marks}
    # Whom a long publish has come to; what somebody is tagged in without a tag.
    yield ledger, {"pk": f"listing#{other}:9", "sk": "publish", "place": person}
    yield ledger, {"pk": f"listing#{person}:1", "sk": "publish", "place": other}
    listing = {"at": old, "tagged": True}
    yield ledger, {"pk": f"person#{other}#tagged", "sk": f"{old}#{person}:1", "actor_id": person, **listing}
    yield ledger, {"pk": f"person#{person}#tagged", "sk": f"{old}#{other}:9", "actor_id": other, **listing}
    # Rows of whom somebody follows, without edges.
    yield ledger, {"pk": f"person#{other}-friend#following", "sk": person, "at": old, "following": True}
    yield ledger, {"pk": f"person#{person}#following", "sk": f"{other}-friend", "at": old, "following": True}
    yield ledger, {"pk": f"settle#{person}#{other}", "sk": "follow"}
    yield ledger, {"pk": f"settle#{other}#{person}", "sk": "follow"}
    for n, body in enumerate(
        [
            json.dumps({"type": "activity.published", "actorId": person}),
            json.dumps({"type": "follow.created", "follower_id": other, "who": [{person: 1}]}),
            json.dumps({"type": "follow.deleted", "follower": "".join(f"\\u{ord(c):04x}" for c in person)}).replace("\\\\", "\\"),
        ]
    ):
        yield letters, {"id": f"{other}-misnamed-{n}", "body": body, **letter}
    yield letters, {"id": person, "body": of_other, **letter}
    yield letters, {"id": f"{other}-group", "body": of_other, **letter, "group_id": person}
    # About somebody else, who keeps it.
    yield letters, {"id": f"{other}-kept", "body": of_other, **letter, "detail": f"item followers#{person} 0000#x"}
    # Refused, overtaken or interrupted: parts of a body whose letter is not there, or of another message.
    for n, id in enumerate((f"{other}-kept", f"{other}-gone")):
        yield letters, {"id": id, "part": "body#other-message#0000", "body": f"{{{person}", "stored_at": old}
        yield letters, {"id": id, "part": "body#other-message#0001", "body": "what they said", "stored_at": old}


def typed(value):
    tags = {bool: "BOOL", int: "N", bytes: "B", str: "S"}
    return {tags[type(value)]: str(value) if type(value) is int else value}


def test_every_place_that_can_hold_an_id_is_emptied(stack, others, life):
    person, _ = life
    other = others[2]
    planted = list(places(person, other))
    for table, item in planted:
        assert known_kind(table, item)
        item = {name: typed(value) for name, value in item.items()}
        stack.dynamodb.put_item(TableName=stack.exports[table], Item=item)
    # Of ids that hers is a part of, nothing goes.
    namesake = person + "-2"
    theirs = {"pk": f"fanout#{other}:7", "sk": f"actor#{other}#spread#0000-ffff", "written": 1, "done": False}
    theirs["place"] = f"{spread(namesake):04x}#{namesake}"
    settling = {"pk": f"settle#{namesake}#{other}", "sk": "follow"}
    for item in (theirs, settling):
        item = {name: typed(value) for name, value in item.items()}
        stack.dynamodb.put_item(TableName=stack.exports["NAGARE_LEDGER_TABLE"], Item=item)
    seen = {(table, known_kind(table, item)) for table, item in everything(stack)}
    assert seen == {(table, kind) for table, kinds in KNOWN.items() for kind in kinds}, "each is there to be found"
    report = forget(stack, person)
    left = [item for _, item in naming(stack, namesake)]
    assert sorted(item["pk"] for item in left) == sorted([theirs["pk"], settling["pk"]])
    for item in left:
        stack.dynamodb.delete_item(
            TableName=stack.exports["NAGARE_LEDGER_TABLE"], Key={"pk": {"S": item["pk"]}, "sk": {"S": item["sk"]}}
        )
    only_tombstones(stack, person)
    assert naming(stack, "what they said") == [] and naming(stack, f"secret of {person}") == []
    # Three say who is hidden from whom: her own, that of whoever left her, and the planted one. Three are about tags,
    # two say who follows whom, and one is of the list of what she likes.
    assert (report["tags"], report["dead_letters"]) == (3, 3 + 5)
    assert report["progress"] == 8 + 3 + 3 + 2 + 1
    assert (report["dead_letter_parts"], report["dead_letter_parts_waiting"]) == (4, 0)
    # The letter about somebody else says nothing of her any more, and is whole.
    shown = json.loads(stack.cli("dead-letters", "show", f"{other}-kept").stdout)
    assert (shown["detail"], shown["body"]) == ("", json.dumps(delete(other, f"{other}:9")))
    stack.cli("dead-letters", "drop", f"{other}-kept")


def test_parts_that_may_wait_for_their_letter_stay_for_now(own_stack):
    for n, at in enumerate((instant(minutes=-50), instant(minutes=-70))):
        item = {"id": f"letter-{n}", "part": "body#message#0000", "body": "anna", "stored_at": at}
        item = {name: typed(value) for name, value in item.items()}
        own_stack.dynamodb.put_item(TableName=own_stack.exports["NAGARE_DEAD_LETTERS_TABLE"], Item=item)
    report = forget(own_stack, "anna")
    assert (report["dead_letter_parts"], report["dead_letter_parts_waiting"]) == (1, 1)
    assert [item["id"] for _, item in naming(own_stack, "anna")] == ["letter-0"]
    assert "run this again in an hour" in own_stack.cli("forget", "anna").stderr


def test_again_there_is_nothing_to_do(stack, life):
    person, _ = life
    forget(stack, person)
    only_tombstones(stack, person)
    # What tells how far the projector is expires by itself.
    is_barrier = lambda item: item.get("pk", "").startswith("barrier#")
    all_else = lambda: sorted(json.dumps(one, sort_keys=True) for one in everything(stack) if not is_barrier(one[1]))
    before = all_else()
    assert counts(forget(stack, person)) == [0, 0, 0, 0]
    assert all_else() == before
    done = stack.cli("forget", person)
    assert done.stdout.startswith(f"{person}: 0 activities, 0 followers, 0 followees") and done.stderr == ""


def test_nobody_has_heard_of_them(stack):
    nobody = unique("nobody")
    assert counts(forget(stack, nobody)) == [0, 0, 0, 0]
    assert naming(stack, nobody) == []


def test_commands_that_were_still_on_their_way_bring_nothing_back(stack, others, life):
    person, commands = life
    forget(stack, person)
    stack.send(*(one for one in commands if isinstance(one, dict) and one["type"] != "follow.created"))
    stack.send(*(one for one in commands if isinstance(one, dict) and "at" in one))
    stack.drain()
    assert person not in json.dumps([stack.page(one) for one in others])
    # The conflict is a dead letter again.
    assert counts(forget(stack, person)) == [0, 0, 0, 1]
    assert naming(stack, "secret of " + person) == []
    only_tombstones(stack, person)


def test_who_comes_back_begins_again(stack, others, life):
    person, _ = life
    forget(stack, person)
    stack.apply(follow(others[0], person), follow(person, others[2]), publish(person, f"{person}:new", payload="hello"))
    assert stack.timeline(others[0])[0] == f"{person}:new" and stack.timeline(person) == [f"{others[2]}:1"]
    # What is in force is not marked, so that it stays.
    living = [item for _, item in naming(stack, person) if "forget_at" not in item]
    assert {item.get("pk", "").split("#")[0] for item in living} == {"", "followers", "activity", "outbox", "person"}
    assert counts(forget(stack, person)) == [1, 1, 1, 0]
    only_tombstones(stack, person)


def test_killed_in_the_middle_and_run_again(own_stack):
    viewers = [f"viewer-{n}" for n in range(150)]
    activities = [publish("anna", f"a-{n}", instant(minutes=n - 60), payload="secret") for n in range(30)]
    own_stack.send(*(follow(viewer, "anna") for viewer in viewers), *(follow("anna", viewer) for viewer in viewers[:50]))
    own_stack.send(*activities, *(publish(viewer, f"{viewer}:1") for viewer in viewers[:50]))
    own_stack.drain()
    of_anna = lambda: [one for one in own_stack.entries() if "anna" in (one["actor_id"], one["viewer_id"])]
    before = len(of_anna())
    assert before == 30 * 150 + 50
    for left in (before - 1, before // 2, 0):
        running = subprocess.Popen([NAGARE, "forget", "anna"], env=own_stack.env, stdout=subprocess.DEVNULL)
        until(lambda: running.poll() is not None or len(of_anna()) <= left, f"{left} entries to be left", 120)
        running.kill()
        running.wait()
        assert all(not ids(own_stack.page(viewer)) for viewer in viewers[-3:])
    forget(own_stack, "anna")
    assert of_anna() == [] and naming(own_stack, "secret") == []
    only_tombstones(own_stack, "anna")


def test_while_commands_about_them_arrive(own_stack):
    """Whatever the run does not see the next one does; and what is not about them is untouched."""
    commands = [
        one
        for n in range(60)
        for one in (
            follow(f"fan-{n % 30}", "anna"), publish("anna", f"a-{n}", payload="secret"),
            follow("anna", f"idol-{n % 20}"), publish(f"idol-{n % 20}", f"i-{n}"), follow("bob", f"idol-{n % 20}"),
        )
    ]
    sender = threading.Thread(target=own_stack.send, args=commands)
    sender.start()
    reports = []
    while sender.is_alive():
        # Commands may keep arriving: that is said, and is no failure of the stack.
        reports.append(own_stack.cli("forget", "anna", code=None, timeout=300).returncode)
    sender.join()
    own_stack.drain()
    assert set(reports) <= {0, 1}
    forget(own_stack, "anna")
    assert naming(own_stack, "secret") == [] and own_stack.dead_letters() == []
    only_tombstones(own_stack, "anna")
    assert len(sum((ids(page) for page in own_stack.walk("bob", limit=100)), [])) == 60
    own_stack.cli("audit", "--viewer", "bob", "anna", *(f"fan-{n}" for n in range(30)))


def test_ids_that_are_none_and_stacks_that_are_not_there(stack):
    assert "A-Z" in stack.cli("forget", "an na", code=2).stderr
    stack.cli("forget", code=2)
    with Stack() as gone:
        pass
    assert "cannot be reached" in gone.cli("forget", "anna", code=3).stderr

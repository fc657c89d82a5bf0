"""`nagare audit` finds and mends what somebody put into a timeline, took out or changed by hand."""

import json

import pytest
from conftest import delete, follow, instant, publish, unfollow, unique, until


@pytest.fixture
def scene(stack):
    """A viewer who follows two actors, with three activities of each."""
    viewer, actors = unique("viewer"), [unique("actor") for _ in range(2)]
    stack.send(*(follow(viewer, actor) for actor in actors))
    stack.send(*(publish(actor, unique("activity")) for actor in actors for _ in range(3)))
    stack.drain()
    assert len(stack.entries(viewer)) == 6
    return viewer, actors


def audit(stack, viewer, *options, code):
    done = stack.cli("audit", "--viewer", viewer, "--json", *options, code=code)
    return {(found["difference"], found["sort_key"]) for found in map(json.loads, done.stdout.splitlines())}


def mended(stack, viewer, before):
    """A repair says what it mended, and leaves nothing."""
    assert audit(stack, viewer, code=1) == audit(stack, viewer, "--repair", code=0)
    assert audit(stack, viewer, code=0) == set()
    assert by_key(stack.entries(viewer)) == by_key(before)


def by_key(entries):
    return sorted(entries, key=lambda entry: entry["sort_key"])


def item(entry):
    return {name: {"N": str(value)} if isinstance(value, int) else {"S": value} for name, value in entry.items()}


def key(entry):
    return {name: {"S": entry[name]} for name in ("viewer_id", "sort_key")}


def test_nothing_to_find(stack, scene):
    assert audit(stack, scene[0], code=0) == set()
    assert audit(stack, unique("nobody"), code=0) == set()


def test_an_entry_that_was_taken_out(stack, scene):
    before = stack.entries(scene[0])
    stack.dynamodb.delete_item(TableName=stack.table, Key=key(before[2]))
    assert audit(stack, scene[0], code=1) == {("missing", before[2]["sort_key"])}
    shown = stack.timeline(scene[0])
    mended(stack, scene[0], before)
    assert len(stack.timeline(scene[0])) == len(shown) + 1


@pytest.mark.parametrize(
    "change",
    [{"actor_id": "somebody-else"}, {"actor_id": None}, {"expires_at": 1_999_999_999}, {"expires_at": None}],
    ids=["another actor", "no actor", "another expiry", "no expiry"],
)
def test_an_entry_that_was_changed(stack, scene, change):
    before = stack.entries(scene[0])
    changed = {name: value for name, value in (before[0] | change).items() if value is not None}
    stack.dynamodb.put_item(TableName=stack.table, Item=item(changed))
    assert audit(stack, scene[0], code=1) == {("stale", before[0]["sort_key"])}
    mended(stack, scene[0], before)


def test_an_entry_of_an_actor_one_follows_of_no_activity(stack, scene):
    viewer, actors = scene
    before = stack.entries(viewer)
    forged = before[0] | {"sort_key": before[0]["sort_key"].split("#")[0] + "#never-published"}
    forged["actor_id"] = actors[0]
    put_and_find(stack, viewer, forged, before)


def test_an_entry_of_a_stranger(stack, scene):
    viewer, _ = scene
    stranger, activity = unique("stranger"), unique("activity")
    stack.apply(follow(unique("other"), stranger), publish(stranger, activity))
    before = stack.entries(viewer)
    [theirs] = [entry for entry in stack.entries() if entry["actor_id"] == stranger]
    put_and_find(stack, viewer, theirs | {"viewer_id": viewer}, before, shown=True)


def test_an_entry_of_somebody_who_was_unfollowed(stack, scene):
    viewer, actors = scene
    old = [entry for entry in stack.entries(viewer) if entry["actor_id"] == actors[1]]
    stack.apply(unfollow(viewer, actors[1]))
    before = stack.entries(viewer)
    assert len(before) == 3
    put_and_find(stack, viewer, old[0], before)


def test_an_entry_of_a_deleted_activity(stack, scene):
    viewer, actors = scene
    [old, *_] = [entry for entry in stack.entries(viewer) if entry["actor_id"] == actors[0]]
    stack.apply(delete(actors[0], old["sort_key"].split("#")[1]))
    before = stack.entries(viewer)
    assert len(before) == 5
    put_and_find(stack, viewer, old, before)


def test_a_sort_key_that_no_writer_writes(stack, scene):
    before = stack.entries(scene[0])
    put_and_find(stack, scene[0], before[0] | {"sort_key": "2026-11-20 by hand"}, before)


def put_and_find(stack, viewer, forged, before, shown=False):
    """An entry put there by hand is found and taken out. It is not shown but for one of a stranger's activity: pages do
    not ask whether the viewer ever followed whoever an entry is of."""
    before_it = stack.timeline(viewer)
    stack.dynamodb.put_item(TableName=stack.table, Item=item(forged))
    assert (stack.timeline(viewer) == before_it) != shown
    assert audit(stack, viewer, code=1) == {("extra", forged["sort_key"])}
    mended(stack, viewer, before)


def test_a_sample_finds_it_too(own_stack):
    viewers = [unique("viewer") for _ in range(30)]
    own_stack.send(*(follow(viewer, "anna") for viewer in viewers), publish("anna", "one"))
    own_stack.drain()
    assert "30 timelines audited: 0 differences" in own_stack.cli("audit", "--sample", "100").stderr
    own_stack.dynamodb.delete_item(TableName=own_stack.table, Key=key(own_stack.entries(viewers[7])[0]))
    found = own_stack.cli("audit", "--sample", "30", "--repair")
    assert "1 difference, 1 mended" in found.stderr and viewers[7] in found.stdout
    own_stack.cli("audit", "--sample", "30")


def views_of(stack, pk):
    query = {"KeyConditionExpression": "pk = :pk", "ExpressionAttributeValues": {":pk": {"S": pk}}}
    return stack.dynamodb.query(TableName=stack.exports["NAGARE_VIEWS_TABLE"], **query)["Items"]


def change_view(stack, view, name, value):
    stack.dynamodb.put_item(TableName=stack.exports["NAGARE_VIEWS_TABLE"], Item=view | {name: value})


def test_a_poll_whose_sums_were_changed(own_stack):
    opened = {"opens_at": instant(hours=-1), "closes_at": instant(hours=1), "choices": ["red", "blue"], "payload": None}
    own_stack.send(
        {"type": "poll.opened", "poll_id": "p", "actor_id": "anna", **opened},
        *({"type": "vote.cast", "poll_id": "p", "viewer_id": f"v{n}", "choice": "red", "at": instant()} for n in range(5)),
    )
    shown = lambda: own_stack.request("/v1/polls/p").json["votes"]
    until(lambda: own_stack.request("/v1/polls/p").status == 200 and shown() == 5, "five votes")
    assert "1 poll audited: 0 differences" in own_stack.cli("audit", "--poll", "p").stderr
    [view] = views_of(own_stack, "poll#p")
    change_view(own_stack, view, "votes", {"L": [{"N": "7"}, {"N": "1"}]})
    assert shown() == 8
    found = own_stack.cli("audit", "--poll", "p", "--json", code=1).stdout
    found = json.loads(found)
    assert (found["poll_id"], found["stored"]["votes"], found["recounted"]["votes"]) == ("p", [7, 1], [5, 0])
    assert "red 7, blue 1 until" in own_stack.cli("audit", "--sample", "5", code=1).stdout
    assert "1 poll audited: 1 difference, 1 mended" in own_stack.cli("audit", "--poll", "p", "--repair").stderr
    assert shown() == 5
    own_stack.cli("audit", "--sample", "5")


def test_a_battle_that_does_not_stand_as_its_log_says(own_stack):
    own_stack.send(
        {"type": "battle.opened", "battle_id": "b", "actor_id": "anna", "hp": 100, "at": instant(), "payload": None},
        *(
            {"type": "battle.hit", "battle_id": "b", "hit_id": f"h{n}", "viewer_id": f"v{n % 2}", "damage": 5, "at": instant()}
            for n in range(10)
        ),
    )
    shown = lambda: own_stack.request("/v1/battles/b").json
    until(lambda: own_stack.request("/v1/battles/b").status == 200 and shown()["hits"] == 10, "ten hits")
    before = shown()
    assert "1 battle audited: 0 differences" in own_stack.cli("audit", "--battle", "b").stderr
    [view] = [view for view in views_of(own_stack, "battle#b") if view["sk"]["S"] == "battle"]
    change_view(own_stack, view, "hp_left", {"N": "1"})
    found = json.loads(own_stack.cli("audit", "--battle", "b", "--json", code=1).stdout)
    assert (found["stored"]["hp_left"], found["replayed"]["hp_left"]) == (1, 50)
    assert "1 of 100 hit points left" in own_stack.cli("audit", "--sample", "5", code=1).stdout
    assert "1 battle audited: 1 difference, 1 mended" in own_stack.cli("audit", "--battle", "b", "--repair").stderr
    assert shown() == before
    own_stack.cli("audit", "--sample", "5")

"""A stack without the event history: `nagare up --history off`."""

import json

import pytest
from conftest import Stack, clean_environment, follow, instant, publish, run, unique, until


@pytest.fixture(scope="module")
def stack():
    with Stack("--history", "off", "--sample") as stack:
        yield stack


def recorded():
    return {"tenant_id": "acme", "customer_id": "c-1", "event_id": unique("event"), "name": "login", "at": instant(minutes=-1)}


def test_its_routes_are_unknown_paths(stack):
    problem = lambda answer: {name: answer.json[name] for name in ("type", "title", "status", "detail")}
    unknown = stack.request("/v1/unknown")
    assert unknown.status == 404
    for path in ("customers", "customers/c-1", "customers/c-1/events", "names", "archives", "alerts", "refusals", "unknown"):
        assert problem(stack.request(f"/v1/tenants/acme/{path}")) == problem(unknown), path
    event = json.dumps({"events": [recorded()]}).encode()
    sent = stack.request("/v1/tenants/acme/events", "POST", {"content-type": "application/json"}, event)
    assert problem(sent) == problem(unknown)


def test_its_commands_are_dead_letters_and_all_else_works(stack):
    """The sample is there too, without tenants."""
    assert stack.dead_letters() == []
    bob, anna, live = unique("viewer"), unique("actor"), unique("live")
    rule = {"type": "rule.deleted", "tenant_id": "acme", "rule_id": "r-1", "at": instant()}
    sent = stack.send({"type": "event.recorded", **recorded()}, rule)
    stack.apply(follow(bob, anna), publish(anna, live, instant(seconds=-1)))
    assert stack.timeline(bob) == [live]
    for id in sent:
        letter = stack.dead_letter(id)
        assert (letter["reason"], letter["verified"]) == ("history-off", True)
        assert "deploy it with History=on" in letter["detail"]


def test_it_has_no_tables_and_no_bucket(stack):
    tables = stack.dynamodb.list_tables()["TableNames"]
    assert len(tables) == 5 and not [name for name in tables if name.startswith(stack.exports["NAGARE_EVENTS_TABLE_PREFIX"])]
    assert "NAGARE_ARCHIVE_BUCKET" not in stack.exports and stack.exports["NAGARE_HISTORY"] == "off"


def test_the_console_leaves_its_pages_out(stack):
    shows = lambda stack, page: f'href="/console/{page}"' in stack.console("tables").text
    assert shows(stack, "timeline") and not shows(stack, "tenants")
    with Stack() as other:
        assert shows(other, "tenants")


def test_a_directory_loses_nothing_when_it_is_turned_on(tmp_path):
    event = {"type": "event.recorded", **recorded()}
    with Stack("--data-dir", tmp_path, "--history", "off") as stack:
        [sent] = stack.send(event)
        stack.dead_letter(sent)
    with Stack("--data-dir", tmp_path) as stack:
        stack.cli("dead-letters", "redrive", sent)
        shown = lambda: stack.read("/v1/tenants/acme/customers/c-1/events")["items"]
        [found] = until(shown, "the event to be recorded")
        assert found["event_id"] == event["event_id"] and stack.dead_letters() == []


def test_another_word_is_refused(tmp_path):
    refused = run(["up", "--port", "0", "--history", "maybe"], clean_environment(str(tmp_path)))
    assert refused.returncode == 2 and "expected on or off" in refused.stderr

"""`nagare tenant`, from what a customer did to what a rule tells of it."""

import json

from conftest import instant, unique, until


def test_rules_scores_and_alerts_by_the_command_line(stack, tmp_path):
    tenant = unique("tenant")
    tenant_cli = lambda *args, **more: stack.cli("tenant", *args, **more)
    listed = lambda *args: [json.loads(line) for line in tenant_cli(*args, "--json").stdout.splitlines()]
    events = [
        {"customer_id": f"c-{n % 3}", "event_id": f"e-{n}", "name": "login" if n % 2 else "order", "at": instant(seconds=-n - 1)}
        for n in range(30)
    ]
    tenant_cli("send", tenant, "-", stdin="\n".join(map(json.dumps, events)))
    stack.drain()
    until(lambda: sum(one["events"] for one in listed("customers", tenant)) == 30, "the events to be counted")
    assert [one["customer_id"] for one in listed("customers", tenant, "--limit", "1", "--all")] == ["c-0", "c-1", "c-2"]
    assert [(one["name"], one["count"]) for one in listed("names", tenant)] == [("login", 15), ("order", 15)]
    [name] = listed("name", tenant, "login")
    assert sum(day["count"] for day in name["days"]) == 15
    tenant_cli("name", tenant, "nothing", code=1)
    tenant_cli("customer", tenant, "nobody", code=1)

    tenant_cli("rule", "define", tenant, "activated", "--event", "login", "--count", "5", "--within", "ever")
    tenant_cli("score", "define", tenant, "health", "--base", "40", "--measure", "login:28:3:60", "--measure", "order:28:-1:5")
    tenant_cli("update-customer", tenant, "c-0", "--payload", '{"name":"Bob Ltd","n":1.50}')
    stack.drain()
    alerts = until(lambda: len(listed("alerts", tenant, "--unread")) == 3 and listed("alerts", tenant), "three alerts")
    assert {(one["rule_id"], one["customer_id"], one["state"]) for one in alerts} == {("activated", f"c-{n}", "unread") for n in range(3)}
    [customer] = listed("customer", tenant, "c-0")
    assert customer["payload"] == {"name": "Bob Ltd", "n": 1.5} and customer["events"] == 10
    assert customer["scores"]["health"]["value"] == 40 + 5 * 3 - 5

    tenant_cli("read-alerts", tenant, alerts[0]["alert_id"], alerts[1]["alert_id"])
    stack.drain()
    left = until(lambda: len(listed("alerts", tenant, "--unread")) == 1 and listed("alerts", tenant, "--unread"), "two to be read")
    assert left[0]["alert_id"] == alerts[2]["alert_id"]
    tenant_cli("rule", "delete", tenant, "activated")
    tenant_cli("score", "delete", tenant, "health")
    stack.drain()
    assert listed("alerts", tenant) == []
    assert listed("customer", tenant, "c-0")[0]["scores"] == {}
    assert not [letter for letter in stack.dead_letters() if tenant in json.dumps(letter)]


def test_what_is_wrong_is_said_before_it_is_sent(stack):
    define = ("tenant", "rule", "define", "acme", "r")
    for args in (
        define,
        (*define, "--event", "login"),
        (*define, "--event", "login", "--count", "0", "--within", "day"),
        (*define, "--event", "login", "--count", "1", "--within", "year"),
        (*define, "--silent-days", "3", "--event", "login", "--count", "1", "--within", "day"),
        ("tenant", "score", "define", "acme", "s", "--base", "1", "--measure", "login:28:3"),
        ("tenant", "score", "define", "acme", "s", "--base", "1", "--measure", "two words:28:3:1"),
        ("tenant", "rule", "delete", "acme", "a#b"),
        ("tenant", "update-customer", "acme", "c-9", "--payload", "not json"),
        ("tenant", "read-alerts", "acme"),
    ):
        stack.cli(*args, code=2)
    assert stack.waiting() == 0

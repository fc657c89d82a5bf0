"""Tenants: what they send through the API, and that each reaches its own alone, by every route, cursor and link."""

import gzip
import json
import re
import threading
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from conftest import ROOT, Stack, instant, run, unique
from test_http import bearing, token

PATHS = yaml.safe_load((ROOT / "docs/openapi.yaml").read_text())["paths"]
# Every route of tenants, and by which method.
ROUTES = [(path, method.upper()) for path, one in PATHS.items() if "{tenant_id}" in path for method in one]


def event(id, customer="c-9", at=None, **more):
    return {"customer_id": customer, "event_id": id, "name": "login", "at": at or instant(minutes=-1)} | more


def post(stack, tenant, events, headers=None, raw=None):
    data = raw if raw is not None else json.dumps({"events": events})
    headers = {"Content-Type": "application/json"} | (headers or {})
    return stack.request(f"/v1/tenants/{tenant}/events", "POST", headers, data)


def history(stack, tenant, customer="c-9", query="", headers=None):
    return stack.request(f"/v1/tenants/{tenant}/customers/{customer}/events{query}", headers=headers)


def ids(answer):
    assert answer.status == 200, answer.text
    return [item["event_id"] for item in answer.json["items"]]


@pytest.fixture(scope="module")
def guarded():
    with Stack("--auth") as running:
        yield running


# Sending ---------------------------------------------------------------------------------------------------

def test_what_is_accepted_is_recorded_once(stack):
    tenant = unique("tenant")
    events = [event(f"e-{n}", at=instant(seconds=-n - 1)) for n in range(250)]
    for _ in range(2):
        answer = post(stack, tenant, events)
        assert (answer.status, answer.json) == (202, {"accepted": 250})
    stack.drain()
    page = history(stack, tenant, query="?limit=100")
    seen = ids(page)
    while page.json["next_cursor"]:
        page = history(stack, tenant, query=f"?limit=100&cursor={page.json['next_cursor']}")
        seen += ids(page)
    assert seen == [f"e-{n}" for n in range(250)]
    packed = gzip.compress(json.dumps({"events": [event("packed")]}).encode())
    assert post(stack, tenant, None, {"Content-Encoding": "gzip"}, packed).status == 202
    stack.drain()
    assert len(ids(history(stack, tenant, query="?limit=1"))) == 1
    assert not [letter for letter in stack.dead_letters() if tenant in json.dumps(letter)]


def test_a_mistake_refuses_the_whole_and_queues_nothing(stack):
    tenant = unique("tenant")
    answer = post(stack, tenant, [event("a"), event("b", customer="a#b"), {"name": "x"}])
    assert answer.status == 400 and answer.headers["content-type"] == "application/problem+json"
    errors = answer.json["errors"]
    assert [(one["index"], one["member"]) for one in errors] == [(1, "customer_id"), (2, "customer_id")]
    assert all(one["detail"] for one in errors)
    for raw in ("", "nonsense", "[]", "{}", '{"events":[]}', json.dumps({"events": [event(f"{n}") for n in range(501)]})):
        answer = post(stack, tenant, None, raw=raw)
        assert (answer.status, len(answer.json["errors"])) == (400, 1), raw[:30]
    assert post(stack, tenant, None, raw=b" " * (6 * 1024 * 1024 + 1)).status == 413
    assert post(stack, tenant, None, {"Content-Encoding": "br"}, b"x").status == 415
    assert stack.request(f"/v1/tenants/{tenant}/events").status == 405
    assert stack.request(f"/v1/tenants/{tenant}/events", "PUT").headers["allow"] == "POST"
    stack.drain()
    assert ids(history(stack, tenant)) == []


def test_a_body_that_is_too_large_is_answered_and_not_cut_off(stack):
    """A sender who is told early goes on sending until it reads the answer."""
    answer = post(stack, unique("tenant"), None, raw=b'{"events":[' + b" " * (12 * 1024 * 1024))
    assert answer.status == 413


# Isolation --------------------------------------------------------------------------------------------------

def target(path, tenant, customer="c-9", name="login"):
    return path.replace("{tenant_id}", tenant).replace("{customer_id}", customer).replace("{name}", name)


@pytest.mark.parametrize("path, method", ROUTES)
def test_a_token_reaches_its_own_tenant_alone(guarded, path, method):
    own, other = unique("own"), unique("other")
    headers = bearing(token(guarded, tenant_id=own))
    for tenant in (own, other):
        assert post(guarded, tenant, [event("e")], bearing(token(guarded, tenant_id=tenant))).status == 202
    guarded.drain()
    body = json.dumps({"events": [event("mine")]}) if method == "POST" else None
    ask = lambda tenant, headers: guarded.request(target(path, tenant), method, headers, body)
    # What a projection has not folded yet is not found, and that is its own too.
    assert ask(own, headers).status in (200, 202, 404)
    for tenant, caller in [
        (other, headers),
        (own, bearing(token(guarded))),
        (own, bearing(token(guarded, sub=own))),
        (own, bearing(token(guarded, tenant_id=""))),
        (own, bearing(token(guarded, tenant_id=own.upper()))),
        (own, bearing(token(guarded, tenant_id=[own]))),
        (own, bearing(token(guarded, tenant_id=f"{own} {other}"))),
    ]:
        assert ask(tenant, caller).status == 403, (path, caller)
    assert ask(own, None).status == 401
    assert ask(own, bearing(token(guarded, sub=..., tenant_id=own))).status == 401
    # In whatever way the other's id is written.
    for written in (other.replace("o", "%6F", 1), other + "%23c-9", other + "/../" + own, "%2e%2e", own + "%00"):
        assert ask(written, headers).status in (400, 403, 404), written
    guarded.drain()
    there = history(guarded, other, headers=bearing(token(guarded, tenant_id=other)))
    assert ids(there) == ["e"], "nothing was sent there"


def lists(tenant, customer):
    """The lists of a tenant that have cursors."""
    paths = [path for path, method in ROUTES if method == "GET" and any(p.get("name") == "cursor" for p in PATHS[path]["get"]["parameters"])]
    return [target(path, tenant, customer) for path in paths]


def test_cursors_belong_to_their_tenant_customer_and_list(stack):
    one, two = unique("one"), unique("two")
    for tenant in (one, two):
        for customer in ("c-1", "c-2"):
            post(stack, tenant, [event(f"e-{n}", customer, name=f"n-{n}") for n in range(3)])
    stack.drain()
    everywhere = {at for tenant in (one, two) for customer in ("c-1", "c-2") for at in lists(tenant, customer)}
    cursors = 0
    for at in lists(one, "c-1"):
        page = stack.request(f"{at}?limit=1").json
        for cursor in filter(None, (page.get("next_cursor"), page.get("newer_cursor"))):
            cursors += 1
            assert stack.request(f"{at}?cursor={cursor}").status == 200
            for other in everywhere - {at}:
                answer = stack.request(f"{other}?cursor={cursor}")
                assert (answer.status, answer.json["parameter"]) == (400, "cursor"), (at, other)
    assert cursors >= 2


def test_ids_do_not_collide_whatever_they_are(stack):
    """Ids that would be the same, were they joined by any character that an id may have."""
    first = unique("t")
    pairs = [(first, f"a{by}b") for by in "._:@-|+"] + [(f"{first}{by}a", "b") for by in "._:@-|+"]
    for tenant, customer in pairs:
        assert post(stack, tenant, [event(f"{tenant}_{customer}", customer)]).status == 202
    stack.drain()
    for tenant, customer in pairs:
        assert ids(history(stack, tenant, customer)) == [f"{tenant}_{customer}"]
    for bad in ("a#b", "a/b", "a b", "..", ".", "", "x" * 129, "ä", "a\nb"):
        assert post(stack, first, [event("e", customer=bad)]).status == 400, bad
        assert post(stack, first, [event(bad)]).status == 400, bad
        escaped = urllib.parse.quote(bad, safe="")
        assert post(stack, escaped, [event("e")]).status in (400, 404), bad
        assert history(stack, first, escaped).status in (400, 404), bad


def test_archive_links_read_their_own_objects_alone():
    start = "2013-01-01T12:00:00Z"
    with Stack("--auth", "--clock", start, "--event-period", "day") as stack:
        tokens = {tenant: bearing(token(stack, tenant_id=tenant, exp=2**31)) for tenant in ("acme", "other")}
        for tenant, headers in tokens.items():
            assert post(stack, tenant, [event("e", at=start)], headers).status == 202
        stack.drain()
        stack.cli("events", "advance", "--to", "2013-01-10")
        urls = {}
        for tenant, headers in tokens.items():
            [period] = stack.request(f"/v1/tenants/{tenant}/archives", headers=headers).json["items"]
            assert all(f"/{tenant}/" in one["key"] for one in period["objects"])
            [urls[tenant]] = [one["url"] for one in period["objects"]]
            with urllib.request.urlopen(urls[tenant]) as object:
                lines = [json.loads(line) for line in gzip.decompress(object.read()).splitlines()]
            assert [line["tenant_id"] for line in lines] == [tenant]
        # The address of another object, with the signature of one's own.
        forged = urls["acme"].replace("/acme/", "/other/")
        assert forged != urls["acme"]
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(forged)
        assert refused.value.code == 403
        folder = re.sub(r"[^/?]+\?", "?", urls["acme"])
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(folder)
        assert refused.value.code == 403


# The command line -------------------------------------------------------------------------------------------

def test_tokens_that_speak_for_a_tenant(guarded):
    tenant = unique("tenant")
    made = guarded.cli("token", "bob", "--tenant", tenant).stdout.strip()
    assert history(guarded, tenant, headers=bearing(made)).status == 200
    assert guarded.get("bob", headers=bearing(made)).status == 200, "and for the viewer"
    assert guarded.get("anna", headers=bearing(made)).status == 403
    plain = guarded.cli("token", "bob").stdout.strip()
    assert history(guarded, tenant, headers=bearing(plain)).status == 403
    guarded.cli("token", "bob", "--tenant", "a#b", code=2)


def test_a_file_is_sent_through_the_api(guarded, tmp_path):
    tenant = unique("tenant")
    events = [event(f"e-{n}", at=instant(seconds=-n - 1)) for n in range(1200)]
    file = tmp_path / "events.jsonl.gz"
    file.write_bytes(gzip.compress("\n".join(map(json.dumps, events)).encode()))
    [said] = guarded.cli_json("tenant", "send", tenant, file, "--json")
    assert said == {"events": 1200, "requests": 3, "repeated": 0, "bad_lines": 0}
    guarded.drain()
    listed = guarded.cli("history", tenant, "c-9", "--all", "--json").stdout.splitlines()
    assert [json.loads(line)["event_id"] for line in listed] == [f"e-{n}" for n in range(1200)]
    bad = json.dumps(event("good")) + "\n\n" + json.dumps(event("bad", name="two words"))
    refused = guarded.cli("tenant", "send", tenant, "-", stdin=bad, code=2)
    assert "line 3: member `name`" in refused.stderr and "nothing was sent" in refused.stderr
    done = guarded.cli("tenant", "send", tenant, "-", "--skip-bad", stdin=bad)
    assert done.stdout == "1 event accepted in 1 request\n"
    # What only the API can know.
    ahead = json.dumps(event("ahead", at=instant(hours=1)))
    refused = guarded.cli("tenant", "send", tenant, "-", stdin=json.dumps(event("good")) + "\n" + ahead, code=2)
    assert "line 2: member `at`" in refused.stderr


class Api(ThreadingHTTPServer):
    """An API that answers what it is told to, one answer after the other for each path."""

    def __init__(self, answers):
        self.answers, self.asked = answers, []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                length = int(self.headers.get("Content-Length") or 0)
                self.server.asked.append((self.command, self.path, self.rfile.read(length).decode()))
                answers = self.server.answers[self.path]
                status, body, headers = answers.pop(0) if len(answers) > 1 else answers[0]
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            do_POST = do_GET

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def cli(self, stack, *args, code=0, stdin=None):
        """A command against it, which everything else it needs it finds in the stack."""
        env = stack.env | {"NAGARE_API_URL": f"http://127.0.0.1:{self.server_port}"}
        done = run(args, env, stdin)
        assert done.returncode == code, done.stderr
        return done


def test_a_request_is_sent_again_when_the_api_says_so(stack):
    later, taken = {"Retry-After": "1"}, (202, {"accepted": 1}, {})
    api = Api({"/v1/tenants/acme/events": [(503, {"detail": "no"}, later), (429, {"detail": "no"}, later), taken]})
    with api:
        done = api.cli(stack, "tenant", "send", "acme", "-", "--json", stdin=json.dumps(event("e")))
        assert json.loads(done.stdout) == {"events": 1, "requests": 1, "repeated": 2, "bad_lines": 0}
        assert len({body for _, _, body in api.asked}) == 1 and len(api.asked) == 3
        api.shutdown()


TALLY = {"count": 12, "first_at": "2026-11-01T00:00:00.000Z", "last_at": "2026-11-20T00:00:00.000Z"}
CUSTOMER = {
    "customer_id": "c-9", "payload": {"name": "Bob Ltd"}, "events": 12, "first_at": TALLY["first_at"],
    "last_at": TALLY["last_at"], "names": {"login": TALLY}, "scores": {"health": {"value": 30, "as_of": "2026-11-20"}},
}
ALERT = {
    "alert_id": "a-1", "rule_id": "activated", "customer_id": "c-9", "period": "2026-11",
    "decided_at": "2026-11-20T00:00:00.000Z", "decided_on": {"events": 10}, "state": "unread",
}
DAILY = {
    "alert_id": "a-2", "score_id": "health", "customer_id": "c-8", "day": "2026-11-19",
    "decided_at": "2026-11-20T02:00:00.000Z", "decided_on": {"events": 12}, "state": "read",
}


def test_what_a_tenant_reads_is_printed(stack):
    ok = lambda body: [(200, body, {})]
    base, silent = "/v1/tenants/acme", {**CUSTOMER, "customer_id": "d", "events": 0, "first_at": None, "last_at": None, "names": {}, "payload": None}
    api = Api({
        f"{base}/customers": ok({"items": [CUSTOMER], "next_cursor": "more"}),
        f"{base}/customers?cursor=more": ok({"items": [silent], "next_cursor": None}),
        f"{base}/customers/c-9": ok(CUSTOMER),
        f"{base}/customers/nobody": [(404, {"detail": "nothing"}, {})],
        f"{base}/names?limit=5": ok({"items": [{"name": "login", **TALLY}], "next_cursor": None}),
        f"{base}/names/login": ok({"name": "login", **TALLY, "days": [{"date": "2026-11-20", "count": 7}]}),
        f"{base}/alerts?state=unread": ok({"items": [ALERT, DAILY], "next_cursor": None}),
        f"{base}/alerts": ok({"items": [], "next_cursor": None}),
    })
    with api:
        tenant = lambda *args, **more: api.cli(stack, "tenant", *args, **more)
        first = tenant("customers", "acme")
        assert first.stdout.split()[:3] == ["c-9", "12", "events"] and "--cursor more" in first.stderr
        everybody = [json.loads(line) for line in tenant("customers", "acme", "--all", "--json").stdout.splitlines()]
        assert everybody == [CUSTOMER, silent]
        shown = tenant("customer", "acme", "c-9").stdout
        assert all(word in shown for word in ("Bob Ltd", "health", "30 as of 2026-11-20", "login", "12 times"))
        assert json.loads(tenant("customer", "acme", "c-9", "--json").stdout) == CUSTOMER
        assert "nobody" in tenant("customer", "acme", "nobody", code=1).stderr
        assert tenant("names", "acme", "--limit", "5").stdout.split()[:2] == ["login", "12"]
        assert re.search(r"2026-11-20 +7$", tenant("name", "acme", "login").stdout.strip())
        alert, daily = tenant("alerts", "acme", "--unread").stdout.splitlines()
        assert all(word in daily for word in ("a-2", "score health", "c-8", "2026-11-19", "read"))
        assert all(word in alert for word in ("a-1", "rule activated", "c-9", "2026-11", "unread"))
        assert "no alerts of acme" in tenant("alerts", "acme").stderr
        api.shutdown()


def test_what_is_decided_by_day_is_told_day_by_day_as_time_passes():
    with Stack("--clock", "2020-01-01T12:00:00Z", "--event-period", "month") as stack:
        command = lambda *args: stack.cli("tenant", *args, "--at", "2020-01-01T11:00:00Z")
        command("rule", "define", "acme", "gone", "--silent-days", "2")
        command("score", "define", "acme", "health", "--base", "0", "--measure", "login:2:10:100", "--alert-below", "10")
        command("rule", "define", "acme", "kept", "--silent-days", "30")

        def happens(day, customers):
            stack.cli("events", "advance", "--to", f"{day}T13:00:00Z")
            events = [event(f"{day}-{customer}", customer, f"{day}T12:30:00Z") for customer in customers]
            assert post(stack, "acme", events).status == 202

        happens("2020-01-01", ["c-1", "c-2"])
        happens("2020-01-02", ["c-2"])
        happens("2020-01-05", ["c-2"])
        stack.cli("events", "advance", "--to", "2020-01-12")
        command("rule", "delete", "acme", "gone")  # what it has told stays
        stack.cli("events", "advance", "--to", "2020-02-10", timeout=180)
        listed = stack.cli("tenant", "alerts", "acme", "--all", "--json").stdout.splitlines()
        alerts = [json.loads(line) for line in listed]
        told = [(one.get("rule_id") or one.get("score_id"), one["customer_id"], one["day"], one["decided_on"]["events"]) for one in alerts]
        assert sorted(told) == [
            ("gone", "c-1", "2020-01-03", 1),
            ("gone", "c-2", "2020-01-04", 2),
            ("gone", "c-2", "2020-01-07", 3),
            ("health", "c-1", "2020-01-03", 1),
            ("health", "c-2", "2020-01-04", 2),
            ("health", "c-2", "2020-01-07", 3),
            ("kept", "c-1", "2020-01-31", 1),
            ("kept", "c-2", "2020-02-04", 3),
        ]
        for one in alerts:
            # Two hours after the end of its day, which here is when the clock is moved there.
            decided, day = (datetime.fromisoformat(text.replace("Z", "")) for text in (one["decided_at"], one["day"]))
            assert timedelta(hours=26) <= decided - day < timedelta(hours=26, minutes=5), one
            assert "period" not in one and one["state"] == "unread"
        printed = stack.cli("tenant", "alerts", "acme", "--all").stdout
        assert "score health" in printed and "rule gone" in printed and "2020-01-07" in printed
        assert not [letter for letter in stack.dead_letters()]

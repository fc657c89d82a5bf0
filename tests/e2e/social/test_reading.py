"""How the command line reads: tokens it makes, requests it signs, and what it says about the pages it did not print."""

import contextlib
import http.server
import json
import re
import threading
import time
from datetime import datetime, timedelta, timezone

import jwt
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from conftest import Stack, follow, ids, instant, publish, run, unique, until

AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<day>\d{8})/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request, ?"
    r"SignedHeaders=(?P<names>[^,]+), ?Signature=(?P<signature>[0-9a-f]{64})$"
)
SECRET = "a secret/of+forty=characters-or-thereabouts"


# Signed reading ------------------------------------------------------------------------------------------------

class Gate:
    """An API that demands IAM in front of a stack that is open: API Gateway, as far as its callers can tell.

    What it receives is signed again, by botocore, with the secret that it knows; a request whose signature is
    another one is refused, as is one without."""

    def __init__(self, stack):
        self.stack, self.signed, self.refused, self.headers = stack, [], [], None
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def _handler(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(handler):
                self.headers = handler.headers
                accepted = self.url.removeprefix("http://") == handler.headers["Host"] and admits(handler)
                (self.signed if accepted else self.refused).append(handler.path)
                if accepted:
                    answer = self.stack.request(handler.path)
                    status, body = answer.status, answer.text
                else:
                    status, body = 403, '{"message":"Forbidden"}'
                handler.send_response(status)
                handler.end_headers()
                handler.wfile.write(body.encode())

            def log_message(handler, *_):
                pass

        return Handler


def admits(received):
    """Whether a request is signed as botocore would sign it, for this API, just now."""
    given = AUTHORIZATION.match(received.headers.get("Authorization", ""))
    if not given or given["service"] != "execute-api" or given["region"] != "eu-west-3":
        return False
    names, date = given["names"].split(";"), received.headers["X-Amz-Date"]
    sent = {name.lower() for name in received.headers}
    needed = {"host", "x-amz-date"} | ({"x-amz-security-token"} & sent)
    age = datetime.now(timezone.utc) - datetime.strptime(date, "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
    if not needed <= set(names) or abs(age) > timedelta(minutes=5) or not date.startswith(given["day"]):
        return False
    request = AWSRequest("GET", f"http://{received.headers['Host']}{received.path}",
                         {name: received.headers[name] for name in names})
    request.context["timestamp"] = date
    auth = SigV4Auth(Credentials(given["key"], SECRET), given["service"], given["region"])
    text = auth.string_to_sign(request, auth.canonical_request(request))
    return given["key"] == "AKIDEXAMPLE" and auth.signature(text, request) == given["signature"]


@pytest.fixture
def gate(stack):
    with contextlib.closing(Gate(stack)) as gate:
        yield gate


def signing(gate, **more):
    """What somebody has who reads from an API that demands IAM."""
    names = {name: value for name, value in gate.stack.env.items()
             if not name.startswith(("NAGARE_", "AWS_"))}
    return names | {
        "NAGARE_API_URL": gate.url,
        "NAGARE_AUTHORIZATION": "iam",
        "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_REGION": "eu-west-3",
    } | more


def activities(done):
    assert done.returncode == 0, done.stderr
    return [json.loads(line)["activity_id"] for line in done.stdout.splitlines()]


def published(stack, viewer, count):
    """Activities of somebody whom the viewer follows, from the newest to the oldest."""
    actor, names = unique("actor"), [unique("live") for _ in range(count)]
    stack.send(follow(viewer, actor), *(publish(actor, name, instant(minutes=-n - 1)) for n, name in enumerate(names)))
    stack.drain()
    return names


@pytest.mark.parametrize("viewer", ["bob", "a:b@c.d_e-f", "@:@", "x..y", "%41"])
def test_requests_are_signed_for_any_viewer(stack, gate, viewer):
    names = published(stack, viewer, 1) if viewer != "%41" else []
    done = run(["timeline", "--json", "--", viewer], signing(gate))
    if names:
        assert activities(done)[:1] == names
    else:
        # No id, and therefore bad input: what matters is that the signature was right.
        assert done.returncode == 2 and "400" in done.stderr
    assert len(gate.signed) == 1 and not gate.refused


def test_a_base_address_with_a_path_is_signed(gate):
    """As in a stage, or in the form of an address that an emulator serves; the stack knows no such path."""
    done = run(["timeline", "bob"], signing(gate, NAGARE_API_URL=gate.url + "/a b/$default/"))
    assert done.returncode == 1 and "404" in done.stderr
    assert gate.signed == ["/a%20b/$default/v1/timelines/bob"]


def test_ranges_and_cursors_are_signed(stack, gate):
    viewer = unique("viewer")
    names = published(stack, viewer, 5)
    japan = timezone(timedelta(hours=9))
    begin = (datetime.now(timezone.utc) - timedelta(days=1)).astimezone(japan).isoformat()
    options = ["--all", "--json", "--limit", "2", "--from", begin, "--order", "oldest"]
    assert activities(run(["timeline", viewer, *options], signing(gate))) == names[::-1]
    assert len(gate.signed) == 3 and not gate.refused
    assert "%2B09%3A00" in gate.signed[0] and "cursor=" in gate.signed[1]


def test_a_session_token_is_sent_and_signed(stack, gate):
    token = "an/odd+token==" * 20
    assert run(["timeline", "bob"], signing(gate, AWS_SESSION_TOKEN=token)).returncode == 0
    assert gate.headers["X-Amz-Security-Token"] == token and len(gate.signed) == 1


def test_a_wrong_secret_is_refused_and_shown_nowhere(stack, gate):
    done = run(["timeline", "bob"], signing(gate, AWS_SECRET_ACCESS_KEY="not it"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "403 Forbidden: Forbidden" in done.stderr and "signed with the AWS credentials" in done.stderr
    assert "not it" not in done.stderr and "AKIDEXAMPLE" not in done.stderr
    assert len(gate.refused) == 1


def test_an_api_that_demands_iam_is_noticed(stack, gate):
    """Where nobody said what it demands: the first request is refused, and all after it are signed."""
    viewer = unique("viewer")
    names = published(stack, viewer, 3)
    env = signing(gate)
    del env["NAGARE_AUTHORIZATION"]
    assert activities(run(["timeline", viewer, "--all", "--json", "--limit", "1"], env)) == names
    assert len(gate.refused) == 1 and len(gate.signed) == 3


@pytest.mark.parametrize("mode", ["jwt", "open"])
def test_nothing_is_signed_where_the_api_demands_something_else(gate, mode):
    done = run(["timeline", "bob"], signing(gate, NAGARE_AUTHORIZATION=mode))
    assert done.returncode == 1 and "sent without a token" in done.stderr
    assert len(gate.refused) == 1 and gate.headers["Authorization"] is None


def test_without_credentials_a_sentence_says_so(gate):
    env = {name: value for name, value in signing(gate).items() if not name.startswith("AWS_")}
    region = env | {"AWS_REGION": "eu-west-3", "AWS_EC2_METADATA_DISABLED": "true"}
    for env, missing in [(env | {"AWS_EC2_METADATA_DISABLED": "true"}, "AWS_REGION"), (region, "credentials")]:
        done = run(["timeline", "bob"], env)
        assert done.returncode == 2 and "NAGARE_AUTHORIZATION=iam" in done.stderr, done.stderr
        assert missing in done.stderr
    assert not gate.signed and not gate.refused


def test_a_mode_that_is_none_is_named(gate):
    done = run(["timeline", "bob"], signing(gate, NAGARE_AUTHORIZATION="IAM"))
    assert done.returncode == 2 and "NAGARE_AUTHORIZATION: expected `jwt`, `iam` or `open`" in done.stderr


# Tokens --------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def guarded():
    with Stack("--auth") as running:
        yield running


def token(stack, *args):
    return stack.cli("token", *args).stdout.strip()


def bearing(text):
    return {"Authorization": f"Bearer {text}"}


def test_a_token_reads_its_owners_timeline_and_no_other(guarded):
    viewer = unique("viewer:a@b")
    names = published(guarded, viewer, 1)
    made = token(guarded, viewer)
    answer = guarded.get(viewer, headers=bearing(made))
    assert answer.status == 200 and answer.activities() == names
    assert guarded.get("bob", headers=bearing(made)).status == 403
    # The command line takes it where it has no key of its own.
    env = {name: value for name, value in guarded.env.items() if name != "NAGARE_JWT_KEY"}
    assert activities(run(["timeline", viewer, "--json"], env | {"NAGARE_TOKEN": made})) == names
    assert run(["timeline", viewer], env).returncode == 1


@pytest.mark.parametrize("args, seconds", [([], 3600), (["--expires-in", "90s"], 90), (["--expires-in", "15m"], 900),
                                           (["--expires-in", "7d"], 604_800)])
def test_a_token_lives_as_long_as_asked(guarded, args, seconds):
    before = int(time.time())
    claims = jwt.decode(token(guarded, "bob", *args), guarded.exports["NAGARE_JWT_KEY"], ["HS256"])
    assert claims["sub"] == "bob" and 0 <= claims["exp"] - before - seconds <= 30


def test_a_token_that_has_expired_is_refused(guarded):
    made = token(guarded, "bob", "--expires-in", "1s")
    until(lambda: guarded.get("bob", headers=bearing(made)).status == 401, "the token to expire")


def test_a_token_needs_the_key_of_a_stack(stack):
    done = stack.cli("token", "bob", code=2)
    assert done.stdout == "" and "no NAGARE_JWT_KEY: a stack that was started with `nagare up --auth` has one" in done.stderr


@pytest.mark.parametrize("args", [["a b"], ["bob", "--expires-in", "0s"], ["bob", "--expires-in", "60"],
                                  ["bob", "--expires-in", "2y"], ["bob", "--expires-in", "400d"]])
def test_a_token_for_nobody_or_for_no_time_is_refused(guarded, args):
    done = guarded.cli("token", *args, code=2)
    assert done.stdout == "" and "expected" in done.stderr


# What is said about other pages --------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def five(stack):
    viewer = unique("viewer")
    return viewer, published(stack, viewer, 5)


MORE = re.compile(r"there is more: add --all for all of it, or read the next page with --cursor (\S+)\n")


def test_that_there_is_more_is_said_and_how_to_see_it(stack, five):
    viewer, names = five
    first = stack.cli("timeline", viewer, "--limit", "3")
    assert [line.split()[3] for line in first.stdout.splitlines()] == names[:3]
    cursor = MORE.fullmatch(first.stderr)[1]
    second = stack.cli("timeline", viewer, "--limit", "3", "--cursor", cursor)
    assert [line.split()[3] for line in second.stdout.splitlines()] == names[3:]
    assert second.stderr == ""
    everything = stack.cli("timeline", viewer, "--limit", "3", "--all")
    assert len(everything.stdout.splitlines()) == 5 and everything.stderr == ""


def test_json_has_items_on_one_stream_and_the_cursors_on_the_other(stack, five):
    viewer, names = five
    first = stack.cli("timeline", viewer, "--json", "--limit", "3")
    assert activities(first) == names[:3]
    cursors = json.loads(first.stderr)
    assert activities(stack.cli("timeline", viewer, "--json", "--cursor", cursors["next_cursor"])) == names[3:]
    whole = stack.cli("timeline", viewer, "--json", "--all", "--limit", "2")
    assert activities(whole) == names and json.loads(whole.stderr)["next_cursor"] is None
    # What came since, for whoever has read all of it.
    [follows] = [one for one in stack.page(viewer)["items"] if one["activity_id"] == names[0]]
    late = unique("late")
    stack.apply(publish(follows["actor_id"], late))
    newer = json.loads(whole.stderr)["newer_cursor"]
    assert activities(stack.cli("timeline", viewer, "--json", "--cursor", newer)) == [late]
    names.insert(0, late)


def test_pages_are_what_the_api_answers(stack, five):
    viewer, names = five
    lines = stack.cli("timeline", viewer, "--json=pages", "--limit", "2", "--all")
    pages = [json.loads(line) for line in lines.stdout.splitlines()]
    assert [name for page in pages for name in ids(page)] == names and lines.stderr == ""
    walked = stack.walk(viewer, limit=2)
    assert [{**page, "retained_from": None} for page in pages] == [{**page, "retained_from": None} for page in walked]


def test_a_cursor_carries_order_and_range(stack, five):
    for option in (["--order", "newest"], ["--from", "2026-11-20"], ["--to", "2026-11-20"]):
        assert "cannot be used with" in stack.cli("timeline", five[0], "--cursor", "x", *option, code=2).stderr
    assert "cursor" in stack.cli("timeline", five[0], "--cursor", "x", code=2).stderr


def test_an_activity_is_one_line_whatever_its_payload(stack):
    """Line ends between the tokens of a payload come back as they were sent, and would cut a line in two."""
    viewer, actor, name = unique("viewer"), unique("actor"), unique("live")
    command = json.dumps(publish(actor, name, instant(seconds=-1)))[:-1]
    stack.apply(follow(viewer, actor), command + ',"payload":{"a":\r\n[1,\n2]}}')
    for form in ("--json", "--json=pages"):
        [line] = stack.cli("timeline", viewer, form).stdout.split("\n")[:-1]
        item = json.loads(line)
        item = item["items"][0] if form == "--json=pages" else item
        assert item["payload"] == {"a": [1, 2]}
    assert stack.cli("timeline", viewer).stdout.count("\n") == 1

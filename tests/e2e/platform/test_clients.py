"""Clients that are generated from openapi.yaml, as the local stack serves it: they page, and read every refusal."""

import importlib
import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml

from conftest import ROOT, Stack, follow, hit, instant, open_battle, open_poll, publish, unique, until, vote
from test_http import token

CLIENTS = ROOT / "tests/clients"
INSTALLED = ROOT / "target/clients"


@pytest.fixture(scope="module")
def guarded():
    with Stack("--auth") as running:
        yield running


def five_activities(stack, viewer):
    """Gives a viewer five activities, and returns their ids, oldest first."""
    actor, ids = unique("actor"), [unique("a") for _ in range(5)]
    published = [publish(actor, one, instant(minutes=n - 9), payload={"n": n}) for n, one in enumerate(ids)]
    stack.apply(follow(viewer, actor), *published)
    return ids


@pytest.fixture(scope="module")
def reader(stack):
    viewer = unique("viewer")
    return viewer, five_activities(stack, viewer)


def served(stack, folder):
    path = folder / "openapi.yaml"
    path.write_text(stack.request("/openapi.yaml").text)
    return path


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


# The gateway's own answers ----------------------------------------------------------------------------------

# What API Gateway says by itself: neither the local stack nor a test can make the real one say it.
MESSAGES = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    413: "Request Entity Too Large",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class Gateway(BaseHTTPRequestHandler):
    """Answers with the status that the path asks for as a viewer: /v1/timelines/429."""

    def do_GET(self):
        status = int(self.path.split("?")[0].rsplit("/", 1)[1])
        body = json.dumps({"message": MESSAGES[status]}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        """Nothing is logged."""


@pytest.fixture(scope="module")
def gateway():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


# Python -----------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def python(stack, tmp_path_factory):
    """The package that openapi-python-client makes; a part that it leaves out is a failure."""
    folder = tmp_path_factory.mktemp("python")
    tool = Path(sys.executable).with_name("openapi-python-client")
    document = served(stack, folder)
    options = ["--meta", "none", "--output-path", str(folder / "nagare_client"), "--fail-on-warning"]
    run(tool, "generate", "--path", str(document), *options, cwd=folder)
    sys.path.insert(0, str(folder))
    yield importlib.import_module("nagare_client")
    sys.path.remove(str(folder))


def read_timeline(python, url, viewer, bearer=None, **query):
    api = importlib.import_module("nagare_client.api.timelines.read_timeline")
    client = python.AuthenticatedClient(url, bearer) if bearer else python.Client(url)
    return api.sync_detailed(viewer, client=client, **query)


def models(name):
    return getattr(importlib.import_module("nagare_client.models"), name)


def test_python_pages(stack, python, reader):
    viewer, ids = reader
    url, oldest = stack.exports["NAGARE_API_URL"], models("ReadTimelineOrder").OLDEST
    page = read_timeline(python, url, viewer, limit=2, order=oldest).parsed
    seen = [one.activity_id for one in page.items]
    while page.next_cursor is not None:
        page = read_timeline(python, url, viewer, limit=2, cursor=page.next_cursor).parsed
        seen += [one.activity_id for one in page.items]
    assert seen == ids
    newer = read_timeline(python, url, viewer, cursor=page.newer_cursor).parsed
    assert newer.items == []
    assert len(read_timeline(python, url, viewer).parsed.items) == 5


def test_python_reads_polls_and_battles(stack, python):
    poll, battle, client = unique("poll"), unique("battle"), python.Client(stack.exports["NAGARE_API_URL"])
    stack.apply(
        open_poll("anna", poll, ["red", "blue"], instant(minutes=-1), instant(minutes=9)), vote("bob", poll, "red"),
        open_battle("anna", battle, 10**15), hit("bob", battle, "h-1", 10**9), hit("eve", battle, "h-2", 1),
    )
    read = lambda name, *ids, **query: importlib.import_module(f"nagare_client.api.{name}").sync(*ids, client=client, **query)
    until(lambda: read("polls.read_poll", poll).votes == 1 and read("battles.read_battle", battle).hits == 2, "both to be counted")
    asked = read("polls.read_poll", poll, viewer="bob")
    assert (asked.state, asked.vote, [one.votes for one in asked.choices]) == (models("PollState").OPEN, "red", [1, 0])
    assert read("polls.read_poll", poll).vote is None
    fought = read("battles.read_battle", battle, viewer="bob")
    assert (fought.hp_left, fought.viewer.damage, fought.last_hit.hit_id) == (10**15 - 10**9 - 1, 10**9, "h-2")
    assert read("battles.read_battle", battle).viewer is None
    assert read("battles.read_hit", battle, "h-1").state == models("HitState").LANDED
    assert isinstance(read("battles.read_hit", battle, "h-3"), models("Problem"))


def test_python_reads_refusals_of_nagare(stack, guarded, python):
    url, closed = stack.exports["NAGARE_API_URL"], guarded.exports["NAGARE_API_URL"]
    bad = read_timeline(python, url, "bob", cursor="made-up")
    assert (bad.status_code, bad.parsed.parameter) == (400, "cursor")
    assert isinstance(bad.parsed, models("InvalidParameter"))
    profiles = importlib.import_module("nagare_client.api.profiles.read_profile")
    others = {
        401: read_timeline(python, closed, "bob"),
        403: read_timeline(python, closed, "anna", bearer=token(guarded)),
        404: profiles.sync_detailed(unique("nobody"), client=python.Client(url)),
        431: read_timeline(python, url, "bob", cursor="x" * 10_240),
    }
    for status, answer in others.items():
        assert answer.status_code == status
        assert isinstance(answer.parsed, models("Problem")) and answer.parsed.detail, status
        assert answer.parsed.status == status


@pytest.mark.parametrize("status", MESSAGES)
def test_python_reads_refusals_of_the_gateway(gateway, python, status):
    answer = read_timeline(python, gateway, str(status))
    assert answer.status_code == status
    assert isinstance(answer.parsed, models("GatewayMessage"))
    assert answer.parsed.message == MESSAGES[status]


# TypeScript -------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def typescript(stack, tmp_path_factory):
    """The program of tests/clients, compiled against the types that openapi-typescript makes."""
    run("bash", ROOT / "tests/node.sh", CLIENTS, INSTALLED)
    folder = tmp_path_factory.mktemp("typescript")
    for name in ("read.ts", "node.d.ts", "tsconfig.json", "package.json"):
        shutil.copy(CLIENTS / name, folder)
    (folder / "node_modules").symlink_to(INSTALLED / "node_modules")
    tools = INSTALLED / "node_modules/.bin"
    run(tools / "openapi-typescript", served(stack, folder), "--output", folder / "api.ts", cwd=folder)
    run(tools / "tsc", "--project", folder, cwd=folder)
    return folder / "read.js"


def read_with_typescript(program, *args):
    environment = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
    return json.loads(run("node", program, *args, env=environment))


def test_typescript_pages(stack, typescript, reader):
    viewer, ids = reader
    told = read_with_typescript(typescript, stack.exports["NAGARE_API_URL"], viewer)
    assert told["walked"] == {"pages": [ids[:2], ids[2:4], ids[4:]], "newer": []}
    assert (told["refused"]["status"], told["refused"]["parameter"]) == (400, "cursor")


def test_typescript_reads_refusals(guarded, gateway, typescript):
    closed = guarded.exports["NAGARE_API_URL"]
    for args, status in (((closed, "bob"), 401), ((closed, "anna", token(guarded)), 403)):
        walked = read_with_typescript(typescript, *args)["walked"]
        assert walked["status"] == status and walked["says"]
    for status, message in MESSAGES.items():
        walked = read_with_typescript(typescript, gateway, str(status))["walked"]
        assert walked == {"status": status, "says": message}


# What is served ---------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name, security", [("stack", []), ("guarded", [{"jwt": []}])])
def test_the_document_demands_what_the_stack_demands(request, name, security):
    text = request.getfixturevalue(name).request("/openapi.yaml").text
    document, written = yaml.safe_load(text), yaml.safe_load((ROOT / "docs/openapi.yaml").read_text())
    assert document["security"] == security
    assert written["security"] == [{"jwt": []}, {"iam": []}]
    assert {**document, "security": None} == {**written, "security": None}

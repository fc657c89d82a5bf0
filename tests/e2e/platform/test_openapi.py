"""docs/openapi.yaml against the running stack: what it answers is what the document says."""

import contextlib
import os
import socket
import subprocess
import sys
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from openapi_spec_validator import OpenAPIV31SpecValidator

from conftest import ROOT, Stack, follow, hit, instant, open_battle, open_poll, publish, unique, until, vote
from test_http import BAD_QUERIES, BAD_TOKENS, BAD_VIEWERS, bearing, token

PATH = ROOT / "docs/openapi.yaml"
DOCUMENT = yaml.safe_load(PATH.read_text())
OPERATION = DOCUMENT["paths"]["/v1/timelines/{viewer_id}"]["get"]


def resolved(part):
    """A part of the document, or what it refers to."""
    while "$ref" in part and part["$ref"].startswith("#/"):
        names, part = part["$ref"][2:].split("/"), DOCUMENT
        for name in names:
            part = part[name]
    return part


def validator(schema):
    """For a schema of the document, whose references lead into the document."""
    whole = {**schema, "components": DOCUMENT["components"]}
    return jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


def conforms(answer, status, described_as=None, operation=OPERATION):
    """Asserts that an answer is one that the document describes."""
    assert answer.status == status, answer.text
    described = operation["responses"][described_as or str(status)]
    media = answer.headers["content-type"]
    assert media in described["content"], f"{status} is not described as {media}"
    validator(described["content"][media]["schema"]).validate(answer.json)
    for name, header in described.get("headers", {}).items():
        header, value = resolved(header), answer.headers.get(name.lower())
        assert value is not None or not header.get("required"), f"{name} is missing"
        if value is not None:
            validator(header["schema"]).validate(int(value) if value.isdigit() else value)
    return answer


# The document by itself ------------------------------------------------------------------------------------

def test_it_is_openapi_3_1():
    assert DOCUMENT["openapi"].startswith("3.1.")
    OpenAPIV31SpecValidator(DOCUMENT).validate()


def examples(part):
    """(a schema, an example of it), for all examples in a part of the document."""
    if isinstance(part, list):
        part = dict(enumerate(part))
    if not isinstance(part, dict):
        return
    if "schema" in part:
        named = [one["value"] for one in part.get("examples", {}).values()]
        single = [part["example"]] if "example" in part else []
        yield from ((part["schema"], value) for value in named + single)
    elif isinstance(part.get("examples"), list):
        yield from ((part, value) for value in part["examples"])
    for inner in part.values():
        yield from examples(inner)


def test_its_examples_obey_its_schemas():
    found = list(examples(DOCUMENT))
    assert len(found) > 10
    for schema, example in found:
        validator(schema).validate(example)


# Answers ----------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def guarded():
    with Stack("--auth") as running:
        yield running


@pytest.fixture(scope="module")
def reader(stack):
    """A viewer with five activities of all sorts."""
    viewer, actor = unique("viewer"), unique("actor")
    payloads = [None, {"title": "Speedrun"}, [1.5, "é"], "text", 0]
    stack.send(
        follow(viewer, actor),
        *(publish(actor, unique("a"), instant(minutes=-n), kind=f"k.{n}", payload=p) for n, p in enumerate(payloads)),
    )
    stack.drain()
    return viewer


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_every_page_of_a_timeline(stack, reader, order):
    answer = conforms(stack.get(reader, {"limit": 2, "order": order, "from": "2015-01-01"}), 200)
    seen = answer.activities()
    while answer.json["next_cursor"]:
        conforms(stack.get(reader, {"cursor": answer.json["newer_cursor"]}), 200)
        answer = conforms(stack.get(reader, {"cursor": answer.json["next_cursor"], "limit": 2}), 200)
        seen += answer.activities()
    assert len(seen) == 5


def test_an_empty_page(stack):
    assert conforms(stack.get(unique("nobody")), 200).activities() == []


def parameter(name):
    [one] = [one for one in map(resolved, OPERATION["parameters"]) if one["name"] == name]
    return one


@pytest.mark.parametrize(
    "name, query", [(name, query) for name, all in BAD_QUERIES.items() for query in all], ids=lambda x: x[:50]
)
def test_a_bad_parameter(stack, name, query):
    """The answer is described; and the value is refused by the schema too, so that a client can know before."""
    assert conforms(stack.get("bob", query), 400).json["parameter"] == name
    values = [value for key, value in urllib.parse.parse_qsl(query, keep_blank_values=True) if key == name]
    if len(values) == 1 and parameter(name)["schema"].get("type") != "integer":
        assert not validator(parameter(name)["schema"]).is_valid(values[0])


@pytest.mark.parametrize("viewer", BAD_VIEWERS, ids=lambda viewer: viewer[:30])
def test_a_bad_viewer(stack, viewer):
    assert conforms(stack.get(viewer), 400).json["parameter"] == "viewer_id"
    assert not validator(parameter("viewer_id")["schema"]).is_valid(urllib.parse.unquote(viewer))


@pytest.mark.parametrize("cursor", ["", "null", "A" * 512, "A" * 513, "=", "😀"])
def test_a_bad_cursor(stack, cursor):
    assert conforms(stack.get("bob", {"cursor": cursor}), 400).json["parameter"] == "cursor"


@pytest.mark.parametrize("name, value", [("order", "newest"), ("from", "2026-01-01"), ("to", "2026-01-01")])
def test_parameters_that_do_not_go_together(stack, reader, name, value):
    cursor = stack.page(reader)["newer_cursor"]
    assert conforms(stack.get(reader, {"cursor": cursor, name: value}), 400).json["parameter"] == name


@pytest.mark.parametrize("make", [None, *BAD_TOKENS.values()], ids=["none", *BAD_TOKENS])
def test_no_token_or_a_bad_one(guarded, make):
    conforms(guarded.get("bob", headers=bearing(make(guarded)) if make else None), 401)


def test_with_a_token(guarded):
    headers = bearing(token(guarded))
    conforms(guarded.get("bob", headers=headers), 200)
    conforms(guarded.get("bob", "limit=0", headers), 400)
    conforms(guarded.get("anna", headers=headers), 403)
    conforms(guarded.request("/v1", headers=headers), 404)
    conforms(guarded.request("/v1/timelines/bob", "PUT", headers=headers), 405)


def arena(running):
    """A poll and a battle with a vote and a hit, and a poll and a battle with none; what is at their paths."""
    poll, battle, quiet = unique("poll"), unique("battle"), unique("quiet")
    times = instant(minutes=-1), instant(minutes=9)
    running.apply(
        open_poll("anna", poll, ["red", "blue"], *times, payload={"title": "Who?"}), vote("bob", poll, "red"),
        open_battle("anna", battle, 10**15), hit("bob", battle, "h-1", 10**9),
        open_poll("anna", quiet, ["a", "b"], *times), open_battle("anna", quiet, 1),
    )
    return {
        "/v1/polls/{poll_id}": [f"/v1/polls/{one}" for one in (poll, quiet)],
        "/v1/battles/{battle_id}": [f"/v1/battles/{one}" for one in (battle, quiet)],
        "/v1/battles/{battle_id}/hits/{hit_id}": [f"/v1/battles/{battle}/hits/h-1"],
    }


def test_polls_and_battles(stack):
    for template, paths in arena(stack).items():
        operation = DOCUMENT["paths"][template]["get"]
        described = lambda target, status: conforms(stack.request(target), status, operation=operation)
        for path in paths:
            described(path, 200)
            described(path + "?viewer=bob", 200)
        described(paths[0].rsplit("/", 1)[0] + "/" + unique("nothing"), 404)
        bad = described(paths[0] + "%23", 400).json["parameter"]
        assert bad == template.split("{")[-1].strip("}")
        if "hits" not in template:
            assert described(paths[0] + "?viewer=b%20b", 400).json["parameter"] == "viewer"
        conforms(stack.request(paths[0], "POST"), 405, operation=operation)


def test_polls_and_battles_with_a_token(guarded):
    headers = bearing(token(guarded))
    for template, paths in arena(guarded).items():
        operation = DOCUMENT["paths"][template]["get"]
        conforms(guarded.request(paths[0]), 401, operation=operation)
        conforms(guarded.request(paths[0], headers=headers), 200, operation=operation)
        if "hits" not in template:
            conforms(guarded.request(paths[0] + "?viewer=anna", headers=headers), 403, operation=operation)


@pytest.mark.parametrize("path", ["/", "/v1/timelines/", "/v1/timelines/bob/x", "/openapi.json"])
def test_an_unknown_path(stack, path):
    conforms(stack.request(path), 404)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_another_method(stack, method):
    conforms(stack.request("/v1/timelines/bob", method), 405)


def test_headers_that_are_too_long(stack):
    conforms(stack.get("bob", headers={"X-Long": "x" * 10_240}), 431, "default")


def test_too_many_at_once():
    """Requests that the tables do not answer keep their places until there is none left."""
    with Stack("--faults=hangs=100%") as slow:
        url = urllib.parse.urlsplit(slow.exports["NAGARE_API_URL"])
        head = b"GET /v1/timelines/bob HTTP/1.1\r\nHost: localhost\r\n\r\n"
        with contextlib.ExitStack() as held:

            def refused():
                # More than are answered and more than wait together; those of the last try have been answered.
                held.close()
                for _ in range(330):
                    held.enter_context(socket.create_connection((url.hostname, url.port))).sendall(head)
                return [answer for answer in [slow.get("bob")] if answer.status == 429]

            [answer] = until(refused, "a request to be refused")
            assert int(conforms(answer, 429).headers["retry-after"]) > 0


def test_a_record_that_somebody_broke(stack):
    """The reader cannot read it, and says no more than that."""
    viewer, actor, activity = unique("viewer"), unique("actor"), unique("broken")
    stack.apply(follow(viewer, actor), publish(actor, activity))
    record = {"pk": {"S": f"activity#{activity}"}, "sk": {"S": f"actor#{actor}"}}
    ledger = stack.exports["NAGARE_LEDGER_TABLE"]
    found = stack.dynamodb.get_item(TableName=ledger, Key=record)["Item"]
    broken = {name: {"BOOL": True} for name in found} | record
    stack.dynamodb.put_item(TableName=ledger, Item=broken)
    answer = conforms(stack.get(viewer), 503)
    assert int(answer.headers["retry-after"]) > 0


# The document, served ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["stack", "guarded"])
def test_the_local_stack_serves_it_to_everybody(request, name):
    running = request.getfixturevalue(name)
    answer = running.request("/openapi.yaml")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/yaml")
    # What it demands of callers is the stack's own: test_clients.py.
    lines = [line for line in PATH.read_text().splitlines() if line not in answer.text.splitlines()]
    assert len(lines) <= 3


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_nothing_else_can_be_done_to_it(stack, method):
    conforms(stack.request("/openapi.yaml", method), 404)


# Requests that nobody thought of ----------------------------------------------------------------------------

HOOKS = Path(__file__).with_name("schemathesis_hooks.py")


def schemathesis(stack, folder, *args):
    """One run with all checks and a fixed seed, of the document that the stack serves; in a folder of its own, for
    it leaves files behind."""
    api = stack.exports["NAGARE_API_URL"]
    options = ["--checks", "all", "--seed", "1", "--max-examples", "20", "--max-failures", "5", "--no-color"]
    document = folder / "openapi.yaml"
    document.write_text(stack.request("/openapi.yaml").text)
    return subprocess.run(
        [Path(sys.executable).with_name("schemathesis"), "run", document, "--url", api, *options, *args],
        cwd=folder,
        env={**os.environ, "SCHEMATHESIS_HOOKS": str(HOOKS)},
        capture_output=True,
        text=True,
        timeout=180,
    )


@pytest.fixture(scope="module")
def fuzzed(stack, guarded, reader, tmp_path_factory):
    """Both runs at once: each waits for its stack most of the time."""
    folders = [tmp_path_factory.mktemp(name) for name in ("open", "guarded")]
    # With a token there is one timeline to read, so that is the one to ask for.
    (folders[1] / "schemathesis.toml").write_text('[parameters]\n"path.viewer_id" = "bob"\n')
    guarded.apply(follow("bob", "anna"), *(publish("anna", unique("a")) for _ in range(3)))
    bearer = f"Authorization: Bearer {token(guarded)}"
    with ThreadPoolExecutor() as pool:
        opened = pool.submit(schemathesis, stack, folders[0])
        closed = pool.submit(schemathesis, guarded, folders[1], "--header", bearer)
        yield {"open": opened, "guarded": closed}


@pytest.mark.parametrize("name", ["open", "guarded"])
def test_schemathesis_finds_nothing(fuzzed, name):
    done = fuzzed[name].result()
    assert done.returncode == 0, done.stdout

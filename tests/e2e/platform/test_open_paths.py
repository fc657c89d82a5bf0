"""With `--auth`, nothing at the API's port is open that the printed list does not name."""

import re
import urllib.request

from conftest import ROOT, Stack, follow, unique

LISTED = re.compile(r"^# Open without a token at the API's port: (.*)$", re.MULTILINE)
# Every text in the sources that looks like a path.
PATH = re.compile(r'"(/[a-z][A-Za-z0-9._{}/-]*/?)"')
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")


def paths():
    """All paths that any router here could have: the sources are read, so a new one is tried without a word."""
    sources = [file for folder in ("tools", "functions", "shared") for file in (ROOT / folder).rglob("*.rs")]
    found = {path for file in sources for path in PATH.findall(file.read_text())}
    assert {"/local/bus", "/local/clock", "/openapi.yaml", "/console/", "/v1/timelines/{viewer_id}"} <= found
    filled = {re.sub(r"\{\w+\}", "bob", path) for path in found} | {"/", "/elsewhere", "//", "/local", "/local/"}
    return sorted(filled | {f"{path}/" for path in filled} | {path.rstrip("/") or "/" for path in filled})


def printed(stack):
    """What `nagare up` prints after the `export` lines."""
    text = ""
    while "ends the stack" not in text:
        text += stack._lines.get(timeout=10)
    return text


def test_only_what_is_listed_is_open():
    with Stack("--auth", "--cors", "https://app.example") as stack:
        [listed] = LISTED.findall(printed(stack))
        listed = listed.split(", ")
        assert sorted(listed) == ["/", "/console/", "/openapi.yaml"]
        tried = 0
        for path in paths():
            is_listed = path in listed or path.startswith("/console/")
            for method in METHODS:
                for headers in ({}, {"Accept": "text/html", "Content-Type": "application/json"}):
                    answer = stack.request(path, method, headers, b"{}" if method in ("POST", "PUT", "PATCH") else None)
                    tried += 1
                    if not is_listed:
                        assert answer.status == 401, (path, method, answer.status)
        assert tried > 1000
        # The console has a secret of its own.
        assert stack.request("/console/").status == 401
        # What programs of this machine use is at the queue's port.
        stack.apply(follow(unique("bob"), unique("anna")))
        assert stack.exports["NAGARE_CLOCK_URL"].startswith(stack.exports["AWS_ENDPOINT_URL_SQS"])
        with urllib.request.urlopen(stack.exports["NAGARE_CLOCK_URL"]) as answer:
            assert answer.status == 200
        assert "follow" in stack.cli("bus", "--json").stdout



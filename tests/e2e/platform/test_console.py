"""The console without a browser: who is let in, and that a console that only looks writes nothing."""

import collections
import html
import http.client
import http.server
import json
import re
import subprocess
import threading
import urllib.parse

import pytest

from conftest import (
    NAGARE, Stack, follow, hit, instant, like, open_battle, open_poll, publish, say, single, unique, until, vote,
)

BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
# One of each kind: pages, parts of pages, assets, forms, and what is nowhere.
ROUTES = ["", "timeline", "newer", "commands", "send", "command", "state", "show", "poll", "battle", "standing", "queues", "depths",
          "letter", "redrive", "people", "person", "bell", "look-as", "room", "said", "activity", "live", "drop", "audit", "repair", "tables", "export", "log", "log-lines", "log/1", "numbers", "faults",
          "console.css", "htmx.js", "icon.svg", "nowhere", "no/where"]


class Console:
    """A `nagare console` of a stack."""

    def __init__(self, stack, *args, env=None):
        env = stack.env | (env or {})
        self.process = subprocess.Popen([NAGARE, "console", "--port", "0", *args], env=env, stdout=subprocess.PIPE, text=True)
        self.said = self.process.stdout.readline()
        self.entrance = re.search(r"http://127\.0\.0\.1:\d+/console/\?token=\w+", self.said)[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)
        self.process.stdout.close()


def ask(entrance, path, method="GET", headers=None):
    """Somebody who knows the port and nothing else."""
    url = urllib.parse.urlsplit(entrance)
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
    connection.request(method, path, headers=headers or {})
    answer = connection.getresponse()
    body = answer.read().decode()
    connection.close()
    return answer.status, single(answer.getheaders()), body


@pytest.fixture(params=["up", "console", "console --write"])
def entrance(request, stack):
    if request.param == "up":
        yield stack.exports["NAGARE_CONSOLE_URL"]
    else:
        with Console(stack, *request.param.split()[1:]) as console:
            yield console.entrance


def test_without_the_secret_every_route_is_401(stack, entrance):
    for path in ROUTES:
        for method in ("GET", "POST", "HEAD", "PUT", "DELETE"):
            for headers in ({}, {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Cookie": "nagare-console=1"}):
                status, answered, body = ask(entrance, f"/console/{path}", method, headers)
                assert status == 401, (method, path, headers, status)
                assert "set-cookie" not in answered and "token" not in body.replace("NAGARE_CONSOLE_URL", ""), path
    assert ask(entrance, "/console")[0] == 401
    assert ask(entrance, "/console/?token=" + "0" * 64)[0] == 401
    # A port that has nothing else is closed everywhere.
    if urllib.parse.urlsplit(entrance).port != urllib.parse.urlsplit(stack.exports["NAGARE_API_URL"]).port:
        for path in ("/", "/nowhere", "/v1/timelines/bob"):
            assert ask(entrance, path)[0] == 401, path


def test_the_printed_address_is_answered_with_a_cookie_of_this_run_and_port(stack, entrance):
    url = urllib.parse.urlsplit(entrance)
    status, headers, _ = ask(entrance, f"{url.path}?{url.query}")
    assert (status, headers["location"]) == (303, "/console/")
    cookie, *attributes = headers["set-cookie"].split("; ")
    assert set(attributes) == {"Path=/console", "HttpOnly", "SameSite=Strict"}
    name, _, value = cookie.partition("=")
    assert name.endswith(str(url.port)) and value not in entrance
    known = {"Cookie": f"other=1; {cookie}"}
    assert ask(entrance, "/console/", headers=known)[0] == 200
    # The rest holds for whoever is let in, too.
    assert ask(entrance, "/console/", headers=known | {"Origin": "http://evil.example"})[0] == 403
    assert ask(entrance, "/console/", headers=known | {"Host": "evil.example"})[0] == 403
    for site in ("cross-site", "same-site"):
        status, _, body = ask(entrance, "/console/queues?reason=x", headers=known | {"Sec-Fetch-Site": site})
        assert status == 403 and 'href="/console/queues?reason=x"' in body
    # Another console knows neither.
    with Console(stack) as other:
        assert ask(other.entrance, f"{url.path}?{url.query}")[0] == 401
        renamed = f"nagare-console-{urllib.parse.urlsplit(other.entrance).port}={value}"
        assert ask(other.entrance, "/console/", headers={"Cookie": renamed})[0] == 401


def test_the_ports_address_leads_browsers_to_the_console_and_programs_nowhere_new(stack):
    api = stack.exports["NAGARE_API_URL"]
    status, headers, _ = ask(api, "/", headers=BROWSER)
    assert (status, headers["location"]) == (303, "/console/")
    for headers in ({}, {"Accept": "*/*"}, {"Accept": "application/json"}):
        assert ask(api, "/", headers=headers)[0] == 404
    assert ask(api, "/", "POST", BROWSER)[0] in (404, 405)


def test_an_open_console_says_so_and_asks_nobody():
    with Stack("--open-console") as stack:
        assert stack.exports["NAGARE_CONSOLE_URL"].endswith("/console/")
        said = [stack._lines.get(timeout=30) for _ in range(4)]
        assert any("The console is open (--open-console)" in line for line in said), said
        assert ask(stack.exports["NAGARE_API_URL"], "/console/queues")[0] == 200
        assert ask(stack.exports["NAGARE_API_URL"], "/console/", headers={"Sec-Fetch-Site": "cross-site"})[0] == 403


def test_an_open_console_does_not_go_together_with_tokens():
    done = subprocess.run([NAGARE, "up", "--auth", "--open-console", "--port", "0"], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and "--open-console" in done.stderr


def test_with_tokens_the_console_is_closed_as_well():
    with Stack("--auth") as stack:
        assert ask(stack.exports["NAGARE_API_URL"], "/console/timeline?viewer=bob")[0] == 401
        assert stack.console("timeline?viewer=bob").status == 200


class Recorder:
    """A port in front of another that notes which operations it is asked for."""

    def __init__(self, to):
        operations, url = collections.Counter(), urllib.parse.urlsplit(to)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                operations[self.headers["X-Amz-Target"].rpartition(".")[2]] += 1
                connection = http.client.HTTPConnection(url.hostname, url.port, timeout=30)
                kept = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "connection")}
                connection.request("POST", self.path, body, kept)
                answer = connection.getresponse()
                body = answer.read()
                connection.close()
                self.send_response(answer.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.operations = operations
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


READING = {"GetItem", "BatchGetItem", "Query", "Scan", "GetQueueAttributes", "DescribeTable"}


def filled(stack):
    """Something for every view, and more on one timeline than a cursor has room for."""
    names = [unique(name) for name in ("bob", "anna", "live", "poll", "battle", "room")]
    bob, anna, live, poll, battle, room = names
    stack.apply(follow(bob, anna))
    stack.send(*(publish(anna, f"{live}-{n}", instant(seconds=-n)) for n in range(60)))
    stack.send(open_poll(anna, poll, ["a", "b"], instant(hours=-1), instant(hours=1)), open_battle(anna, battle, 100))
    stack.drain()
    stack.send(like(bob, f"{live}-1"), vote(bob, poll, "a"), hit(bob, battle, "h", 3), say(room, "m", anna), "no command")
    stack.drain()
    return names


def test_a_console_that_only_looks_writes_to_no_table_and_no_queue(stack):
    bob, anna, live, poll, battle, room = filled(stack)
    tables, queue = stack.exports["AWS_ENDPOINT_URL_DYNAMODB"], stack.exports["AWS_ENDPOINT_URL_SQS"]
    with Recorder(tables) as tables, Recorder(queue) as queue:
        env = {"AWS_ENDPOINT_URL_DYNAMODB": tables.url, "AWS_ENDPOINT_URL_SQS": queue.url}
        with Console(stack, env=env) as console:
            seen = lambda path, fields=None: stack.console(path, fields, entrance=console.entrance)
            waiting, visited = ["", f"room?id={room}", f"person?id={anna}", f"person?id={anna}&show=notifications", f"activity?id={live}-1", f"timeline?viewer={bob}&limit=100", f"poll?id={poll}", f"battle?id={battle}", "numbers", "faults",
                                "console.css", f"standing?what=poll&id={poll}", "tables?table=ledger", "tables?table=views"], set()
            kinds = collections.Counter()
            while waiting:
                path = waiting.pop()
                kind = re.sub(r"=[^&]*", "", path)
                if path in visited or kinds[kind] == 3:
                    continue
                visited.add(path)
                kinds[kind] += 1
                page = seen(path)
                assert page.status < 500, (path, page.text)
                found = [html.unescape(link) for link in re.findall(r'(?:href|hx-get)="([^"]*)"', page.text)]
                links = [link.removeprefix("/console/") for link in found if not link.startswith("#")]
                waiting += [link for link in links if not link.startswith(("http", "/", "./"))]
            assert {"queues", "show", "log", "audit", "depths", "people", "room", "activity", "live", "bell"} <= visited, visited
            assert any(path.startswith("newer?") for path in visited), visited
            for method_path in ("send", "repair", "redrive", "drop", "faults"):
                assert seen(method_path, {"type": "x", "all": "true"}).status in (403, 404, 405), method_path

            # What costs is a form with its token, and nothing else starts it.
            assert "No difference" not in seen("audit?sample=5").text
            assert seen("audit", {"sample": "5"}).status == 403
            assert seen("export", {"table": "ledger"}).status == 403 and seen("export?table=ledger").status == 405
            token = re.search('name="token" value="([0-9a-f]+)"', seen("audit").text)[1]
            audited = seen("audit", {"sample": "5", "token": token})
            assert audited.status == 200 and "No difference" in audited.text, audited.text
            assert "writes no barrier" in audited.text
            for what in ({"viewer": bob}, {"activity": f"{live}-1"}, {"poll": poll}, {"battle": battle}, {"room": room}):
                assert "No difference" in seen("audit", what | {"token": token}).text, what
            assert len(seen("export", {"table": "ledger", "token": token}).text.splitlines()) > 60
        assert tables.operations and set(tables.operations) <= READING, tables.operations
        assert queue.operations and set(queue.operations) <= READING, queue.operations

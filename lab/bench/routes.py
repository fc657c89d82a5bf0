"""What every route of the API takes: p50 and p99 where calls of the tables take up to 0, 10 and 40 ms, and its calls and
read units.

    python lab/bench/routes.py

The times are those of a caller of `nagare up --faults=slow=…`, one request after the other, over one set of data. The calls
and the units are those of `timeline-reader` and `history-reader`, the programs beside NAGARE_BIN, which ask the same tables for the same
page a second time: what they keep in memory they have by then. Exit code 1 if a p99 is above its bound.

    NAGARE_BIN=OTHER/nagare python lab/bench/routes.py --json before.json
    python lab/bench/routes.py --beside before.json

The first measures another build; the second shows its figures before an arrow.
"""

import argparse
import json
import os
import tempfile
import threading
import time
import urllib.request
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import bench
from runtime import Runtime
from stack import running

# A week ago: at its end the clock of the stack is that of the machine, by which the counted reader goes.
START = datetime.now(timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=7)
# Periods are days, so that some of them are archived within a week.
SETTINGS = ["--event-period", "day", "--event-lateness-days", "1", "--event-days", "3"]
NOW = START + timedelta(days=7)
SLOW = ["0", "10", "40"]
# Milliseconds: the most for a p99 where calls take up to 40 ms.
BOUND = 1_500
ACTORS, POSTS, LIKERS, MESSAGES, CUSTOMERS = 60, 3_000, 300, 2_000, 300
ROUTES = {
    "/v1/timelines/{viewer_id}": "/v1/timelines/bob?limit=20",
    "/v1/timelines/{viewer_id}, limit=100": "/v1/timelines/bob?limit=100",
    "/v1/timelines/{viewer_id}?include=likes": "/v1/timelines/bob?limit=20&include=likes",
    "/v1/profiles/{viewer_id}": "/v1/profiles/actor-1",
    "/v1/activities/{activity_id}": "/v1/activities/post-2999?viewer=bob",
    "/v1/actors/{actor_id}/activities": "/v1/actors/actor-1/activities",
    "/v1/viewers/{viewer_id}/likes": "/v1/viewers/bob/likes",
    "/v1/activities/{activity_id}/tags": "/v1/activities/post-2999/tags",
    "/v1/viewers/{viewer_id}/tagged": "/v1/viewers/bob/tagged",
    "/v1/viewers/{viewer_id}/following": "/v1/viewers/bob/following",
    "/v1/actors/{actor_id}/followers": "/v1/actors/actor-1/followers",
    "/v1/notifications/{viewer_id}": "/v1/notifications/actor-1",
    "/v1/polls/{poll_id}": "/v1/polls/mvp?viewer=viewer-1",
    "/v1/battles/{battle_id}": "/v1/battles/dragon?viewer=viewer-1",
    "/v1/battles/{battle_id}/hits/{hit_id}": "/v1/battles/dragon/hits/hit-1",
    "/v1/rooms/{room_id}/messages": "/v1/rooms/hall/messages",
    "/v1/tenants/{tenant_id}/customers/{customer_id}/events": "/v1/tenants/acme/customers/c-1/events",
    "/v1/tenants/{tenant_id}/archives": "/v1/tenants/acme/archives",
    "/v1/tenants/{tenant_id}/customers/{customer_id}": "/v1/tenants/acme/customers/c-1",
    "/v1/tenants/{tenant_id}/customers": "/v1/tenants/acme/customers",
    "/v1/tenants/{tenant_id}/names": "/v1/tenants/acme/names",
    "/v1/tenants/{tenant_id}/names/{name}": "/v1/tenants/acme/names/login",
    "/v1/tenants/{tenant_id}/alerts": "/v1/tenants/acme/alerts",
    "/v1/tenants/{tenant_id}/refusals": "/v1/tenants/acme/refusals",
}
# What the pages of a client that has one already ask for.
NEWER = ["/v1/timelines/{viewer_id}", "/v1/rooms/{room_id}/messages"]


def written(at):
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


def ago(**delta):
    return written(NOW - timedelta(**delta))


def facts():
    """Actors who publish, viewers who like, are tagged, vote, hit and talk."""
    at, viewers = ago(days=6), [f"viewer-{n}" for n in range(LIKERS)]
    for n in range(ACTORS):
        yield {"type": "profile.updated", "viewer_id": f"actor-{n}", "at": at, "payload": {"name": f"Actor {n}"}}
        yield {"type": "follow.created", "follower_id": "bob", "followee_id": f"actor-{n}", "at": at}
    for viewer in viewers:
        yield {"type": "follow.created", "follower_id": viewer, "followee_id": "actor-1", "at": at}
    for n in range(POSTS):
        yield {"type": "activity.published", "activity_id": f"post-{n}", "actor_id": f"actor-{n % ACTORS}", "kind": "post",
               "published_at": ago(seconds=60 + (POSTS - n) * 100), "payload": {"title": f"What {n} is about"}}
    for n in range(POSTS - 200, POSTS):
        liked = {"type": "like.created", "activity_id": f"post-{n}", "at": ago(minutes=30)}
        yield liked | {"viewer_id": "bob"}
        # So many that views have stated what they count of whom.
        yield from (liked | {"viewer_id": viewer} for viewer in viewers[:80 if n > POSTS - 40 else 3])
        yield {"type": "tag.created", "activity_id": f"post-{n}", "tagged_id": "bob", "at": at}
    for n, viewer in enumerate(viewers):
        yield {"type": "tag.created", "activity_id": f"post-{POSTS - 1}", "tagged_id": viewer, "at": at}
        yield {"type": "vote.cast", "poll_id": "mvp", "viewer_id": viewer, "choice": ["red", "blue"][n % 2], "at": ago(days=2)}
        yield {"type": "battle.hit", "battle_id": "dragon", "hit_id": f"hit-{n}", "viewer_id": f"viewer-{n % 9}",
               "damage": 5, "at": ago(days=2)}
    for n in range(MESSAGES):
        yield {"type": "message.posted", "room_id": "hall", "message_id": f"m-{n}", "author_id": viewers[n % 30],
               "at": ago(seconds=MESSAGES - n), "payload": {"text": f"Message {n}"}}


def opened():
    at = written(START)
    yield {"type": "poll.opened", "poll_id": "mvp", "actor_id": "actor-1", "choices": ["red", "blue"], "opens_at": at,
           "closes_at": written(START + timedelta(days=20))}
    yield {"type": "battle.opened", "battle_id": "dragon", "actor_id": "actor-1", "hp": 100_000, "at": at}
    yield {"type": "rule.defined", "tenant_id": "acme", "rule_id": "busy", "at": at,
           "when": {"event": "login", "count": 3, "within": "month"}}


def events(day):
    for n in range(CUSTOMERS):
        for name in ("login", "search", f"page-{n % 40}"):
            yield {"type": "event.recorded", "tenant_id": "acme", "customer_id": f"c-{n}", "event_id": f"{name}-{day}-{n}",
                   "name": name, "at": written(START + timedelta(days=day, minutes=n))}
    for n in range(30):
        yield {"type": "event.recorded", "tenant_id": "acme", "customer_id": "c-1", "event_id": f"many-{day}-{n}",
               "name": "login", "at": written(START + timedelta(days=day, hours=6, seconds=n))}


def load(directory):
    """Fills a directory: a week passes, and then all happens."""
    with running("--data-dir", directory, "--clock", written(START), *SETTINGS) as stack:
        stack.apply(opened())
        for day in range(7):
            stack.nagare("events", "advance", "--to", written(START + timedelta(days=day, hours=23)))
            stack.apply(events(day))
        stack.nagare("events", "advance", "--to", written(NOW))
        stack.apply(facts())
        # The projector has folded all once it has folded the last.
        stack.nagare("audit", "--poll", "mvp", "--battle", "dragon")
        # An event of a closed period is refused.
        stack.send([{"type": "event.recorded", "tenant_id": "acme", "customer_id": "c-1", "event_id": "late", "name": "login", "at": written(START)}])
        end = time.monotonic() + 30
        while not stack.page("/v1/tenants/acme/refusals")[0]["items"]:
            if time.monotonic() > end:
                raise SystemExit("the event is not refused")
            time.sleep(0.05)


def targets(stack):
    """The addresses of the routes, with those of `newer_cursor`."""
    found = {}
    for name, target in ROUTES.items():
        page, _ = stack.page(target)
        if page.get("items") == []:
            raise SystemExit(f"{target}: nothing is there to be read")
        found[name] = target
        if name in NEWER:
            found[f"{name}, nothing newer"] = f"{target.partition('?')[0]}?cursor={page['newer_cursor']}"
    return found


def timed(directory, slow, pages):
    """Milliseconds of each page, by route."""
    with running("--data-dir", directory, *SETTINGS, *([f"--faults=slow={slow}ms,seed=1"] if slow else [])) as stack:
        took = {}
        for name, target in targets(stack).items():
            stack.page(target)
            took[name] = [stack.page(target)[1] for _ in range(pages)]
        return took


class Counter(ThreadingHTTPServer):
    """Hands calls on to a table, and counts them and what they consume."""

    daemon_threads = True

    def __init__(self, endpoint):
        super().__init__(("127.0.0.1", 0), Counting)
        self.endpoint, self.lock, self.calls, self.units = endpoint, threading.Lock(), 0, 0.0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def take(self):
        with self.lock:
            counted, self.calls, self.units = (self.calls, self.units), 0, 0.0
            return counted

    def handle_error(self, *_):
        """A program that is ended does not say goodbye."""


class Counting(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name: value for name, value in self.headers.items() if name.lower() not in ("host", "content-length")}
        asking = json.dumps(body | {"ReturnConsumedCapacity": "TOTAL"}).encode()
        request = urllib.request.Request(self.server.endpoint, asking, headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            text, kind = answer.read(), answer.headers["content-type"]
        consumed = json.loads(text).get("ConsumedCapacity") or []
        with self.server.lock:
            self.server.calls += 1
            self.server.units += sum(
                one["CapacityUnits"] for one in (consumed if isinstance(consumed, list) else [consumed]))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def request(target):
    path, _, query = target.partition("?")
    return {
        "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": query,
        "headers": {"host": "api.example.com"}, "isBase64Encoded": False,
        "requestContext": {"requestId": "request", "stage": "$default", "timeEpoch": 0, "http": {
            "method": "GET", "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"}},
    }


def counted(directory):
    """Calls and read units of each route: of a page that was read before, by a reader that keeps what it may."""
    programs = [Path(bench.NAGARE).with_name(name) for name in ("timeline-reader", "history-reader")]
    if missing := [program for program in programs if not program.exists()]:
        bench.note(f"{missing[0]} is not there: calls and units are not counted")
        return {}
    found = {}
    with running("--data-dir", directory, *SETTINGS) as stack:
        counter = Counter(stack.exports["AWS_ENDPOINT_URL_DYNAMODB"])
        environment = stack.exports | {
            "AWS_ENDPOINT_URL_DYNAMODB": "http://{}:{}".format(*counter.server_address), "NAGARE_AUTHORIZATION": "open",
            "NAGARE_LOG": "error"}
        for program in programs:
            asked = {name: target for name, target in targets(stack).items() if target.startswith("/v1/tenants/") == (program == programs[1])}
            with Runtime(str(program), environment, as_event=lambda event: event) as runtime:
                for name, target in asked.items():
                    for _ in range(2):
                        counter.take()
                        runtime.events.put(request(target))
                        answer = runtime.answers.get(timeout=60)
                        if answer.get("statusCode") != 200:
                            raise SystemExit(f"{target}: {answer}")
                    found[name] = counter.take()
        counter.shutdown()
    return found


def figures(measured, name):
    """The cells of a route, as far as it was measured."""
    took, (calls, units) = measured["took"], measured["counted"].get(name, ("", ""))
    times = [bench.percentile(took[slow][name], percent) for slow in took if name in took[slow] for percent in (50, 99)]
    return [*(f"{time:.0f}" for time in times), f"{calls}", units and f"{units:g}"] if times else []


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=100, help="pages of each route, by how slow calls are")
    parser.add_argument("--slow", type=lambda text: text.split(","), default=SLOW)
    parser.add_argument("--data", metavar="DIR", help="keep the data there, and use what is there")
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured there")
    parser.add_argument("--beside", metavar="FILE", help="what --json has written of another build, with the same --slow")
    options = parser.parse_args()
    before = json.loads(Path(options.beside).read_text()) if options.beside else None
    with tempfile.TemporaryDirectory(prefix="nagare-routes-") as temporary:
        directory = options.data or os.path.join(temporary, "data")
        if not os.path.exists(directory):
            bench.note("loading")
            load(directory)
        took = {}
        for slow in options.slow:
            bench.note(f"calls of up to {slow} ms")
            took[slow] = timed(directory, int(slow), options.pages)
        now = {"took": took, "counted": counted(directory)}
    headings = ["route", *(f"{slow} ms: {which}" for slow in options.slow for which in ("p50", "p99")), "calls", "read units"]
    rows, slowest = [], took[options.slow[-1]]
    for name in slowest:
        cells, others = figures(now, name), figures(before, name) if before else []
        rows.append([f"`GET {name}`", *(f"{other} → {cell}" for other, cell in zip(others, cells)), *cells[len(others):]])
    late = [name for name, times in slowest.items() if bench.percentile(times, 99) > BOUND]
    print(f"milliseconds, of {options.pages} pages each, one after the other\n")
    bench.show(headings, rows)
    bench.save(options.json, now)
    if late:
        raise SystemExit(f"above {BOUND} ms: {', '.join(late)}")


if __name__ == "__main__":
    main()

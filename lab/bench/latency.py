"""What a caller waits for a page when every call of a table takes some milliseconds: p50 and p99, of several readers in
turns.

    python lab/bench/latency.py --programs OTHER/timeline-reader target/release/timeline-reader

The readers are the programs that ship, one invocation after the other, over the same embedded tables, which are another
process. The first page of a process is counted by itself: it connects, and keeps no records yet.
"""

import argparse
import json
import time
from pathlib import Path

import bench
from runtime import Runtime

FOLLOWS = 300


def request(viewer, query="limit=20"):
    """A request as API Gateway sends it."""
    path = f"/v1/timelines/{viewer}"
    return {
        "version": "2.0", "routeKey": "GET /v1/timelines/{viewer_id}", "rawPath": path, "rawQueryString": query,
        "headers": {"host": "api.example.com", "accept": "application/json"}, "pathParameters": {"viewer_id": viewer},
        "requestContext": {"stage": "$default", "timeEpoch": 0, "http": {
            "method": "GET", "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"}},
        "isBase64Encoded": False,
    }


def ask(runtime, event):
    """One page, and the milliseconds that it took."""
    begun = time.perf_counter()
    runtime.events.put(event)
    answer = runtime.answers.get(timeout=60)
    took = (time.perf_counter() - begun) * 1000
    if answer.get("statusCode") != 200:
        raise SystemExit(f"the reader answered {answer}")
    return json.loads(answer["body"]), took


def measured(program, endpoint, viewer, pages, polls):
    """Milliseconds of each page, warm, and of each poll; and the ids on the page."""
    environment = {"AWS_ENDPOINT_URL_DYNAMODB": endpoint, "NAGARE_AUTHORIZATION": "open", "NAGARE_LOG": "error"}
    with Runtime(program, environment, as_event=lambda event: event) as runtime:
        page, cold = ask(runtime, request(viewer))
        for _ in range(20):
            ask(runtime, request(viewer))
        took = [ask(runtime, request(viewer))[1] for _ in range(pages)]
        newer = f"cursor={page['newer_cursor']}"
        waited = [ask(runtime, request(viewer, newer))[1] for _ in range(polls)]
        return {"first": [cold], "page": took, "poll": waited}, [one["activity_id"] for one in page["items"]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=Path, nargs="+", default=[bench.ROOT / "target/release/timeline-reader"])
    parser.add_argument("--latency", type=int, default=5, help="milliseconds that every call takes longer")
    parser.add_argument("--pages", type=int, default=300, help="pages, and as many polls, of each reader in each turn")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--activities", type=int, default=100_000)
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured there")
    options = parser.parse_args()

    runs, shown = {}, set()
    with bench.table("--timelines", FOLLOWS, "--activities", options.activities, "--latency", options.latency) as table:
        endpoint = table.environment["AWS_ENDPOINT_URL_DYNAMODB"]
        for program in bench.in_turns(options.turns, map(str, options.programs)):
            took, ids = measured(program, endpoint, f"viewer-{FOLLOWS}", options.pages, options.pages)
            shown.add(tuple(ids))
            for what, values in took.items():
                runs.setdefault((program, what), []).append(values)
    if len(shown) != 1 or not all(shown):
        raise SystemExit(f"the readers show different pages: {shown}")
    print(f"a page of 20, {options.latency} ms a call more; milliseconds, median (least–greatest) of {options.turns} turns")
    bench.show(["program", "", "p50", "p99"], [
        [program, what, *(bench.said(bench.spread([bench.percentile(values, p) for values in turns]), 1) for p in (50, 99))]
        for (program, what), turns in runs.items()])
    bench.save(options.json, {f"{program} {what}": turns for (program, what), turns in runs.items()})


if __name__ == "__main__":
    main()

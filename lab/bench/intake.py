"""What the intake of events costs: microseconds of processor an event, of the program that ships, at a steady rate.

    python lab/bench/intake.py --rate 2000 --seconds 30

The intake is a process of its own, behind a stand-in for Lambda. It sends to the queue of a local stack, whose writers record the
events meanwhile. What counts is the processor time of that process alone, as the system's kernel says it, from the first
request after warming up to the last; the requests' bodies are made beforehand. Every event has to be in its table at the end.
"""

import argparse
import json
import os
import subprocess
import time
from pathlib import Path

import bench
from runtime import Runtime

TENANT = "acme"
CUSTOMERS = 997
TICKS = os.sysconf("SC_CLK_TCK")


def request(tenant, events):
    """A request as API Gateway sends it."""
    path = f"/v1/tenants/{tenant}/events"
    return {
        "version": "2.0", "routeKey": "POST /v1/tenants/{tenant_id}/events", "rawPath": path, "rawQueryString": "",
        "headers": {"host": "api.example.com", "content-type": "application/json"}, "pathParameters": {"tenant_id": tenant},
        "requestContext": {"stage": "$default", "timeEpoch": 0, "http": {
            "method": "POST", "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"}},
        "body": json.dumps({"events": events}), "isBase64Encoded": False,
    }


def event(number, at, properties):
    return {"customer_id": f"c-{number % CUSTOMERS}", "event_id": f"e-{number}", "name": f"name-{number % 7}", "at": at,
            "properties": properties}


def processor(pid):
    """Seconds of processor that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def accepted(runtime, event):
    runtime.events.put(event)
    answer = runtime.answers.get(timeout=60)
    if answer.get("statusCode") != 202:
        raise SystemExit(f"the intake answered {answer}")
    return json.loads(answer["body"])["accepted"]


def arrived(exports, customer, number):
    """Waits until all events of a customer are recorded."""
    command, end = [bench.NAGARE, "history", TENANT, customer, "--all", "--json"], time.monotonic() + 120
    while True:
        listed = subprocess.run(command, env=os.environ | exports, check=True, capture_output=True, text=True)
        found = len(listed.stdout.splitlines())
        if found == number:
            return
        if time.monotonic() > end:
            raise SystemExit(f"{found} events of {customer} are recorded, expected {number}")
        time.sleep(0.5)


def stack():
    """A local stack, and what it exports."""
    process = subprocess.Popen([bench.NAGARE, "up", "--port", "0"], stdout=subprocess.PIPE, text=True)
    exports = {}
    for line in process.stdout:
        name, equals, value = line.removeprefix("export ").strip().partition("=")
        if line.startswith("export ") and equals:
            exports[name] = value.strip("'\"")
        elif exports:
            break
    return process, exports


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, default=bench.ROOT / "target/release/event-intake")
    parser.add_argument("--rate", type=int, default=2_000, help="events a second")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--each", type=int, default=100, help="events of a request")
    parser.add_argument("--properties", type=int, default=100, help="bytes of properties of an event")
    parser.add_argument("--at-most", type=float, help="microseconds an event; more than that is exit code 1")
    options = parser.parse_args()

    running, exports = stack()
    try:
        environment = exports | {"NAGARE_AUTHORIZATION": "open", "NAGARE_LOG": "error"}
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        properties = {"text": "x" * options.properties}
        number = options.rate * options.seconds // options.each
        requests = [
            request(TENANT, [event(n * options.each + k, at, properties) for k in range(options.each)]) for n in range(number)
        ]
        with Runtime(options.program, environment, as_event=lambda event: event, sqs=exports["AWS_ENDPOINT_URL_SQS"]) as runtime:
            warm = request("warm", [event(n, at, properties) for n in range(options.each)])
            for _ in range(20):
                accepted(runtime, warm)
            before, begun, sent = processor(runtime.process.pid), time.perf_counter(), 0
            for n, one in enumerate(requests):
                time.sleep(max(0.0, n * options.each / options.rate - (time.perf_counter() - begun)))
                sent += accepted(runtime, one)
            took = time.perf_counter() - begun
            each = (processor(runtime.process.pid) - before) / sent * 1e6
        for customer in range(3):
            arrived(exports, f"c-{customer}", len(range(customer, sent, CUSTOMERS)))
        print(f"{sent} events in {took:.1f} s, {sent / took:.0f} a second, {options.each} in a request: {each:.1f} µs of processor an event")
        if options.at_most is not None and each > options.at_most:
            raise SystemExit(1)
    finally:
        running.terminate()
        running.wait()


if __name__ == "__main__":
    main()

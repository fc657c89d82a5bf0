"""What the functions print: their own binaries, run as Lambda runs them.

Each is given its events by a runtime API that stands in for Lambda's, over the tables and queues of the
local stack. Words that must not come out are planted in all that goes in. `-rP` shows what was printed.
"""

import json
import queue
import subprocess
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from conftest import DEADLINE, NAGARE, follow, instant, publish, update

CANARY = "canary"
NEXT, ANSWERED = "/2018-06-01/runtime/invocation/next", "/2018-06-01/runtime/invocation/"


class Runtime(ThreadingHTTPServer):
    """Lambda's runtime API; whatever is no part of it is a table that refuses, and quotes what it was sent."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.events, self.answers, self.invocations = queue.Queue(), queue.Queue(), []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """A function that has ended leaves a connection behind."""

    @property
    def address(self):
        return f"127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        event = self.server.events.get()
        end = str(int(time.time() * 1000) + 60_000)
        request_id, trace = str(uuid.uuid4()), f"1-{int(time.time()):08x}-{uuid.uuid4().hex[:24]}"
        headers = {
            "Lambda-Runtime-Aws-Request-Id": request_id, "Lambda-Runtime-Deadline-Ms": end,
            "Lambda-Runtime-Trace-Id": f"Root={trace};Parent=557abcec3ee5a047;Sampled=0;Lineage=1:{CANARY}:0",
        }
        self.server.invocations.append((request_id, trace))
        self.answer(200, event, headers)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0)).decode()
        if self.path.startswith(ANSWERED):
            self.server.answers.put((self.path.rsplit("/", 1)[1], json.loads(body)))
            return self.answer(202, {}, {})
        self.answer(400, {"__type": "ValidationException", "message": f"canary: {body}"}, {})

    def answer(self, status, content, headers):
        body = json.dumps(content).encode()
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Function:
    """One of the functions, until the end of the block; then what it has printed."""

    def __init__(self, name, stack, **changes):
        self.name, self.runtime = name, Runtime()
        self.env = stack.exports | {
            "AWS_LAMBDA_RUNTIME_API": self.runtime.address,
            "AWS_LAMBDA_FUNCTION_NAME": name,
            "AWS_LAMBDA_FUNCTION_VERSION": "1",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
            "NAGARE_STAGE": "e2e",
            "NAGARE_AUTHORIZATION": "jwt",
        } | {key: value.format(self.runtime.address) for key, value in changes.items()}
        self.binary = str(Path(NAGARE).with_name(name))

    def __enter__(self):
        self.process = subprocess.Popen(
            [self.binary], env=self.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return self

    def invoke(self, event):
        self.runtime.events.put(event)
        kind, answer = self.runtime.answers.get(timeout=DEADLINE)
        assert kind == "response", answer
        return answer

    def __exit__(self, *_):
        self.process.kill()
        self.printed, _ = self.process.communicate()
        self.runtime.shutdown()

    @property
    def lines(self):
        """Its log lines."""
        return [line for line in map(json.loads, self.printed.splitlines()) if "_aws" not in line]

    @property
    def metrics(self):
        return [line for line in map(json.loads, self.printed.splitlines()) if "_aws" in line]


def batch(bodies, receives=1):
    """An event of the queue."""
    return {"Records": [
        {"messageId": f"{n:08}-0000-4000-8000-000000000000", "body": body if isinstance(body, str) else json.dumps(body),
         "attributes": {"ApproximateReceiveCount": str(receives), "SentTimestamp": "1795176000000"},
         "messageAttributes": {"nagare.detail": {"stringValue": CANARY, "dataType": "String"}},
         "eventSource": "aws:sqs"}
        for n, body in enumerate(bodies)
    ]}


def request(query="", path="/v1/timelines/bob"):
    """An event of the API, of a viewer who is bob."""
    return {
        "version": "2.0", "routeKey": "$default", "rawPath": path, "rawQueryString": query,
        "headers": {"authorization": f"Bearer {CANARY}"}, "isBase64Encoded": False,
        "requestContext": {
            "requestId": "request-1", "stage": "$default", "timeEpoch": 0, "accountId": "000000000000",
            "authorizer": {"jwt": {"claims": {"sub": "bob", "jti": CANARY}, "scopes": None}},
            "http": {"method": "GET", "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1", "userAgent": CANARY},
        },
    }


def commands():
    payload = {"title": CANARY}
    good = [publish("anna", "live-1", instant(minutes=-1), payload=payload), publish("anna", "live-2", payload=payload),
            update("anna", "live-1", payload)]
    bad = [CANARY, {"type": CANARY}, publish("anna", "canary!", payload=payload), publish("anna", "live-3", CANARY)]
    return good, bad


@pytest.fixture(scope="module")
def printed(stack):
    """Everything that the three functions have printed, each of them also over tables that refuse and quote."""
    good, bad = commands()
    found, cursors = {}, []
    for kind, changes in ("well", {}), ("refused", {"AWS_ENDPOINT_URL_DYNAMODB": "http://{}"}):
        with Function("fanout-writer", stack, **changes) as writer:
            writer.invoke(batch([follow("bob", "anna")]))
            writer.invoke(batch([*good, *bad]))
            writer.invoke(batch(good, receives=5))
        with Function("timeline-reader", stack, **changes) as reader:
            answers = [reader.invoke(request(query)) for query in ("limit=1", "cursor=canary", "limit=canary")]
            reader.invoke(request(path="/v1/timelines/anna"))
            if kind == "well":
                assert CANARY in answers[0]["body"]
                page = json.loads(answers[0]["body"])
                cursors = [page["next_cursor"], page["newer_cursor"]]
                assert None not in cursors
                for cursor in cursors:
                    reader.invoke(request(f"cursor={cursor}"))
        with Function("dlq-alerter", stack, **changes) as alerter:
            alerter.invoke(batch(bad, receives=5))
        for function in (writer, reader, alerter):
            found[function.name, kind] = function
    return found, [CANARY, *cursors, stack.exports["NAGARE_CURSOR_SECRET"], stack.exports["NAGARE_INTERNAL_SECRET"]]


def test_nothing_that_was_planted_comes_out(printed):
    functions, words = printed
    for name, function in functions.items():
        assert function.lines, name
        print(*name, function.printed, sep="\n")
        for word in words:
            assert word not in function.printed, f"{name} prints {word}:\n{function.printed}"


def test_a_message_has_one_line_and_its_ids(printed):
    functions, _ = printed
    good, bad = commands()
    lines = functions["fanout-writer", "well"].lines
    assert len(lines) == 1 + 2 * len(good) + len(bad)
    assert [line["level"] for line in lines].count("WARN") == len(bad)
    published = [line for line in lines if line.get("activity_id") == "live-2"]
    assert [(line["message"], line["entries"], line["sends"]) for line in published] == [("applied", 1, 1)] * 2
    for line in functions["fanout-writer", "refused"].lines:
        assert line["reason"] in ("store-rejected", "not-json", "unknown-type", "malformed"), line


def test_a_request_has_one_line_and_its_id(printed):
    functions, _ = printed
    lines = functions["timeline-reader", "well"].lines
    assert [line["status"] for line in lines] == [200, 400, 400, 403, 200, 200]
    assert [line.get("items") for line in lines] == [1, None, None, None, 1, 0]
    assert {line["request_id"] for line in lines} == {"request-1"}
    assert [line["status"] for line in functions["timeline-reader", "refused"].lines] == [503, 400, 400, 403]


def test_every_line_has_the_ids_of_its_invocation_and_of_its_trace(printed):
    """Under the names of Powertools for AWS Lambda, so that one query finds the lines of all functions."""
    functions, _ = printed
    for name, function in functions.items():
        ids = [(line.get("function_request_id"), line.get("xray_trace_id")) for line in function.lines]
        assert set(ids) <= set(function.runtime.invocations), name
        # Lines come in the order of the invocations.
        assert ids == sorted(ids, key=function.runtime.invocations.index), name
        assert not any("spans" in line for line in function.lines), name
    assert len({line["function_request_id"] for line in functions["fanout-writer", "well"].lines}) == 3


def test_the_projector_says_in_which_invocation_it_could_not_fold(stack):
    """Over views that refuse."""
    record = {
        "eventSource": "aws:dynamodb", "eventID": "1", "eventName": "INSERT",
        "dynamodb": {
            "Keys": {"pk": {"S": "likes#bob"}, "sk": {"S": "live-1"}}, "SequenceNumber": "1", "ApproximateCreationDateTime": 1795176000,
            "NewImage": {"pk": {"S": "likes#bob"}, "sk": {"S": "live-1"}, "liked": {"BOOL": True}, "changed_at": {"S": instant()}},
        },
    }
    with Function("projector", stack, AWS_ENDPOINT_URL_DYNAMODB="http://{}") as projector:
        projector.invoke({"Records": [record], "shardId": "shardId-1"})
    assert projector.lines
    ids = {(line["function_request_id"], line["xray_trace_id"]) for line in projector.lines}
    assert ids == set(projector.runtime.invocations[:1])


def test_an_invocation_counts_what_it_did_once(printed):
    functions, _ = printed
    for name, function in functions.items():
        for line in function.metrics:
            [directive] = line["_aws"]["CloudWatchMetrics"]
            assert directive["Namespace"] == "Nagare" and line["Stage"] == "e2e", name
            assert ["Stage"] in directive["Dimensions"]
    well = functions["fanout-writer", "well"].metrics
    assert len(well) == 3
    good, bad = commands()
    assert (well[1]["CommandsApplied"], well[1]["EntriesWritten"], well[1]["CommandsRefused"]) == (len(good), 2, len(bad))
    assert max(well[1]["FanOutLatency"]["Values"]) > 59_000
    assert sum(line["DeadLetters"] for line in functions["dlq-alerter", "well"].metrics) == len(commands()[1])
    assert functions["dlq-alerter", "refused"].metrics == []


def test_of_what_went_well_a_few_are_logged_and_all_are_counted(stack):
    with Function("timeline-reader", stack, NAGARE_LOG_ONE_IN="1000000") as reader:
        for _ in range(20):
            assert reader.invoke(request())["statusCode"] == 200
        assert reader.invoke(request("limit=canary"))["statusCode"] == 400
    [problem] = reader.lines
    assert (problem["status"], problem["sampled"]) == (400, 1)
    served = [line["PageLatency"] for line in reader.metrics]
    assert sum(sum(pages["Counts"]) if isinstance(pages, dict) else 1 for pages in served) == 20
    assert reader.metrics[-1]["Problems"] == 1


def test_a_setting_that_is_none_ends_the_function_at_its_start(stack):
    with Function("timeline-reader", stack, NAGARE_LOG_ONE_IN="often") as reader:
        assert reader.process.wait(timeout=DEADLINE) != 0
    assert "NAGARE_LOG_ONE_IN" in reader.printed


def lengths(function, is_metrics):
    lines = [line for line in function.printed.splitlines() if ("_aws" in json.loads(line)) == is_metrics]
    return [len(line.encode()) + 1 for line in lines]


def test_lines_are_as_long_as_the_estimate_says(stack):
    """Ids are as long as it assumes where no file gives them."""
    viewer, actor, pages = "viewer-00012", "actor-000012", 40
    stack.apply(follow(viewer, actor))
    with Function("fanout-writer", stack) as writer:
        for n in range(10):
            writer.invoke(batch([publish(actor, f"activity-00000000-000000{n}", payload={"title": CANARY})]))
    event = request(path=f"/v1/timelines/{viewer}")
    event["requestContext"] |= {"requestId": "JKJaXmPLvHcESHA=", "authorizer": {"jwt": {"claims": {"sub": viewer}}}}
    with Function("timeline-reader", stack) as reader:
        for _ in range(pages):
            assert reader.invoke(event)["statusCode"] == 200
        reader.invoke(request("limit=canary"))
    longest = max((line["PageLatency"] for line in reader.metrics if isinstance(line.get("PageLatency"), dict)), key=lambda it: len(str(it)))
    latencies = "".join(f"{value},{count}," for value, count in zip(longest["Values"], longest["Counts"]))
    found = {
        "writer_line": sum(lengths(writer, is_metrics=False)) / 10,
        "writer_metrics": sum(lengths(writer, is_metrics=True)) / 10,
        "reader_line": sum(lengths(reader, is_metrics=False)[:pages]) / pages,
        "reader_metrics": lengths(reader, is_metrics=True)[0],
        "reader_metrics_page": len(latencies) / len(longest["Values"]),
    }
    print(found, *writer.printed.splitlines()[:2], *reader.printed.splitlines()[:2], sep="\n")
    # What a page adds is mostly the digits of its latency, which are not the same on any two machines.
    tolerated = lambda name: 0.25 if name == "reader_metrics_page" else 0.1
    estimated = stack.cli("estimate", "--deliveries-per-day", 1, "--reads-per-day", 1, "--json").stdout
    assumed = json.loads(estimated)["log_bytes"]
    off = {name: length for name, length in found.items() if abs(assumed[name] / length - 1) > tolerated(name)}
    assert not off, f"`nagare estimate` has {({name: assumed[name] for name in off})}, and these are {off}"

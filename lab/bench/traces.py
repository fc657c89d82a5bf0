"""What traces for OpenTelemetry cost the reader: the first page of a process, and each page after it, with and without.

    python lab/bench/traces.py

The program that ships runs in turns without a collector and with one on the same machine that answers at once. What the collector
itself takes, and its distance, come on top.
"""

import argparse
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import bench
from latency import ask, request
from runtime import Runtime

FOLLOWS = 300


class Collector(ThreadingHTTPServer):
    """Takes traces, and counts their bytes."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.traces, self.bytes = 0, 0
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        length = int(self.headers["content-length"])
        self.rfile.read(length)
        self.server.traces, self.server.bytes = self.server.traces + 1, self.server.bytes + length
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def cpu_ms(process):
    """User and system time so far."""
    fields = Path(f"/proc/{process.pid}/schedstat").read_text().split()
    return int(fields[0]) / 1e6


def measured(program, endpoint, pages, collector):
    environment = {"AWS_ENDPOINT_URL_DYNAMODB": endpoint, "NAGARE_AUTHORIZATION": "open", "NAGARE_LOG_ONE_IN": "1"}
    if collector:
        environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:{}".format(collector.server_port)
    event = request(f"viewer-{FOLLOWS}")
    with Runtime(program, environment, as_event=lambda event: event) as runtime:
        _, first = ask(runtime, event)
        for _ in range(20):
            ask(runtime, event)
        before = cpu_ms(runtime.process)
        took = [ask(runtime, event)[1] for _ in range(pages)]
        each = (cpu_ms(runtime.process) - before) / pages
        usage = runtime.stop()
    return {"first page, ms": first, "CPU of a page, ms": each, "page, ms": sorted(took)[pages // 2],
            "peak memory, MB": usage.ru_maxrss / 1024}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, default=bench.ROOT / "target/release/timeline-reader")
    parser.add_argument("--pages", type=int, default=1_000)
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured there")
    options = parser.parse_args()

    collector, runs = Collector(), {}
    with bench.table("--timelines", FOLLOWS, "--activities", 10_000, "--latency", 0) as table:
        endpoint = table.environment["AWS_ENDPOINT_URL_DYNAMODB"]
        for traced in bench.in_turns(options.turns, ["off", "otel"]):
            run = measured(str(options.program), endpoint, options.pages, collector if traced == "otel" else None)
            runs.setdefault(traced, []).append(run)
    if collector.traces != options.turns * (options.pages + 21):
        raise SystemExit(f"the collector has {collector.traces} traces")
    print(f"{options.pages} pages, median (least–greatest) of {options.turns} turns; "
          f"{collector.bytes / collector.traces:,.0f} bytes a trace")
    bench.show(["", *runs], [[name, *(bench.said(bench.spread([run[name] for run in of]), 3) for of in runs.values())]
                             for name in runs["off"][0]])
    bench.save(options.json, {"runs": runs})


if __name__ == "__main__":
    main()

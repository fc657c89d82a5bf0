"""What a whole fan-out costs the function that ships: CPU and memory of the program itself.

    python lab/bench/function.py

One publish for an actor of 220,000 followers goes in as an event; the program reads the followers,
writes their entries and sends itself parts, which come back as events. With several programs they
run in turns: `--programs target/release/fanout-writer other/fanout-writer`.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import bench
from runtime import Runtime

LATENCY = 5


def fan_out(program, followers):
    """One fan-out; what it took."""
    with bench.table("--follows", followers, "--latency", LATENCY, "--distinct") as table:
        environment = {"AWS_ENDPOINT_URL_DYNAMODB": table.environment["AWS_ENDPOINT_URL_DYNAMODB"]}
        with Runtime(program, environment) as runtime:
            begun = time.monotonic()
            runtime.send(json.dumps({
                "type": "activity.published", "activity_id": "large", "actor_id": "bench",
                "published_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            }))
            invocations = runtime.work_off()
            seconds = time.monotonic() - begun
            usage = runtime.stop()
        counted = table.stop()
    if counted["distinct_keys"] != followers:
        raise SystemExit(f"{followers} followers, and {counted['distinct_keys']} entries")
    return {
        "seconds": seconds,
        "invocations": invocations,
        "cpu_seconds_per_million": (usage.ru_utime + usage.ru_stime) / followers * 1e6,
        "sends_per_item": counted["items_offered"] / counted["items_accepted"],
        "peak_rss_mb": usage.ru_maxrss / 1024,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--followers", type=int, default=220_000)
    parser.add_argument("--programs", type=Path, nargs="+", default=[bench.ROOT / "target/release/fanout-writer"])
    parser.add_argument("--runs", type=int, default=7, help="fan-outs of each program")
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured there")
    options = parser.parse_args()

    runs = {}
    for program in bench.in_turns(options.runs, map(str, options.programs)):
        bench.note(f"{program}: {options.followers:,} followers")
        runs.setdefault(program, []).append(fan_out(program, options.followers))
    print(f"a fan-out to {options.followers:,} followers, {LATENCY} ms a call; "
          f"median (least–greatest) of {options.runs} runs in turns")
    first = runs[str(options.programs[0])]
    bench.show(["program", "CPU s for a million", "over the first", "peak memory, MB", "invocations"],
               [[program, bench.said(of(results, "cpu_seconds_per_million")),
                 f"{over(results, first):.2f}", bench.said(of(results, "peak_rss_mb"), 1),
                 results[0]["invocations"]] for program, results in runs.items()])
    bench.save(options.json, {"runs": runs})


def of(results, what):
    return bench.spread([result[what] for result in results])


def over(results, first):
    """The median of the ratios, run by run."""
    what = "cpu_seconds_per_million"
    return statistics.median(own[what] / other[what] for own, other in zip(results, first))


if __name__ == "__main__":
    main()

"""How close the writer comes to what a table admits, and how much it sends in vain.

    python lab/bench/pacing.py

Capacity is a token bucket with a burst of one second, as DynamoDB has it. Four cases: a steady
40,000 entries a second, a steady 4,000, a change from 40,000 to 4,000 and back, and four writers at
once on 40,000. The ideal is the time the bucket itself needs. Draws docs/pacing.svg.
"""

import argparse
import statistics

import bench

LATENCY = 5
CASES = {
    "40,000 a second": {"schedule": [(0, 40_000)]},
    "4,000 a second": {"schedule": [(0, 4_000)]},
    "40,000, then 4,000, then 40,000": {"schedule": [(0, 40_000), (2, 4_000), (6, 40_000)]},
    "four writers on 40,000 a second": {"schedule": [(0, 40_000)], "writers": 4},
}


def ideal(schedule, entries):
    """Seconds that a bucket needs to admit N items, if it is never left to run over."""
    left = entries - schedule[0][1]  # the burst
    ends = [second for second, _ in schedule[1:]] + [float("inf")]
    for (begins, rate), ends_at in zip(schedule, ends):
        if left <= rate * (ends_at - begins):
            return begins + left / rate
        left -= rate * (ends_at - begins)


def run(writer, case, options):
    """Writes once; everything that is asked about it."""
    schedule, writers = case["schedule"], case.get("writers", 1)
    admitted = ",".join(f"{second}={rate}" for second, rate in schedule)
    settings = ["--schedule", admitted, "--latency", LATENCY, "--distinct", "--trace"]
    with bench.table(*settings) as table:
        started = [bench.start_writer(writer, table, options.followers, options.in_flight)
                   for _ in range(writers)]
        reports = [bench.finish_writer(process) for process in started]
        counted = table.stop()
    entries = options.followers * writers
    if counted["distinct_keys"] != entries:
        raise SystemExit(f"{entries} entries were written and {counted['distinct_keys']} arrived")
    traces = list(counted.pop("accepted_per_100_ms").values())
    return {
        "seconds": counted["seconds"],
        "ideal": ideal(schedule, entries),
        "sends_per_item": counted["items_offered"] / counted["items_accepted"],
        "shares": shares(traces),
        "cpu_seconds": sum(report["cpu_seconds_per_million"] * report["items"] / 1e6 for report in reports),
        "table": counted,
        "trace": together(traces),
    }


def shares(traces):
    """What part of the entries each writer got in while all were at it."""
    begun = max(next(step for step, count in enumerate(trace) if count) for trace in traces)
    ended = min(map(len, traces))
    parts = [sum(trace[begun:ended]) for trace in traces]
    return sorted(part / (sum(parts) or 1) for part in parts)


def together(traces):
    """All writers' traces added up."""
    steps = max(map(len, traces))
    return [sum(trace[step] for trace in traces if step < len(trace)) for step in range(steps)]


def smooth(trace, width):
    """Entries a second, over N steps of 100 ms."""
    windows = [trace[max(0, step + 1 - width):step + 1] for step in range(len(trace))]
    return [10 * sum(window) / len(window) for window in windows]


def draw(results):
    """What was accepted over time, case by case."""
    import chart  # which not everybody who measures has the packages for

    drawing, panels = chart.pyplot.subplots(2, 2, figsize=(9.6, 6.4), layout="constrained")
    drawing.suptitle("Entries accepted a second, over time", x=0.01, ha="left", fontsize=11)
    for axes, (name, case) in zip(panels.flat, CASES.items()):
        axes.set_title(name, loc="left", fontsize=10)
        longest = 0
        for writer in bench.WRITERS:
            runs = sorted(results[name][writer], key=lambda result: result["seconds"])
            trace = runs[len(runs) // 2]["trace"]
            longest = max(longest, len(trace) / 10)
            axes.plot([step / 10 for step in range(1, len(trace) + 1)], smooth(trace, 5),
                      color=chart.COLOURS[writer], label=writer, linewidth=1.4)
        edges = [second for second, _ in case["schedule"]] + [longest]
        axes.stairs([rate for _, rate in case["schedule"]], edges, baseline=None,
                    color="black", linewidth=0.9, linestyle=":", label="capacity")
        axes.yaxis.set_major_formatter(chart.THOUSANDS)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("seconds")
    panels.flat[0].legend()
    chart.save(drawing, "pacing.svg")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--followers", type=int, default=220_000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--pairs", type=int, default=3, help="runs of each")
    parser.add_argument("--only", type=int, choices=range(1, len(CASES) + 1), help="one case; draws nothing")
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured there")
    options = parser.parse_args()

    names = list(CASES)
    results = {}
    for name in names if options.only is None else [names[options.only - 1]]:
        for writer in bench.in_turns(options.pairs, bench.WRITERS):
            bench.note(f"{writer}: {name}")
            result = run(writer, CASES[name], options)
            results.setdefault(name, {}).setdefault(writer, []).append(result)
    print(f"{options.followers:,} entries a writer, {options.in_flight} calls in flight, {LATENCY} ms a call; "
          f"median (least–greatest) of {options.pairs} runs in turns")
    bench.show(["capacity", "writer", "seconds", "ideal", "over ideal", "sends an entry", "shares"],
               [row(name, writer, runs) for name, both in results.items() for writer, runs in both.items()])
    bench.save(options.json, {"cases": results})
    if options.only is None:
        draw(results)


def row(name, writer, runs):
    """One line of the table that is printed."""
    over = statistics.median(result["seconds"] / result["ideal"] for result in runs)
    alone = len(runs[0]["shares"]) == 1
    share = "" if alone else ", ".join(
        f"{statistics.median(ranked):.0%}" for ranked in zip(*(result["shares"] for result in runs)))
    return [name, writer, bench.said(bench.spread([result["seconds"] for result in runs])),
            f"{runs[0]['ideal']:.2f}", f"{over:.3f}",
            bench.said(bench.spread([result["sends_per_item"] for result in runs]), 3), share]


if __name__ == "__main__":
    main()

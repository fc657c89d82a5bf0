"""How fast, and how dear, entries are written: the writer's own write path beside the AWS SDK as its
documentation shows it, and beside a client written by hand that does nothing else.

    python lab/bench/fanout.py

CPU and time for 220,000 entries, against a table that answers at once, and throughput at 1 to 256 calls in flight
where it takes 5 ms a call. Draws docs/fanout-throughput.svg and docs/fanout-cpu.svg.
"""

import argparse

import bench

IN_FLIGHT = [1, 2, 4, 8, 16, 32, 64, 128, 256]
LATENCY = 5


def followers_for(in_flight, most):
    """As many as keep the calls busy for a few seconds."""
    return min(most, max(2_500, in_flight * 25 * 400))


def throughput(options):
    """Entries a second by calls in flight."""
    rows = []
    for in_flight in IN_FLIGHT:
        followers, runs = followers_for(in_flight, options.followers), {}
        for writer in bench.in_turns(options.pairs, bench.WRITERS):
            bench.note(f"{writer}, {in_flight} in flight, {followers:,} entries")
            report = bench.write(writer, followers, in_flight, "--latency", LATENCY)
            runs.setdefault(writer, []).append(report["items_per_second"])
        rows.append({"in_flight": in_flight, "followers": followers, "runs": runs}
                    | {writer: bench.spread(values) for writer, values in runs.items()})
    return rows


def cpu(options):
    """CPU seconds for a million entries, and seconds for all of them, in turns."""
    runs = {}
    for writer in bench.in_turns(options.cpu_pairs, bench.WITH_LEAST):
        bench.note(f"{writer}, CPU of {options.followers:,} entries")
        report = bench.write(writer, options.followers, options.in_flight)
        runs.setdefault(writer, []).append(report)
    spreads = {what: {writer: bench.spread([report[what] for report in reports]) for writer, reports in runs.items()}
               for what in ("cpu_seconds_per_million", "seconds", "peak_rss_mb")}

    def over(one, other):
        """How many times as much CPU, pair by pair."""
        pairs = zip(runs[one], runs[other])
        what = "cpu_seconds_per_million"
        return bench.spread([more[what] / less[what] for more, less in pairs])

    ratios = {"plain SDK over nagare": over("plain SDK", "nagare"), "nagare over by hand": over("nagare", "by hand")}
    return {"followers": options.followers, "in_flight": options.in_flight, "runs": runs, "ratios": ratios} | spreads


def draw(rows, cost):
    """Both charts."""
    import chart  # which not everybody who measures has the packages for

    drawing, axes = chart.figure(f"Entries a second, at {LATENCY} ms a call",
                                 "calls in flight", "entries a second")
    for writer in bench.WRITERS:
        figures = [row[writer] for row in rows]
        middle = [figure["median"] for figure in figures]
        errors = [[figure["median"] - figure["least"] for figure in figures],
                  [figure["greatest"] - figure["median"] for figure in figures]]
        axes.errorbar(IN_FLIGHT, middle, yerr=errors, marker="o", markersize=4, capsize=2,
                      color=chart.COLOURS[writer], label=writer)
    axes.set_xscale("log", base=2)
    axes.set_xticks(IN_FLIGHT, [str(number) for number in IN_FLIGHT])
    axes.set_ylim(bottom=0)
    axes.legend()
    chart.save(drawing, "fanout-throughput.svg")

    drawing, axes = chart.figure("CPU for a million entries (lower is better)", "", "seconds")
    for writer in bench.WITH_LEAST:
        figure = cost["cpu_seconds_per_million"][writer]
        error = [[figure["median"] - figure["least"]], [figure["greatest"] - figure["median"]]]
        bar = axes.bar(writer, figure["median"], yerr=error, width=0.5, capsize=3,
                       color=chart.COLOURS[writer])
        axes.bar_label(bar, fmt="%.2f", label_type="center", color="white")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(axis="x", visible=False)
    chart.save(drawing, "fanout-cpu.svg")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--followers", type=int, default=220_000)
    parser.add_argument("--in-flight", type=int, default=64, help="for the CPU of an entry")
    parser.add_argument("--pairs", type=int, default=3, help="runs of each at each number in flight")
    parser.add_argument("--cpu-pairs", type=int, default=9, help="runs of each for the CPU")
    parser.add_argument("--only", choices=["throughput", "cpu"], help="measure one of the two; draws nothing")
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured there")
    options = parser.parse_args()

    cost = None if options.only == "throughput" else cpu(options)
    if cost:
        print(f"{options.followers:,} entries, {options.in_flight} calls in flight; "
              f"median (least–greatest) of {options.cpu_pairs} runs in turns")
        bench.show(["", "CPU s for a million", "seconds", "peak memory, MB"],
                   [[writer, bench.said(cost["cpu_seconds_per_million"][writer]), bench.said(cost["seconds"][writer]),
                     bench.said(cost["peak_rss_mb"][writer], 0)] for writer in bench.WITH_LEAST])
        for name, ratio in cost["ratios"].items():
            print(f"{name}, CPU, pair by pair: {bench.said(ratio)}")
        print()
    rows = None if options.only == "cpu" else throughput(options)
    if rows:
        print(f"entries a second at {LATENCY} ms a call; median (least–greatest) of {options.pairs} runs in turns")
        bench.show(["in flight", *bench.WRITERS],
                   [[row["in_flight"], *(bench.said(row[writer], 0) for writer in bench.WRITERS)]
                    for row in rows])
    bench.save(options.json, {"throughput": rows, "cpu": cost})
    if rows and cost:
        draw(rows, cost)


if __name__ == "__main__":
    main()

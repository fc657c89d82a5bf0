"""What a month of events costs in tables and archives, beside other designs: 100 million of 600 bytes, twelve months kept.

    python lab/bench/event_prices.py
    python lab/bench/event_prices.py --events 1000000 --bytes 200

Nagare's lines are those of `nagare estimate`, and so are the prices. Functions and summaries are left out: all designs need those.
"""

import argparse
import json
import subprocess

import bench

DAYS, GB, MILLION = 30, 1024**3, 1e6
# What DynamoDB adds to an item, in bytes.
STORED = 100
# Writes to a table of the class for infrequent access cost a quarter more.
INFREQUENT = 1.25


def estimate(events, size, period):
    command = [bench.NAGARE, "estimate", "--deliveries-per-day", "0", "--json"]
    command += ["--events-per-day", str(events / DAYS), "--event-bytes", str(size), "--event-period", period]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def one_table(events, size, months, prices, infrequent):
    """A table with a TTL: deletes are free, and everything is under point-in-time recovery."""
    units = events * -(-size // 1024) / MILLION
    stored = events * months * (size + STORED) / GB
    kept = prices["dynamodb_infrequent_gb_month" if infrequent else "dynamodb_gb_month"]
    writes = units * prices["dynamodb_million_writes"] * (INFREQUENT if infrequent else 1)
    return writes + stored * (kept + prices["dynamodb_recovery_gb_month"])


def of_tables(found):
    """Nagare's lines of tables and archives: on demand, and with the current table provisioned."""
    lines = [line for line in found["lines"] if "events" in line["what"]]
    on_demand = sum(line["dollars"] for line in lines)
    return on_demand, on_demand - (found["dollars"] - found["provisioned_dollars"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=float, default=100e6, metavar="N", help="events a month (100 million)")
    parser.add_argument("--bytes", type=int, default=600, metavar="N", help="bytes of one (600)")
    parser.add_argument("--months", type=int, default=12, metavar="N", help="months that a single table keeps (12)")
    options = parser.parse_args()
    periods = {period: estimate(options.events, options.bytes, period) for period in ("month", "week", "day")}
    prices = periods["month"]["prices"]
    rows = [
        ("one table with a TTL", one_table(options.events, options.bytes, options.months, prices, False)),
        ("the same, of the class for infrequent access", one_table(options.events, options.bytes, options.months, prices, True)),
    ]
    for period, found in periods.items():
        on_demand, provisioned = of_tables(found)
        rows += [(f"Nagare, a table a {period}", on_demand), (f"Nagare, a table a {period}, EventCapacity=provisioned", provisioned)]
    print(f"{options.events:,.0f} events of {options.bytes} bytes a month")
    for name, dollars in rows:
        print(f"{name:<52}${dollars:>9,.2f}${dollars / options.events * MILLION:>8,.3f} a million")
    each, provisioned = periods["month"]["million_events_dollars"]
    print(f"With functions and summaries, by month: ${each:.3f} a million, provisioned ${provisioned:.3f}")


if __name__ == "__main__":
    main()

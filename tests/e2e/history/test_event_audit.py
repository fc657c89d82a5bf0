"""`nagare audit --tenant`: tables of events, their archives, and what is known of both, compared."""

import json

from conftest import Stack
from test_events import SETTINGS, START, event, lines, now, periods, s3, send

DAY = "2013-01-01"


def audit(stack, *of, code=1):
    told = stack.cli("audit", "--tenant", "acme", *of, "--json", code=code)
    return [json.loads(line) for line in told.stdout.splitlines()]


def faults(stack, *of):
    """Those of events: what is put by hand is in the stream as well, and so in summaries that nobody recounts so."""
    rows = [row for row in audit(stack, *of) if "period" in row]
    return sorted((row["period"], row["difference"], row["of"]) for row in rows)


def in_table(stack, id, at, customer="c-9"):
    keys = {"pk": {"S": f"acme#{customer}"}, "sk": {"S": f"{at}#{id}"}}
    return keys | {"name": {"S": "login"}, "properties": {"S": "null"}}


def test_tables_archives_and_rows_are_compared():
    with Stack("--clock", START, *SETTINGS) as stack:
        send(
            stack,
            event("e1", "2013-01-01T00:00:01Z"),
            event("e2", "2013-01-01T00:00:02Z", customer="c-1"),
            event("e1", "2013-01-01T00:00:01Z", tenant="other"),
        )
        assert audit(stack, code=0) == []
        stack.cli("events", "advance", "--to", "2013-01-03T01:00:00Z")
        assert periods(stack)[DAY]["state"] == "verified"
        assert audit(stack, code=0) == []
        told = stack.cli("audit", "--tenant", "acme", "--customer", "c-9")
        assert "1 tenant audited: 0 differences" in told.stderr
        assert stack.cli("audit", "--customer", "c-9", code=2)

        # An object that was exchanged, together with what was noted of it.
        client, bucket = s3(stack), stack.exports["NAGARE_ARCHIVE_BUCKET"]
        key = f"events/{DAY}/acme/0000-000000.jsonl.gz"
        object = client.get_object(Bucket=bucket, Key=key)["Body"].read()
        assert [line["event_id"] for line in lines(object)] == ["e2", "e1"]
        others = client.get_object(Bucket=bucket, Key=key.replace("acme", "other"))["Body"].read()
        client.put_object(Bucket=bucket, Key=key, Body=others)
        found = faults(stack)
        assert (DAY, "damaged", key) in found
        assert (DAY, "missing", "c-9 2013-01-01T00:00:01.000Z e1") in found
        client.put_object(Bucket=bucket, Key=key, Body=object)
        assert audit(stack, code=0) == []

        # A row that the tenant lost.
        ledger = stack.exports["NAGARE_LEDGER_TABLE"]
        row = {"pk": {"S": "events#archive#acme"}, "sk": {"S": f"{DAY}#0000-000000"}}
        stack.dynamodb.delete_item(TableName=ledger, Key=row)
        assert faults(stack) == [(DAY, "unlisted", key)]
        # A table that somebody dropped.
        stack.cli("audit", "--tenant", "other")
        stack.dynamodb.update_table(TableName=f"nagare-events-{DAY}", DeletionProtectionEnabled=False)
        stack.dynamodb.delete_table(TableName=f"nagare-events-{DAY}")
        told = stack.cli("audit", "--tenant", "other", code=1)
        assert "it is not there" in told.stdout


def test_what_nobody_looks_for_is_misplaced():
    with Stack("--clock", START, *SETTINGS) as stack:
        send(stack, event("e1", "2013-01-01T00:00:01Z"), event("e2", "2013-01-01T00:00:02Z", customer="c-1"))
        stack.cli("events", "advance", "--to", "2013-01-03T01:00:00Z")
        # Of another period, and under a key that the customer does not have.
        today = f"nagare-events-{now(stack)[:10]}"
        astray = in_table(stack, "e3", "2013-01-02T00:00:00.000Z")
        stack.dynamodb.put_item(TableName=today, Item=astray)
        of_other_key = in_table(stack, "e4", f"{now(stack)[:10]}T00:00:00.000Z", "c-1#7")
        stack.dynamodb.put_item(TableName=today, Item=of_other_key)
        assert faults(stack) == [
            ("2013-01-03", "misplaced", "acme#c-1#7 2013-01-03T00:00:00.000Z#e4"),
            ("2013-01-03", "misplaced", "acme#c-9 2013-01-02T00:00:00.000Z#e3"),
        ]
        # Of one customer only what its readers would read.
        assert [it[1] for it in faults(stack, "--customer", "c-9")] == ["misplaced"]

"""The history of customers over the life of its periods: recorded, closed, archived, dropped, while days pass in seconds."""

import gzip
import hashlib
import json
import subprocess
import urllib.error
import urllib.request

import pytest
from botocore.config import Config

from conftest import Stack, clean_environment, run

START = "2013-01-01T00:00:00Z"
SETTINGS = ["--event-period", "day", "--event-lateness-days", "1", "--event-days", "3"]


@pytest.fixture
def directory(tmp_path):
    return tmp_path / "data"


def event(id, at, customer="c-9", tenant="acme", **more):
    about = {"tenant_id": tenant, "customer_id": customer, "event_id": id, "name": "login", "at": at}
    return {"type": "event.recorded", **about, **more}


def send(stack, *commands):
    stack.send(*commands)
    stack.drain()


def history(stack, customer="c-9", tenant="acme"):
    items = stack.cli_json("history", tenant, customer, "--all", "--order", "oldest", "--json")
    return [item["event_id"] for item in items]


def periods(stack):
    return {row["period"]: row for row in stack.cli_json("events", "periods", "--json")}


def now(stack):
    with urllib.request.urlopen(stack.exports["NAGARE_CLOCK_URL"]) as answer:
        return json.load(answer)["now"]


def reasons(stack):
    return sorted(letter["reason"] for letter in stack.cli_json("dead-letters", "list", "--json"))


def s3(stack, **config):
    return stack._session.client(
        "s3", endpoint_url=stack.exports["AWS_ENDPOINT_URL_S3"], config=Config(**config)
    )


def lines(object):
    return [json.loads(line) for line in gzip.decompress(object).splitlines()]


def test_events_live_and_are_archived_and_their_table_goes(directory):
    with Stack("--clock", START, "--data-dir", directory, *SETTINGS) as stack:
        # Recorded once, whatever comes again; another content under the same identity is refused.
        first = event("e1", "2013-01-01T00:00:01Z", properties={"plan": "pro", "n": 1.50})
        send(stack, first, event("e2", "2012-12-31T23:59:59Z"), first)
        send(stack, first | {"properties": {"plan": "free"}}, event("e0", "2012-12-30T00:00:00Z"))
        assert history(stack) == ["e2", "e1"]
        assert reasons(stack) == ["event-conflict", "event-too-late"]
        shown = periods(stack)
        assert (shown["2013-01-01"]["state"], shown["2013-01-01"]["events"]) == ("current", 1)
        assert (shown["2012-12-31"]["state"], shown["2012-12-31"]["next"]) == ("past", "seal")
        assert shown["2012-12-31"]["next_at"] == "2013-01-02T01:00:00.000Z"
        assert (shown["2013-01-02"]["state"], shown["2013-01-03"]["state"]) == ("made", "planned")

        # Time passes, and what is due is done when the command returns.
        stack.cli("events", "advance")
        assert now(stack).startswith("2013-01-02T00:00:0")
        send(stack, event("e3", "2013-01-02T00:00:00Z"), event("e4", "2013-01-01T12:00:00Z"))
        stack.cli("events", "advance", "--to", "2013-01-02T01:00:00Z")
        assert periods(stack)["2012-12-31"]["state"] == "verified"
        send(stack, event("late", "2012-12-31T12:00:00Z"))
        assert reasons(stack) == ["event-conflict", "event-too-late", "event-too-late"]
        stack.cli("events", "advance", "--to", "2013-01-04")
        shown = periods(stack)
        states = [shown[f"2013-01-0{day}"]["state"] for day in (1, 2, 3, 4, 5)]
        assert states == ["verified", "past", "past", "current", "made"]
        assert (shown["2012-12-31"]["state"], shown["2012-12-31"]["events"]) == ("dropped", 1)
        tables = stack.dynamodb.list_tables()["TableNames"]
        assert "nagare-events-2012-12-31" not in tables and "nagare-events-2013-01-01" in tables
        assert history(stack) == ["e1", "e4", "e3"]

        # Backwards is a wrong usage, and changes nothing.
        before = now(stack)
        back = stack.cli("events", "advance", "--to", "2013-01-03", code=2)
        assert "never goes back" in back.stderr
        assert now(stack) >= before

        # The archive agrees with the tables that are still there.
        verified = stack.cli_json("events", "verify", "--json")
        assert [(row["period"], row["events"], row["table_events"]) for row in verified][-2:] == [
            ("2012-12-31", 1, None),
            ("2013-01-01", 2, 2),
        ]
        bucket = stack.exports["NAGARE_ARCHIVE_BUCKET"]
        client = s3(stack)
        listed = client.list_objects_v2(Bucket=bucket)["Contents"]
        keys = [it["Key"] for it in listed if "/acme/" in it["Key"] and it["Key"].endswith(".jsonl.gz")]
        objects = {key: client.get_object(Bucket=bucket, Key=key)["Body"].read() for key in keys}
        found = [line for object in objects.values() for line in lines(object)]
        assert sorted(line["event_id"] for line in found) == ["e1", "e2", "e4"]
        assert {tuple(line) for line in found} == {
            ("tenant_id", "customer_id", "event_id", "name", "at", "properties")
        }
        # So does what the API says of it, whose addresses are good by the clock of the stack.
        with urllib.request.urlopen(f"{stack.exports['NAGARE_API_URL']}/v1/tenants/acme/archives") as answer:
            archives = json.load(answer)["items"]
        assert [(row["period"], row["state"], row["events"]) for row in archives] == [
            ("2013-01-01", "verified", 2),
            ("2012-12-31", "dropped", 1),
        ]
        for object in (object for row in archives for object in row["objects"]):
            with urllib.request.urlopen(object["url"]) as answer:
                body = answer.read()
            assert hashlib.sha256(body).hexdigest() == object["sha256"]
            read = subprocess.run(["zcat"], input=body, capture_output=True, check=True)
            assert read.stdout == gzip.decompress(objects[object["key"]])
        of_first = next(key for key in keys if "2013-01-01" in key)
        reached = now(stack)
        stack.process.terminate()
        assert stack.process.wait(30) == 0

    # It goes on where it was, without being told when or how time is cut.
    with Stack("--data-dir", directory) as stack:
        assert now(stack) >= reached
        assert periods(stack)["2013-01-04"]["state"] == "current"
        client = s3(stack)
        assert client.get_object(Bucket=bucket, Key=of_first)["Body"].read() == objects[of_first]

    # It cannot start earlier than it has come to, nor cut time otherwise.
    environment = clean_environment(directory.parent)
    behind = run(["up", "--port", "0", "--data-dir", directory, "--clock", START], environment)
    assert (behind.returncode, "has come to 2013-01-0" in behind.stderr) == (2, True)
    other = run(["up", "--port", "0", "--data-dir", directory, "--event-period", "week"], environment)
    assert (other.returncode, "by the day" in other.stderr) == (2, True)


def test_an_object_that_is_damaged_is_found():
    with Stack("--clock", START, *SETTINGS) as stack:
        send(stack, event("e1", "2013-01-01T00:00:00Z"))
        stack.cli("events", "advance", "--to", "2013-01-03T02:00:00Z")
        assert stack.cli_json("events", "verify", "2013-01-01", "--json")[0]["differences"] == []
        bucket, client = stack.exports["NAGARE_ARCHIVE_BUCKET"], s3(stack)
        listed = client.list_objects_v2(Bucket=bucket)["Contents"]
        key = next(it["Key"] for it in listed if "2013-01-01/acme/" in it["Key"])
        client.put_object(Bucket=bucket, Key=key, Body=gzip.compress(b"{}\n"))
        found = stack.cli("events", "verify", "2013-01-01", "--json", code=1)
        assert "SHA-256" in json.loads(found.stdout)["differences"][0]


def test_a_period_whose_objects_are_damaged_is_disputed_and_its_table_stays():
    with Stack("--clock", START, *SETTINGS, "--faults=object-flips=100%") as stack:
        send(stack, event("e1", "2013-01-01T00:00:00Z"))
        stack.cli("events", "advance", "--to", "2013-01-10")
        assert periods(stack)["2013-01-01"]["state"] == "disputed"
        assert "nagare-events-2013-01-01" in stack.dynamodb.list_tables()["TableNames"]


def test_two_keepers_whose_clocks_differ_do_each_step_once():
    faults = "--faults=keepers=100%,keeper-clock=600000ms,table-limits=20%,table-resets=20%"
    with Stack("--clock", START, *SETTINGS, faults) as stack:
        ids = [f"e{n}" for n in range(40)]
        send(stack, *(event(id, "2013-01-01T00:00:00Z", customer=id) for id in ids))
        stack.cli("events", "advance", "--to", "2013-01-06", timeout=180)
        row = periods(stack)["2013-01-01"]
        assert (row["state"], row["events"]) == ("dropped", 40)
        assert stack.cli_json("events", "verify", "2013-01-01", "--json")[0]["events"] == 40


def test_an_object_is_read_by_a_presigned_address_for_as_long_as_it_says():
    with Stack("--clock", START, *SETTINGS) as stack:
        client = s3(stack, signature_version="s3v4")
        bucket = stack.exports["NAGARE_ARCHIVE_BUCKET"]
        body = gzip.compress(b'{"a":1}\n') + gzip.compress(b'{"a":2}\n')
        client.put_object(Bucket=bucket, Key="x/members.jsonl.gz", Body=body)
        parameters = {"Bucket": bucket, "Key": "x/members.jsonl.gz"}
        url = client.generate_presigned_url("get_object", Params=parameters, ExpiresIn=900)
        # It is signed by the system's clock, so it is still good by that of the stack.
        with urllib.request.urlopen(url) as answer:
            read = subprocess.run(["zcat"], input=answer.read(), capture_output=True, check=True)
        assert read.stdout == b'{"a":1}\n{"a":2}\n'
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url.replace("members", "other"))
        assert (refused.value.code, b"SignatureDoesNotMatch" in refused.value.read()) == (403, True)


def test_a_presigned_address_expires_by_the_clock_of_the_stack():
    with Stack("--clock", "2100-01-01") as stack:
        client, bucket = s3(stack, signature_version="s3v4"), stack.exports["NAGARE_ARCHIVE_BUCKET"]
        client.put_object(Bucket=bucket, Key="x", Body=b"x")
        url = client.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "x"})
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url)
        assert (refused.value.code, b"expired" in refused.value.read()) == (403, True)


def test_the_clock_is_not_for_web_pages():
    with Stack("--clock", START, "--cors", "https://app.example") as stack:
        url = stack.exports["NAGARE_CLOCK_URL"]

        def post(**headers):
            request = urllib.request.Request(url, b'{"to":null}', headers, method="POST")
            try:
                with urllib.request.urlopen(request) as answer:
                    return answer.status
            except urllib.error.HTTPError as refused:
                return refused.code

        json_type = {"Content-Type": "application/json"}
        before = now(stack)
        for origin in ("https://app.example", "http://localhost:5173", "null"):
            assert post(Origin=origin, **json_type) == 403, origin
        assert post(**{"Content-Type": "text/plain"}) == 415
        assert now(stack)[:13] == before[:13]
        assert post(**json_type) == 200
        assert now(stack) >= "2013-01-08T01", "when December is sealed"


def test_the_clock_of_the_system_is_not_moved():
    with Stack() as stack:
        refused = stack.cli("events", "advance", "--to", "2100-01-01", code=2)
        assert "nagare up --clock" in refused.stderr


def test_an_archive_is_listed_and_copied_by_plain_s3_clients(tmp_path):
    with Stack() as stack:
        client, bucket = s3(stack), stack.exports["NAGARE_ARCHIVE_BUCKET"]
        for n in range(5):
            client.put_object(Bucket=bucket, Key=f"a b/ü{n}", Body=b"0123456789" * n)
        pages = client.get_paginator("list_objects_v2").paginate(
            Bucket=bucket, PaginationConfig={"PageSize": 2}
        )
        found = [(it["Key"], it["Size"]) for page in pages for it in page["Contents"]]
        assert [it for it in found if it[0].startswith("a b/")] == [(f"a b/ü{n}", 10 * n) for n in range(5)]
        part = client.get_object(Bucket=bucket, Key="a b/ü2", Range="bytes=8-11")
        assert (part["Body"].read(), part["ContentRange"]) == (b"8901", "bytes 8-11/20")
        client.download_file(bucket, "a b/ü4", str(tmp_path / "copied"))
        assert (tmp_path / "copied").read_bytes() == b"0123456789" * 4
        client.delete_object(Bucket=bucket, Key="a b/ü4")
        with pytest.raises(client.exceptions.NoSuchKey):
            client.get_object(Bucket=bucket, Key="a b/ü4")
        assert client.head_bucket(Bucket=bucket)["ResponseMetadata"]["HTTPStatusCode"] == 200

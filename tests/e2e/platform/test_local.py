"""The local stack among others on the same machine: web pages, neighbours, full pipes, broken files.

    python -m pytest tests/e2e/platform/test_local.py -rP
"""

import json
import os
import shutil
import socket
import stat
import subprocess
import threading
import urllib.parse
import zlib
from pathlib import Path

import boto3
import pytest
from botocore.config import Config

from conftest import (
    DEADLINE, EXPORT, NAGARE, PROMISED, Stack, body, clean_environment, follow, instant, measured, publish, run, unique, until,
)

PORTS = ["NAGARE_API_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS"]
GIB = 1024**3


def address(stack, port):
    url = urllib.parse.urlsplit(stack.exports[port])
    return url.hostname, url.port


def status(stack, port, head, body=b""):
    """The status that a request gets on a connection of its own."""
    with socket.create_connection(address(stack, port), timeout=DEADLINE) as connection:
        connection.sendall("\r\n".join([*head, "Connection: close", "", ""]).encode() + body)
        return int(connection.makefile("rb").readline().split()[1])


# A web page on the same machine --------------------------------------------------------------------

@pytest.mark.parametrize("port", PORTS)
def test_a_page_from_elsewhere_is_refused_at_every_port(stack, port):
    own = "Host: {}:{}".format(*address(stack, port))
    line = "GET /v1/timelines/bob HTTP/1.1"
    assert status(stack, port, [line, own]) != 403
    assert status(stack, port, [line, "Host: localhost", "Origin: http://localhost:5173"]) != 403
    assert status(stack, port, [line, "Host: rebound.example:3000"]) == 403
    assert status(stack, port, [line, own, "Origin: https://page.example"]) == 403
    assert status(stack, port, ["OPTIONS / HTTP/1.1", own, "Origin: https://page.example"]) == 403


def test_a_refused_page_has_no_effect(stack):
    """Sending to the queue from a form needs no answer."""
    port = "AWS_ENDPOINT_URL_SQS"
    body = json.dumps({"QueueUrl": stack.queue_url, "MessageBody": json.dumps(follow("mallory", "anna"))}).encode()
    head = ["POST / HTTP/1.1", "Host: 127.0.0.1", "X-Amz-Target: AmazonSQS.SendMessage", f"Content-Length: {len(body)}"]
    assert status(stack, port, [*head, "Origin: https://page.example"], body) == 403
    assert status(stack, port, head, body) == 200
    stack.drain()
    stack.apply(publish("anna", "seen"))
    assert len(stack.entries("mallory")) == 1


def test_auth_says_what_it_does_not_cover():
    assert "tables and the queue" in " ".join(run(["up", "--help"], clean_environment("/tmp")).stdout.split())
    with Stack("--auth") as stack:
        lines = iter(lambda: stack._lines.get(timeout=DEADLINE), None)
        assert any("tables and queue are open to everybody" in line for line in lines)


# A neighbour on the same machine -------------------------------------------------------------------

def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def modes(data):
    return {path.name: oct(mode(path)) for path in data.iterdir()}


@pytest.mark.parametrize("was", ["new", "open"])
def test_the_data_directory_is_its_owners_alone(tmp_path, was):
    data, before = tmp_path / "data", os.umask(0)
    try:
        if was == "open":
            with Stack("--data-dir", data) as stack:
                stack.apply(follow("bob", "anna"))
            data.chmod(0o755)
            for file in data.iterdir():
                file.chmod(0o755 if file.is_dir() else 0o644)
        with Stack("--data-dir", data) as stack:
            stack.apply(follow("bob", "anna"), publish("anna", "a1"))
            assert oct(mode(data)) == "0o700"
            found = modes(data)
            assert {"lock", "tables.sqlite", "queues.sqlite", "cursor-secret", "internal-secret"} <= found.keys()
            assert found.pop("objects") == "0o700"
            assert set(found.values()) == {"0o600"}, found
    finally:
        os.umask(before)


@pytest.mark.parametrize("name", ["lock", "cursor-secret", "internal-secret", "tables.sqlite"])
def test_files_are_not_followed_elsewhere(tmp_path, name):
    data, precious = tmp_path / "data", tmp_path / "precious"
    data.mkdir(mode=0o700)
    precious.write_text("precious")
    (data / name).symlink_to(precious)
    refused = run(["up", "--port", "0", "--data-dir", data], clean_environment(tmp_path))
    assert refused.returncode == 2 and "not an ordinary file" in refused.stderr
    assert precious.read_text() == "precious"


def test_the_lock_is_not_emptied(tmp_path):
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    (data / "lock").write_text("kept")
    with Stack("--data-dir", data):
        assert (data / "lock").read_text() == "kept"
        refused = run(["up", "--port", "0", "--data-dir", data], clean_environment(tmp_path))
        assert refused.returncode == 2 and "in use by another process" in refused.stderr


def test_a_directory_that_everybody_shares_is_refused(tmp_path):
    data = tmp_path / "shared"
    data.mkdir()
    data.chmod(0o1777)
    refused = run(["up", "--port", "0", "--data-dir", data], clean_environment(tmp_path))
    assert refused.returncode == 2 and "name one of your own" in refused.stderr
    assert mode(data) == 0o1777 and list(data.iterdir()) == []


# Panics --------------------------------------------------------------------------------------------

def test_a_panic_ends_one_invocation_and_nothing_else():
    """Of the built program: how a panic ends is a matter of the build's profile."""
    expected = [f"a{n}" for n in range(60)]
    with Stack("--faults=panics=2%,seed=5") as stack:
        stack.send(follow("bob", "anna"), *(publish("anna", name) for name in expected))
        answers = [stack.get("bob").status for _ in range(100)]
        for _ in range(10):
            stack.drain(120)
            if not stack.cli_json("dead-letters", "list", "--json"):
                break
            stack.cli("dead-letters", "redrive", "--all")
        pages = iter(lambda: stack.get("bob", {"limit": 100}), None)
        page = next(page for page in pages if page.status == 200)
        assert sorted(page.activities()) == sorted(expected)
        assert stack.process.poll() is None
        assert "panics" in stack.log.read_text()
        assert set(answers) <= {200, 500}


# Pipes ---------------------------------------------------------------------------------------------

ESTIMATE = ["estimate", "--deliveries-per-day", "1000", "--reads-per-day", "1000"]


def printing_to(output):
    env = clean_environment("/nonexistent")
    return subprocess.run([NAGARE, *ESTIMATE], env=env, stdout=output, stderr=subprocess.PIPE, text=True, timeout=30)


def test_a_reader_who_has_seen_enough_is_no_failure():
    """As in `nagare dead-letters list | head -2`."""
    read, written = os.pipe()
    os.close(read)
    try:
        done = printing_to(written)
    finally:
        os.close(written)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_disk_is_told():
    with open("/dev/full", "w") as full:
        done = printing_to(full)
    assert done.returncode == 1
    assert done.stderr.startswith("nagare: standard output cannot be written: No space left on device")


def test_what_can_be_read_only_once_is_sent(stack, tmp_path):
    """Standard input, and a named pipe as in `--file <(…)`: nothing of it is lost, and a bad line is found
    before anything is sent."""
    viewer, actor = unique("viewer"), unique("actor")
    stack.apply(follow(viewer, actor, instant(days=-1)))
    lines = lambda ids: "".join(body(publish(actor, id)) + "\n" for id in ids)
    done = stack.cli("publish", "--file", "-", stdin=lines([f"{actor}-1", f"{actor}-2"]))
    assert done.stdout == "2 commands sent\n"
    pipe = tmp_path / "pipe"
    for ids, bad, code in [([f"{actor}-3"], "", 0), ([f"{actor}-4"], "not json\n", 2)]:
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_text, args=[lines(ids) + bad])
        writer.start()
        done = stack.cli("publish", "--file", pipe, code=code)
        writer.join()
        pipe.unlink()
    assert f"{pipe}: line 2" in done.stderr and "nothing was sent" in done.stderr
    stack.drain()
    assert sorted(stack.timeline(viewer)) == [f"{actor}-{n}" for n in (1, 2, 3)]


def test_rows_by_standard_input_are_replayed(stack):
    viewer, actor = unique("viewer"), unique("actor")
    stack.apply(follow(viewer, actor, instant(days=-1)))
    rows = f"t,author,kind\n1000,{actor},live\n1060,{actor},live\n"
    stack.cli("replay", "-", stdin=rows)
    assert stack.timeline(viewer) == [f"{actor}-1060", f"{actor}-1000"]


# Endless input -------------------------------------------------------------------------------------

def sparse(path, start):
    """A file that begins like this and goes on with a gibibyte of zeros in one line."""
    with path.open("wb") as file:
        file.write(start)
        file.truncate(GIB)
    return path


def bomb(path, start):
    """The same, in about a megabyte of gzip. It has no end, since nobody should get there."""
    packer = zlib.compressobj(wbits=31)
    begun = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH)
    # Packed once: behind a full flush the same bytes mean the same again.
    zeros = packer.compress(bytes(2**22)) + packer.flush(zlib.Z_FULL_FLUSH)
    path.write_bytes(begun + zeros * (GIB // 2**22))
    return path


def check_endless(stack, said, *args, stdin=None):
    done, peak = measured(args, stack.env, stdin)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert peak < 300 * 2**20, peak


def test_a_line_without_an_end_is_an_error_with_its_number(stack, tmp_path):
    edges, commands = b"follower,followee\nbob,anna\n", json.dumps(follow("bob", "anna")).encode() + b"\n"
    long_csv, long_gzip = "line 3: longer than 1048576 bytes", bomb(tmp_path / "edges.csv.gz", edges)
    plain = sparse(tmp_path / "edges.csv", edges)
    check_endless(stack, long_csv, "follows", "import", plain)
    check_endless(stack, long_csv, "follows", "import", long_gzip)
    check_endless(stack, long_csv, "follows", "import", "--skip-bad", long_gzip)
    for file in (plain, long_gzip):
        with file.open("rb") as stdin:
            check_endless(stack, long_csv, "follows", "import", "-", stdin=stdin)
    check_endless(stack, "line 2: longer than 1048576 bytes", "replay", bomb(tmp_path / "posts.csv.gz", b"t,author,kind\n"))
    check_endless(stack, "line 2: longer than 1048576 bytes", "publish", "--file", sparse(tmp_path / "c.jsonl", commands))
    assert stack.waiting() == 0


def test_bodies_that_do_not_come_keep_nobody_out(own_stack):
    """At the API nobody waits for a body; at the others a body has its time, and all of them a bound."""
    head = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10485760\r\n\r\n"
    before = memory(own_stack)
    held = []
    try:
        for port in PORTS:
            for _ in range(40):
                connection = socket.create_connection(address(own_stack, port))
                connection.setblocking(False)
                connection.send(head)
                held.append(connection)
        # All of each body but its last byte, as far as it is taken.
        left = {connection: 10485759 for connection in held}
        piece = bytes(2**18)

        def push():
            for connection in list(left):
                try:
                    left[connection] -= connection.send(piece[: left[connection]])
                except BlockingIOError:
                    continue
                except OSError:
                    left.pop(connection)
                    continue
                if left[connection] == 0:
                    left.pop(connection)
            return own_stack.get("bob").status == 200 and not left

        until(push, "all that is taken to be sent", 60)
        own_stack.apply(follow("bob", "anna"))
        assert own_stack.get("bob").status == 200
    finally:
        for connection in held:
            connection.close()
    assert memory(own_stack, "VmHWM") < before + 500 * 2**20


def memory(stack, name="VmRSS"):
    lines = Path(f"/proc/{stack.process.pid}/status").read_text().splitlines()
    [kilobytes] = [line.split()[1] for line in lines if line.startswith(name)]
    return int(kilobytes) * 1024


# Files that are broken or gone ---------------------------------------------------------------------

@pytest.fixture(scope="module")
def written_data(tmp_path_factory):
    """The directory of a stack that has ended, with something in it."""
    data = tmp_path_factory.mktemp("written") / "data"
    with Stack("--data-dir", data) as stack:
        # One after the other: the file of a queue that was long has room in its middle.
        stack.apply(follow("bob", "anna"), *(publish("anna", f"a{n}", payload={"n": "x" * 1000}) for n in range(200)))
        stack.process.terminate()
        stack.process.wait(timeout=DEADLINE)
    return data


@pytest.fixture
def data(written_data, tmp_path):
    """A copy of it, to be broken."""
    return shutil.copytree(written_data, tmp_path / "data")


def refused(data, code=2):
    done = run(["up", "--port", "0", "--data-dir", data], clean_environment(data))
    assert done.returncode == code, done.stderr
    return done.stderr


@pytest.mark.parametrize("gone", ["removed", "emptied"])
def test_queues_without_their_tables_are_refused(data, gone):
    tables = data / "tables.sqlite"
    tables.unlink()
    if gone == "emptied":
        tables.touch()
    said = refused(data)
    assert "tables.sqlite is missing or empty" in said and "put the tables back" in said
    (data / "queues.sqlite").unlink()
    with Stack("--data-dir", data) as stack:
        assert stack.timeline("bob") == []


def test_tables_without_their_queues_are_told(data):
    (data / "queues.sqlite").unlink()
    with Stack("--data-dir", data) as stack:
        assert len(stack.timeline("bob", limit=100)) == 100
        assert "commands that waited there are lost" in stack.log.read_text()


@pytest.mark.parametrize("name", ["tables.sqlite", "queues.sqlite"])
@pytest.mark.parametrize("where", ["first page", "middle"])
def test_a_damaged_file_is_refused(data, name, where):
    file = data / name
    pages = file.stat().st_size // 4096
    first = 0 if where == "first page" else pages // 2
    with file.open("r+b") as broken:
        broken.seek(first * 4096)
        broken.write(os.urandom(4096 * max(1, pages // 4 if first else 1)))
    said = refused(data)
    assert f"{name} is damaged" in said and "put a copy of it back" in said, said


def test_a_log_that_nobody_reads_stops_nothing(tmp_path):
    """More warnings than a pipe holds, and nobody reads them until the end."""
    process = subprocess.Popen(
        [NAGARE, "up", "--port", "0"], env=clean_environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        exports = {}
        while not PROMISED | {"AWS_REGION"} <= exports.keys():
            match = EXPORT.match(process.stdout.readline())
            exports |= {match[1]: match[2]} if match else {}
        sqs = boto3.Session("local", "local", region_name=exports["AWS_REGION"]).client(
            "sqs", endpoint_url=exports["AWS_ENDPOINT_URL_SQS"], config=Config(read_timeout=20, retries={"max_attempts": 1})
        )
        for _ in range(300):
            entries = [{"Id": str(n), "MessageBody": "no command"} for n in range(10)]
            sqs.send_message_batch(QueueUrl=exports["NAGARE_QUEUE_URL"], Entries=entries)
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        counts = lambda: sqs.get_queue_attributes(QueueUrl=exports["NAGARE_QUEUE_URL"], AttributeNames=names)["Attributes"]
        until(lambda: not any(int(count) for count in counts().values()), "the queue to drain", 120)
        process.terminate()
        process.wait(timeout=DEADLINE)
    finally:
        process.kill()

"""Archives are readable whatever is in them: generated properties, read back by the commands of docs/OPERATIONS.md.

    python3 -m venv target/archives-venv && target/archives-venv/bin/pip install --require-hashes --no-deps -r tests/archives/requirements.txt
    READERS_PYTHON=$PWD/target/archives-venv/bin/python NAGARE_BIN=$PWD/target/debug/nagare target/venv/bin/python -m pytest tests/archives

Properties that the contract calls malformed (a name twice in one object, a number beyond a double) are sent too. They have to be refused,
and all others have to come back from every reader with the same value. Athena's table is tried as the pattern that it is.
"""

import glob
import gzip
import json
import math
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

from conftest import Stack  # noqa: E402

# The Python with the readers; the tests themselves need what end-to-end tests need.
READERS = os.environ.get("READERS_PYTHON", sys.executable)
SEED = int(os.environ.get("ARCHIVE_SEED", "1"))
NUMBER = int(os.environ.get("ARCHIVE_EVENTS", "600"))
COLUMNS = ["tenant_id", "customer_id", "event_id", "name", "at", "properties"]
START = "2013-01-01T12:00:00Z"
TENANT = "auth0|Ac+me"

# What has broken a reader, and what is near it.
KNOWN = [
    "null", "true", '"text"', '""', "-0", "1.50", "1E+2", '[1,"a",{"b":[null]}]', '{"a":1,"a":2}', '[{"b":{"a":1,"\\u0061":2}}]',
    '{"a":1,"A":2}', '{"":1}', '{"tenant_id":1,"properties":{"properties":"x"}}', "1e99999999", "1e-99999999", "0e99999999", "9" * 4000,
    "1" + "0" * 300, "0." + "3" * 3990, "1.7976931348623157e308", "1.7976931348623159e308", "-1e309", "5e-324", "18446744073709551616",
    "-9223372036854775809", "9007199254740993", "[" * 64 + "]" * 64, '{"a":\n [1,\r\n\t2]}', '{"\\u0000":"\\u0001\\u007f\\u2028"}',
    '"\\ud83d\\ude00 \u00e9 \u2028"', '"a\\"}{,:\\\\"', '"2026-01-01T00:00:00Z"', '{"properties":1}', '"' + "x" * 4094 + '"',
]


def number(chosen):
    digits = "".join(chosen.choice("0123456789") for _ in range(chosen.choice([1, 3, 17, 25, 330, 1200])))
    text = chosen.choice(["", "-"]) + (digits.lstrip("0") or "0")
    text += chosen.choice(["", f".{digits[::-1]}"])
    return text + chosen.choice(["", "", f"e{chosen.randint(-400, 400)}", f"E+{chosen.randint(0, 330)}"])


def text(chosen):
    pieces = ["a", "B", " ", '\\"', "\\\\", "\\n", "\\u0000", "\\u00e9", "\\ud83d\\ude00", "\u00e9", "\u2028", "{", "}", ",", ":", "'", "\x7f"]
    return '"' + "".join(chosen.choice(pieces) for _ in range(chosen.randint(0, 6))) + '"'


def value(chosen, depth=0):
    kind = chosen.randint(0, 7 if depth < 5 else 4)
    space = chosen.choice(["", "", " ", "\n", "\r\n", "\t"])
    if kind <= 1:
        return number(chosen)
    if kind <= 3:
        return text(chosen)
    if kind == 4:
        return chosen.choice(["null", "true", "false", "[]", "{}"])
    inner = [value(chosen, depth + 1) for _ in range(chosen.randint(0, 4))]
    if kind == 5:
        return f"[{space}" + f",{space}".join(inner) + "]"
    # Few names, so that some are there twice.
    names = [chosen.choice(['"a"', '"A"', '"\\u0061"', '"b"', '""', '"properties"', text(chosen)]) for _ in inner]
    return f"{{{space}" + f",{space}".join(f"{name}{space}:{it}" for name, it in zip(names, inner)) + "}"


def is_readable(properties):
    """As the contract says it."""
    repeated = []

    def members(pairs):
        if len({name for name, _ in pairs}) != len(pairs):
            repeated.append(pairs)
        return dict(pairs)

    try:
        numbers = []
        json.loads(properties, object_pairs_hook=members, parse_int=lambda t: numbers.append(t), parse_float=lambda t: numbers.append(t))
    except ValueError:
        return False
    return not repeated and all(math.isfinite(float(number)) for number in numbers)


def python(cwd, code, stdin=None):
    done = subprocess.run([READERS, "-c", code], cwd=cwd, input=stdin, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def archived(tmp_path_factory):
    """A folder with the objects of the tenant, and the properties that have to be in them."""
    chosen = random.Random(SEED)
    sent = KNOWN + [value(chosen) for _ in range(NUMBER)]
    sent = {f"e{n}": properties for n, properties in enumerate(sent) if len(properties.encode()) <= 4096}
    expected = {id: properties for id, properties in sent.items() if is_readable(properties)}
    assert len(expected) > len(sent) / 4 and len(sent) - len(expected) > 20, "both kinds are tried"
    folder = tmp_path_factory.mktemp("archived")
    with Stack("--clock", START, "--event-period", "day", "--event-lateness-days", "0") as stack:
        stack.send(*(
            f'{{"type":"event.recorded","tenant_id":"{TENANT}","customer_id":"0012","event_id":"{id}","name":"n","at":"{START}","properties":{it}}}'
            for id, it in sent.items()
        ))
        stack.drain()
        refused = stack.cli_json("dead-letters", "list", "--json")
        assert {letter["reason"] for letter in refused} == {"malformed"} and len(refused) == len(sent) - len(expected)
        stack.cli("events", "advance", "--to", "2013-01-03T02:00:00Z", timeout=300)
        s3 = stack._session.client("s3", endpoint_url=stack.exports["AWS_ENDPOINT_URL_S3"])
        bucket = stack.exports["NAGARE_ARCHIVE_BUCKET"]
        for found in s3.list_objects_v2(Bucket=bucket)["Contents"]:
            if f"/{TENANT}/" in found["Key"]:
                s3.download_file(bucket, found["Key"], str(folder / Path(found["Key"]).name))
    assert list(folder.glob("*.jsonl.gz"))
    return folder, expected


def commands(language, word):
    """The documented command with this word."""
    page = (ROOT / "docs/OPERATIONS.md").read_text().split("## Events from an archive")[1].split("\n## ")[0]
    [found] = [text for text in re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL) if word in text]
    return found


def compare(rows, expected):
    assert {row[2] for row in rows} == expected.keys() and len(rows) == len(expected)
    for tenant, customer, id, name, at, properties in rows:
        assert (tenant, customer, name, at) == (TENANT, "0012", "n", START.replace("Z", ".000Z")), id
        # DuckDB reads null as its own.
        assert json.loads(properties or "null") == json.loads(expected[id]), id


ROWS = "\nimport json\nprint(json.dumps([[row[c] for c in {columns}] for row in {rows}]))"


def test_python_after_zcat(archived):
    folder, expected = archived
    lines = subprocess.run("zcat *.jsonl.gz", shell=True, cwd=folder, capture_output=True, check=True).stdout
    rows = python(folder, commands("py", "sys.stdin") + "print(json.dumps(events))", lines)
    compare([[*list(row.values())[:5], json.dumps(row["properties"])] for row in rows], expected)


def test_duckdb(archived):
    folder, expected = archived
    code = f"import duckdb, json\nprint(json.dumps(duckdb.sql({commands('sql', 'read_json')!r}).fetchall()))"
    compare(python(folder, code), expected)


def test_polars(archived):
    folder, expected = archived
    rows = python(folder, commands("py", "polars") + "\nimport json\nprint(json.dumps(events.rows()))")
    compare(rows, expected)


def test_pandas(archived):
    folder, expected = archived
    rows = python(folder, commands("py", "pandas") + "\nprint(json.dumps(events.values.tolist()))")
    compare([[*row[:5], json.dumps(row[5])] for row in rows], expected)


def test_athena_s_pattern(archived):
    folder, expected = archived
    [pattern] = re.findall(r"'input.regex' =\s*'(.*?)'\)", commands("sql", "RegexSerDe"), re.DOTALL)
    lines = [line for file in glob.glob(f"{folder}/*.jsonl.gz") for line in gzip.open(file, "rt", encoding="utf-8", newline="\n")]
    # Java's matches() takes the whole line.
    compare([re.fullmatch(pattern, line.rstrip("\n")).groups() for line in lines], expected)

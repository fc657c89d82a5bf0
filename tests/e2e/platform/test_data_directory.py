"""A data directory belongs to its user: no link in it is followed, and nothing that was erased is in its files."""

import os
import shutil
import urllib.error
import urllib.request

import pytest

from conftest import Stack, clean_environment, follow, like, publish, run, unique

SETTINGS = ("--clock", "2020-01-01T12:00:00Z", "--event-period", "day", "--event-lateness-days", "0")


def s3(stack, key, method="GET", data=None):
    url = f"{stack.exports['AWS_ENDPOINT_URL_S3']}/{stack.exports['NAGARE_ARCHIVE_BUCKET']}/{key}"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, method=method)) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read()


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_links_below_the_objects_lead_nowhere(tmp_path, when):
    data, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("precious")
    with Stack("--data-dir", data) as stack:
        assert s3(stack, "d/precious", "PUT", b"mine")[0] == 200
        [folder] = [it for it in (data / "objects").iterdir() if it.is_dir()]
        shutil.rmtree(folder)
        folder.symlink_to(elsewhere)
        if when == "before":
            stack.kill()
            stack = Stack("--data-dir", data)
        with stack:
            status, body = s3(stack, "d/precious")
            assert status in (404, 500) and b"precious" not in body.replace(b"d/precious", b"")
            s3(stack, "d/precious", "PUT", b"changed")
            s3(stack, "d/new", "PUT", b"new")
            s3(stack, "d/precious", "DELETE")
    assert [it.name for it in elsewhere.iterdir()] == ["precious"]
    assert (elsewhere / "precious").read_text() == "precious"


@pytest.mark.parametrize("name", ["", "tables.sqlite", "objects", "cursor-secret"])
@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_belongs_to_another_user_is_refused(tmp_path, name):
    data = tmp_path / "data"
    with Stack("--data-dir", data):
        pass
    os.chown(data / name, 12_345, 12_345)
    refused = run(["up", "--port", "0", "--data-dir", data], clean_environment(tmp_path))
    assert refused.returncode == 2 and "belongs to another user" in refused.stderr, refused.stderr


def test_objects_whose_keys_differ_in_capitals_are_two(tmp_path):
    keys = ("events/Acme/1", "events/acme/1", "events/ACME/1", "events/acme/A", "events/acme/a")
    with Stack("--data-dir", tmp_path / "data") as stack:
        for key in keys:
            assert s3(stack, key, "PUT", key.encode())[0] == 200
        stack.kill()
        with Stack("--data-dir", tmp_path / "data") as again:
            for key in keys:
                assert s3(again, key) == (200, key.encode())
    names = [str(file.relative_to(tmp_path)) for file in (tmp_path / "data/objects").rglob("*")]
    assert len({name.lower() for name in names}) == len(names)


def found(data, secrets):
    """Files with one of these texts."""
    files = [file for file in data.rglob("*") if file.is_file()]
    return sorted(f"{file.name}: {secret}" for file in files for secret in secrets if secret.encode() in file.read_bytes())


def test_what_was_erased_is_in_no_file(tmp_path):
    data = tmp_path / "data"
    secrets = [f"secret-{name}-{unique('x')}" for name in ("activity", "edited", "profile", "said", "event", "customer")]
    activity, edited, profile, said, event, customer = secrets
    now = "2020-01-01T11:00:00Z"
    with Stack("--data-dir", data, *SETTINGS) as stack:
        stack.send(
            *(follow(f"fan-{n}", "eve", now) for n in range(30)),
            *(publish("eve", f"e{n}", now, payload={"t": activity + "y" * 500}) for n in range(40)),
            *(publish("anna", f"a{n}", now, payload={"t": "z" * 900}) for n in range(40)),
            *(like("eve", f"a{n}", now) for n in range(40)),
            {"type": "activity.updated", "activity_id": "e1", "actor_id": "eve", "at": "2020-01-01T11:30:00Z", "payload": edited},
            {"type": "profile.updated", "viewer_id": "eve", "at": now, "payload": profile},
            {"type": "message.posted", "room_id": "r", "message_id": "m", "author_id": "eve", "at": now, "payload": said},
            {"type": "event.recorded", "tenant_id": "t", "customer_id": "c", "event_id": "e", "name": "n", "at": now, "properties": event},
            {"type": "customer.updated", "tenant_id": "t", "customer_id": "c", "at": now, "payload": customer},
        )
        stack.drain()
        assert {text.split(": ")[1] for text in found(data, secrets)} == set(secrets), "the test looks where they are"
        stack.cli("forget", "eve")
        stack.cli("forget", "--tenant", "t", "--customer", "c")
        assert found(data, secrets) == []
        stack.kill()
        with Stack("--data-dir", data) as again:
            assert found(data, secrets) == []
            assert len(again.page("fan-1", limit=5)["items"]) == 0
        assert found(data, secrets) == []

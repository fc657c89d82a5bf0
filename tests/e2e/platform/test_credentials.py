"""Credentials as people have them: a program of the profile makes them."""

import http.server
import subprocess
import threading

import pytest

from conftest import NAGARE, clean_environment


# Which stack it is, but for what is secret.
NAMED = {
    "NAGARE_DEAD_LETTERS_TABLE": "nagare-dead-letters", "NAGARE_LEDGER_TABLE": "nagare-ledger",
    "NAGARE_QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/123456789012/q",
}


@pytest.fixture
def tables():
    """Tables that have nothing, and note who signs."""
    signed = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            signed.append(self.headers["Authorization"])
            body = b'{"Items":[],"Count":0,"ScannedCount":0}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", signed
        server.shutdown()


def test_a_program_of_the_profile_makes_the_credentials(tables, tmp_path):
    """As `credential_process = aws configure export-credentials …` does."""
    url, signed = tables
    program = tmp_path / "make credentials"
    program.write_text(
        """#!/bin/sh\necho '{"Version":1,"AccessKeyId":"MADE'$1'","SecretAccessKey":"s","SessionToken":"t","Expiration":"2099-01-01T00:00:00Z"}'\n"""
    )
    program.chmod(0o700)
    config = tmp_path / "config"
    config.write_text(f'[profile made]\nregion = eu-west-1\ncredential_process = "{program}" BYAPROGRAM\n')
    env = clean_environment(str(tmp_path)) | NAMED
    env |= {"AWS_CONFIG_FILE": str(config), "AWS_PROFILE": "made", "AWS_ENDPOINT_URL_DYNAMODB": url, "AWS_EC2_METADATA_DISABLED": "true"}
    done = subprocess.run([NAGARE, "dead-letters", "list"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert signed and all("Credential=MADEBYAPROGRAM/" in one for one in signed), signed

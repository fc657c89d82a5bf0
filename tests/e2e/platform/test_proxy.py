"""A proxy between the command line and AWS."""

import socketserver
import subprocess
import threading

import pytest

from conftest import NAGARE, clean_environment, until

# Of a stack on AWS; nothing is ever sent there, since the proxy of these tests says no.
REMOTE = {
    "NAGARE_API_URL": "https://api.nagare.example",
    "NAGARE_QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/123456789012/nagare-commands",
    "NAGARE_DEAD_LETTER_QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/123456789012/nagare-dead-letters",
    "NAGARE_TIMELINES_TABLE": "t", "NAGARE_LEDGER_TABLE": "l", "NAGARE_FACTS_TABLE": "f", "NAGARE_VIEWS_TABLE": "v",
    "NAGARE_DEAD_LETTERS_TABLE": "d",
    "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret",
}


class Proxy(socketserver.ThreadingTCPServer):
    """Notes where it is asked to connect to, and connects to nothing."""

    allow_reuse_address, daemon_threads = True, True

    def __init__(self):
        self.asked = []
        super().__init__(("127.0.0.1", 0), self.handler())
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def handler(self):
        asked = self.asked

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                asked.append(self.rfile.readline().decode().strip())
                self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

        return Handler


@pytest.fixture
def proxy():
    with Proxy() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "https_proxy"])
@pytest.mark.parametrize("args, host", [
    (["timeline", "bob"], "api.nagare.example:443"),
    (["dead-letters", "list"], "dynamodb.eu-west-1.amazonaws.com:443"),
    (["follow", "bob", "anna"], "sqs.eu-west-1.amazonaws.com:443"),
])
def test_a_remote_stack_is_reached_by_the_proxy(proxy, tmp_path, name, args, host):
    env = clean_environment(str(tmp_path)) | REMOTE | {name: proxy.url}
    with subprocess.Popen([NAGARE, *args], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            until(lambda: proxy.asked, "a question to the proxy")
        finally:
            process.kill()
    assert proxy.asked[0] == f"CONNECT {host} HTTP/1.1"


def test_what_is_named_is_reached_without(proxy, tmp_path):
    env = clean_environment(str(tmp_path)) | REMOTE | {"HTTPS_PROXY": proxy.url, "NO_PROXY": "nagare.example"}
    done = subprocess.run([NAGARE, "timeline", "bob"], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3 and not proxy.asked, done.stderr


def test_this_machine_is_never_reached_by_a_proxy(stack, proxy):
    everything = {name: proxy.url for name in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy")}
    kept, stack.env = stack.env, stack.env | everything
    try:
        stack.cli("follow", "proxied", "anna", "--wait")
        stack.cli("timeline", "proxied")
        stack.cli("dead-letters", "list")
        # Nor if it is spoken to in TLS, which it is not.
        stack.env |= {"NAGARE_API_URL": stack.exports["NAGARE_API_URL"].replace("http://", "https://")}
        stack.cli("timeline", "proxied", code=3)
    finally:
        stack.env = kept
    assert not proxy.asked


def test_a_proxy_that_is_none_is_named(tmp_path):
    env = clean_environment(str(tmp_path)) | REMOTE | {"HTTPS_PROXY": "ftp://user:password@proxy"}
    for args in (["timeline", "bob"], ["dead-letters", "list"]):
        done = subprocess.run([NAGARE, *args], env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 2 and "HTTPS_PROXY" in done.stderr and "password" not in done.stderr, done.stderr


def test_a_machine_without_root_certificates_reaches_the_local_stack(stack):
    kept, stack.env = stack.env, stack.env | {"SSL_CERT_FILE": "/dev/null", "SSL_CERT_DIR": "/dev/null"}
    try:
        stack.cli("follow", "uncertain", "anna", "--wait")
        stack.cli("timeline", "uncertain")
        stack.cli("status")
    finally:
        stack.env = kept

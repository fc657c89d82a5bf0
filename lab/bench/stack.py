"""A `nagare up` for benchmarks: started with options, sent commands, asked pages, and stopped."""

import http.client
import json
import os
import subprocess
import time
import urllib.parse
import urllib.request
from contextlib import contextmanager

import bench

# How long what was sent may take.
PATIENCE = 1_800


class Stack:
    """A stack that is ready."""

    def __init__(self, *options):
        self.process, self.exports = bench.up(*options)

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def run(self, *arguments, input=None):
        """The exit code of a command, what it prints, and what it says."""
        run = subprocess.run([bench.NAGARE, *map(str, arguments)], env=dict(os.environ) | self.exports, input=input, capture_output=True, text=True)
        return run.returncode, run.stdout, run.stderr

    def nagare(self, *arguments, input=None):
        """What a command prints that has to succeed."""
        code, printed, said = self.run(*arguments, input=input)
        if code:
            raise SystemExit(f"nagare {' '.join(map(str, arguments))}: {said.strip()}")
        return printed

    def call(self, endpoint, target, body):
        headers = {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.0",
                   "Authorization": "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/sqs/aws4_request,"
                                    " SignedHeaders=host, Signature=00"}
        request = urllib.request.Request(endpoint, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)

    def sqs(self, operation, queue="NAGARE_QUEUE_URL", **body):
        endpoint = self.exports["AWS_ENDPOINT_URL_SQS"]
        return self.call(endpoint, f"AmazonSQS.{operation}", {"QueueUrl": self.exports[queue]} | body)

    def send(self, commands, group=None):
        """Sends commands, ten a call, in a group if one is named."""
        commands, grouped = list(commands), {"MessageGroupId": group} if group else {}
        for start in range(0, len(commands), 10):
            entries = [{"Id": str(n), "MessageBody": json.dumps(one)} | grouped
                       for n, one in enumerate(commands[start:start + 10])]
            answer = self.sqs("SendMessageBatch", Entries=entries)
            if answer.get("Failed"):
                raise SystemExit(f"not sent: {answer['Failed']}")

    def drain(self, but=0):
        """Waits until all that was sent is in effect, except for N that others go on sending, and nothing has become a dead letter."""
        counts = [f"ApproximateNumberOfMessages{which}" for which in ("", "NotVisible", "Delayed")]
        end = time.monotonic() + PATIENCE
        while True:
            waiting = self.sqs("GetQueueAttributes", AttributeNames=counts)["Attributes"]
            if sum(map(int, waiting.values())) <= but:
                break
            if time.monotonic() > end:
                raise SystemExit("the queue is not worked off")
            time.sleep(0.05)
        if dead := self.nagare("dead-letters", "list", "--json"):
            raise SystemExit(f"dead letters: {dead}")

    def apply(self, commands):
        self.send(commands)
        self.drain()

    def get(self, target):
        """A page: its status, its body, and the milliseconds that it took."""
        url = urllib.parse.urlsplit(self.exports["NAGARE_API_URL"])
        connection = http.client.HTTPConnection(url.hostname, url.port, timeout=60)
        begun = time.perf_counter()
        connection.request("GET", target)
        answer = connection.getresponse()
        body = answer.read()
        took = (time.perf_counter() - begun) * 1_000
        connection.close()
        return answer.status, body, took

    def page(self, target):
        """The body of a page that has to be there, and the milliseconds that it took."""
        status, body, took = self.get(target)
        if status != 200:
            raise SystemExit(f"{target}: {status} after {took:.0f} ms: {body.decode()}")
        return json.loads(body), took


@contextmanager
def running(*options):
    """A stack for as long as the block lasts."""
    stack = Stack(*options)
    try:
        yield stack
    finally:
        stack.stop()

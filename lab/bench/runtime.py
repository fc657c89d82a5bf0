"""An imitation of what is around a function on Lambda, as far as a benchmark needs it: the runtime API
that gives it events, and a queue whose messages come back as events.
"""

import hashlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# What the template gives the functions, and what Lambda does.
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_REGION": "us-east-1",
    "AWS_LAMBDA_FUNCTION_NAME": "function",
    "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "256",
    "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
    "AWS_LAMBDA_LOG_GROUP_NAME": "group",
    "AWS_LAMBDA_LOG_STREAM_NAME": "stream",
    "NAGARE_TIMELINES_TABLE": "nagare-timelines",
    "NAGARE_LEDGER_TABLE": "nagare-ledger",
    "NAGARE_FACTS_TABLE": "nagare-facts",
    "NAGARE_VIEWS_TABLE": "nagare-views",
    "NAGARE_DEAD_LETTERS_TABLE": "nagare-dead-letters",
    "NAGARE_QUEUE_URL": "http://127.0.0.1/000000000000/commands",
    "NAGARE_QUEUE_ARN": "arn:aws:sqs:us-east-1:000000000000:commands",
    "NAGARE_DEAD_LETTER_QUEUE_URL": "http://127.0.0.1/000000000000/dead-letters",
    "NAGARE_CURSOR_SECRET": "0123456789abcdef0123456789abcdef",
    "NAGARE_INTERNAL_SECRET": "0123456789abcdef0123456789abcdef",
    "NAGARE_EVENTS_TABLE_PREFIX": "nagare-events-",
    "NAGARE_ARCHIVE_BUCKET": "nagare-archive",
    "NAGARE_STREAM_MAPPING": '{"FunctionName": "history-projector"}',
}
TIMEOUT = 60


class Runtime:
    """Runs a program as a function, for as long as the block lasts."""

    def __init__(self, program, environment, as_event=None, sqs=None):
        """`sqs` is the address of other queues than this one."""
        self.as_event = as_event or event
        self.events, self.answers = queue.Queue(), queue.Queue()
        self.sent, self.usage = 0, None
        self.server = Server(("127.0.0.1", 0), type("Handler", (Handler,), {"runtime": self}))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        address = "{}:{}".format(*self.server.server_address)
        environment = ENVIRONMENT | environment
        environment |= {"AWS_LAMBDA_RUNTIME_API": address, "AWS_ENDPOINT_URL_SQS": sqs or f"http://{address}"}
        self.process = subprocess.Popen([program], env=environment, stdout=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self.server.shutdown()
        self.server.server_close()

    def send(self, body):
        """Puts a message on the queue."""
        self.sent += 1
        self.events.put(body)

    def work_off(self):
        """Waits until every message, and what the function sent because of it, is done."""
        done = 0
        while True:
            answer = self.answers.get(timeout=10 * TIMEOUT)
            if answer.get("batchItemFailures") != []:
                raise SystemExit(f"the function answered {answer}")
            done += 1
            # What an invocation sends, it sends before it answers.
            if done == self.sent:
                return done

    def stop(self):
        """Ends the program; what it used."""
        if self.usage is None:
            self.process.kill()
            _, _, self.usage = os.wait4(self.process.pid, 0)
            self.process.returncode = 0
        return self.usage


class Server(ThreadingHTTPServer):
    """Does not mind that a program that is ended does not say goodbye."""

    daemon_threads = True

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Both protocols, told apart by their paths and headers."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = self.runtime.events.get()
        self.answer(self.runtime.as_event(body), {
            "Lambda-Runtime-Aws-Request-Id": str(uuid.uuid4()),
            "Lambda-Runtime-Deadline-Ms": str(int((time.time() + TIMEOUT) * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:000000000000:function:function",
        })

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        operation = self.headers.get("x-amz-target", "").removeprefix("AmazonSQS.")
        if operation == "SendMessageBatch":
            self.answer({"Successful": [self.taken(entry) | {"Id": entry["Id"]} for entry in body["Entries"]]})
        elif operation == "SendMessage":
            self.answer(self.taken(body))
        else:
            self.runtime.answers.put(body)
            self.answer({"status": "OK"}, status=202)

    def taken(self, message):
        """Takes a message in."""
        self.runtime.send(message["MessageBody"])
        digest = hashlib.md5(message["MessageBody"].encode()).hexdigest()
        return {"MessageId": str(uuid.uuid4()), "MD5OfMessageBody": digest}

    def answer(self, body, headers=None, status=200):
        text = json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def event(body):
    """A batch of one message, as SQS delivers it."""
    return {"Records": [{
        "messageId": str(uuid.uuid4()),
        "receiptHandle": "receipt",
        "body": body,
        "attributes": {"ApproximateReceiveCount": "1", "SentTimestamp": str(int(time.time() * 1000))},
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:commands",
        "awsRegion": "us-east-1",
    }]}

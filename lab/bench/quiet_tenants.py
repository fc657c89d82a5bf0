"""How long the events of quiet tenants take to be seen while another tenant sends nine tenths of all.

    python lab/bench/quiet_tenants.py                        # 400 events a second in all
    python lab/bench/quiet_tenants.py --faults slow=10ms
    python lab/bench/quiet_tenants.py --without-groups       # commands on the queue, without `MessageGroupId`

Runs the local stack. Nine tenants send a tenth of all events to `POST /v1/tenants/{tenant_id}/events`: each sends a request after
equal times, whether the ones before are over or not. They do so alone, and then beside a tenth tenant who sends the other nine tenths,
in turns. Then that tenant sends very many events at once, and goes on as before. No tenant has a rate limit
(`TenantEventsPerSecond` is 0 on a local stack).

Of each request of a quiet tenant one event is looked at, the only one of a customer: when the request is answered, when a list of events
has it, and when its customer's summary does. Times count from when the request was due, and are up to a tenth too long, which is how
often an event is looked for. In the end each tenant has all events that were sent, once, and there is no dead letter. Exit code 1 where a
list or a summary has a p99 beside the busy tenant of more than twice the one without.
"""

import argparse
import asyncio
import json
import os
import subprocess
import time
import urllib.parse

import bench

QUIET = [f"quiet-{n}" for n in range(9)]
BUSY = "busy"
CUSTOMERS = 500
# Seconds after which a connection is not used again.
IDLE = 10
PATIENCE = 600
# Seconds between two looks at an event, at least.
LOOK = 0.005
MEASURED = ("answer", "list", "summary")


class Api:
    """The API over connections that are kept open."""

    def __init__(self, url):
        where = urllib.parse.urlsplit(url)
        self.host, self.port, self.open = where.hostname, where.port, []

    async def connection(self):
        """One that was used lately, or a new one. The stack ends those that are idle."""
        while self.open:
            reader, writer, used = self.open.pop()
            if time.monotonic() - used < IDLE:
                return reader, writer
            writer.close()
        return await asyncio.open_connection(self.host, self.port)

    async def request(self, method, target, body=b"", headers=""):
        reader, writer = await self.connection()
        head = f"{method} {target} HTTP/1.1\r\nhost: {self.host}:{self.port}\r\n{headers}content-length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        length = next(int(line.split(":")[1]) for line in lines if line.startswith("content-length:"))
        answer = await reader.readexactly(length)
        self.open.append((reader, writer, time.monotonic()))
        return int(lines[0].split()[1]), answer

    async def get(self, target):
        status, answer = await self.request("GET", target)
        if status not in (200, 404):
            raise SystemExit(f"{target}: {status}: {answer.decode()}")
        return json.loads(answer) if status == 200 else None


class Load:
    """What tenants send, and how long that took to be seen."""

    def __init__(self, exports, options):
        self.exports, self.options, self.sent = exports, options, dict.fromkeys([*QUIET, BUSY], 0)
        self.api, self.queue = Api(exports["NAGARE_API_URL"]), Api(exports["AWS_ENDPOINT_URL_SQS"])

    def events(self, tenant, number):
        """The next events of a tenant. The first is the only one of its customer."""
        first = self.sent[tenant]
        self.sent[tenant] += number
        at, properties = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), {"text": "x" * 100}
        customers = [f"only-{first}", *(f"c-{n % CUSTOMERS}" for n in range(first + 1, first + number))]
        return [{"customer_id": customer, "event_id": f"e-{first + n}", "name": f"name-{n % 7}", "at": at, "properties": properties}
                for n, customer in enumerate(customers)]

    async def post(self, tenant, number):
        """Sends events; returns the customer of the first."""
        events = self.events(tenant, number)
        if self.options.without_groups:
            await self.enqueue(tenant, events)
        else:
            headers, body = "content-type: application/json\r\n", json.dumps({"events": events}).encode()
            status, answer = await self.api.request("POST", f"/v1/tenants/{tenant}/events", body, headers)
            if status != 202:
                raise SystemExit(f"{tenant} was answered {status}: {answer.decode()}")
        return events[0]["customer_id"]

    async def enqueue(self, tenant, events):
        headers = "content-type: application/x-amz-json-1.0\r\nx-amz-target: AmazonSQS.SendMessageBatch\r\n"
        events = [one | {"tenant_id": tenant} for one in events]
        commands = [{"type": "events.recorded", "events": events[start:start + 100]} for start in range(0, len(events), 100)]
        entries = [{"Id": str(n), "MessageBody": json.dumps(one)} for n, one in enumerate(commands)]
        body = json.dumps({"QueueUrl": self.exports["NAGARE_QUEUE_URL"], "Entries": entries}).encode()
        status, answer = await self.queue.request("POST", "/", body, headers)
        if status != 200 or json.loads(answer).get("Failed"):
            raise SystemExit(f"not sent: {status}: {answer.decode()}")

    async def watched(self, tenant, number, due):
        """Sends events, and looks for the first of them. Milliseconds from when they were due."""
        customer = f"/v1/tenants/{tenant}/customers/{await self.post(tenant, number)}"
        took = {"answer": (time.monotonic() - due) * 1_000}
        shows = (lambda found: found["items"], lambda found: found["events"] == 1)
        for what, target, is_shown in zip(MEASURED[1:], (f"{customer}/events?limit=1", customer), shows):
            while not ((found := await self.api.get(target)) and is_shown(found)):
                waited = time.monotonic() - due
                if waited > PATIENCE:
                    raise SystemExit(f"{customer} is not in its {what}")
                await asyncio.sleep(max(LOOK, waited / 10))
            took[what] = (time.monotonic() - due) * 1_000
        return took

    async def steadily(self, tenant, rate, number, send, go_on):
        """Sends a request of N events after equal times. Returns what became of each."""
        begun, running, every = time.monotonic(), [], number / rate
        # Not all tenants at the same instant.
        due = begun + every * ([*QUIET, BUSY].index(tenant) / 10)
        while go_on(due):
            await asyncio.sleep(max(0, due - time.monotonic()))
            running.append(asyncio.ensure_future(send(tenant, number, due)))
            due += every
        return await asyncio.gather(*running)

    async def quiet(self, go_on):
        """All quiet tenants at their rates, for so long."""
        rate = self.options.rate / 10 / len(QUIET)
        each = [self.steadily(tenant, rate, self.options.each, self.watched, go_on) for tenant in QUIET]
        return [one for of_tenant in await asyncio.gather(*each) for one in of_tenant]

    async def busy(self, go_on):
        send = lambda tenant, number, _: self.post(tenant, number)
        await self.steadily(BUSY, self.options.rate * 0.9, self.options.busy_each, send, go_on)

    async def alone(self, seconds):
        return await self.quiet(lasting(seconds))

    async def beside(self, seconds):
        seen, _ = await asyncio.gather(self.quiet(lasting(seconds)), self.busy(lasting(seconds)))
        return seen

    async def backlog(self):
        """A busy tenant who sends very many events at once, and goes on. Until all of them are counted."""
        over, begun = asyncio.Event(), time.monotonic()
        go_on = lambda _: not over.is_set()

        async def dump():
            lanes, each = 8, 500
            async def lane(nth):
                for _ in range(nth, self.options.backlog // each, lanes):
                    await self.post(BUSY, each)
            await asyncio.gather(*map(lane, range(lanes)))
            sent = self.sent[BUSY]
            bench.note(f"{self.options.backlog:,} events are on the queue after {time.monotonic() - begun:.1f} s")
            while await self.counted(BUSY) < sent:
                await asyncio.sleep(1)
            over.set()

        seen, _, _ = await asyncio.gather(self.quiet(go_on), self.busy(go_on), dump())
        return seen, time.monotonic() - begun

    async def counted(self, tenant):
        """How many events a tenant has, as the names count them."""
        names = await self.api.get(f"/v1/tenants/{tenant}/names?limit=100")
        return sum(one["count"] for one in names["items"])

    async def settled(self):
        """Waits until each tenant has what it has sent."""
        end = time.monotonic() + PATIENCE
        for tenant, sent in self.sent.items():
            while sent and (found := await self.counted(tenant)) != sent:
                if time.monotonic() > end or found > sent:
                    raise SystemExit(f"{tenant} has sent {sent} events and has {found}")
                await asyncio.sleep(0.2)
        command = [bench.NAGARE, "dead-letters", "list", "--json"]
        if dead := subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | self.exports).stdout:
            raise SystemExit(f"dead letters: {dead[:400]}")


def lasting(seconds):
    end = time.monotonic() + seconds
    return lambda due: due < end


async def measure(exports, options):
    load, found = Load(exports, options), {"alone": [], "beside": []}
    await load.beside(5)
    for turn in range(options.turns):
        for name in found:
            await load.settled()
            bench.note(f"{name}, turn {turn + 1} of {options.turns}")
            found[name] += await getattr(load, name)(options.seconds)
    await load.settled()
    if options.backlog:
        bench.note(f"beside {options.backlog:,} events at once")
        found["backlog"], seconds = await load.backlog()
        bench.note(f"all of them are counted after {seconds:.1f} s")
        await load.settled()
    print(f"{sum(load.sent.values()):,} events sent, all of them once in the end")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=int, default=400, help="events a second of all ten tenants")
    parser.add_argument("--seconds", type=int, default=60, help="of each turn")
    parser.add_argument("--turns", type=int, default=2, help="of the quiet tenants alone, and beside the busy one")
    parser.add_argument("--each", type=int, default=10, help="events of a request of a quiet tenant")
    parser.add_argument("--busy-each", type=int, default=50, help="events of a request of the busy one")
    parser.add_argument("--backlog", type=int, default=100_000, help="events that the busy tenant sends at once; 0: none")
    parser.add_argument("--without-groups", action="store_true", help="send commands to the queue, without `MessageGroupId`")
    parser.add_argument("--faults", help="of the stack")
    parser.add_argument("--json", metavar="FILE", help="write everything that was measured there")
    options = parser.parse_args()
    process, exports = bench.up(*([f"--faults={options.faults}"] if options.faults else []))
    try:
        found = asyncio.run(measure(exports, options))
    finally:
        process.terminate()
        process.wait()
    print(f"{options.rate:,} events a second, {options.faults or 'no faults'}; milliseconds until an event of a quiet tenant is seen")
    rows, late = [], []
    for what in MEASURED:
        p99 = {name: bench.percentile([one[what] for one in of], 99) for name, of in found.items()}
        for name, of in found.items():
            took, ratio = [one[what] for one in of], p99[name] / p99["alone"]
            rows.append([what, name, len(took), *(f"{bench.percentile(took, part):.0f}" for part in (50, 99, 100)), f"{ratio:.2f}"])
            late += [what] if ratio > 2 and name == "beside" and what != "answer" else []
    bench.show(["in the", "", "events", "p50", "p99", "max", "p99 against alone"], rows)
    bench.save(options.json, found)
    if late:
        raise SystemExit(f"more than twice beside the busy tenant: {', '.join(late)}")


if __name__ == "__main__":
    main()

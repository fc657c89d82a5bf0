"""Twice as many requests as the API can answer, for a while: 429 with Retry-After, and nothing worse.

The tables take up to a second for each call, as far-off ones would, so that what bounds the API is
how many requests it lets in at once, and not the machine that asks.

    NAGARE_OVERLOAD=10000 python -m pytest tests/e2e/platform/test_overload.py -rP      with this many requests
"""

import asyncio
import collections
import os
import time
import urllib.parse
from pathlib import Path

from conftest import Stack, follow, instant, publish

OFFERED = int(os.environ.get("NAGARE_OVERLOAD", "2000"))
IN_FLIGHT = 256
"""Requests that the local API works on at once."""


class Api:
    def __init__(self, stack):
        url = urllib.parse.urlsplit(stack.exports["NAGARE_API_URL"])
        self.host, self.port = url.hostname, url.port

    async def get(self):
        """The answer's status, and whether it says when to come back."""
        reader, writer = await asyncio.open_connection(self.host, self.port)
        try:
            writer.write(b"GET /v1/timelines/bob HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            head = (await reader.read()).partition(b"\r\n\r\n")[0].lower()
            return int(head.split()[1]), b"\r\nretry-after: " in head
        finally:
            writer.close()

    async def as_many_as_it_takes(self, rounds):
        """So many callers that each has a place, one request after the other; answers, and how many a second
        there were while all of them were at it."""
        answers, left, start = collections.Counter(), iter(range(rounds * IN_FLIGHT)), time.monotonic()
        end = start

        async def caller():
            nonlocal end
            for _ in left:
                end = time.monotonic()
                answers[await self.get()] += 1

        await asyncio.gather(*(caller() for _ in range(IN_FLIGHT)))
        return answers, (rounds - 1) * IN_FLIGHT / (end - start)

    async def at_a_rate(self, rate, requests):
        """Requests that do not wait for the answers of others; answers, and how many a second are pages."""
        start = time.monotonic()
        calls = []
        for n in range(requests):
            await asyncio.sleep(start + n / rate - time.monotonic())
            calls.append(asyncio.create_task(self.get()))
        answers = collections.Counter(await asyncio.gather(*calls))
        return answers, answers[200, False] / (time.monotonic() - start)


def memory(stack, name):
    """In MB: what it takes now (VmRSS), or took at most (VmHWM)."""
    lines = Path(f"/proc/{stack.process.pid}/status").read_text().splitlines()
    [kilobytes] = [line.split()[1] for line in lines if line.startswith(name)]
    return int(kilobytes) // 1024


def test_twice_as_many_requests_as_it_can_answer():
    with Stack("--faults=slow=1000ms,seed=3") as stack:
        stack.send(follow("bob", "anna"), *(publish("anna", f"a{n}", instant(minutes=-n)) for n in range(20)))
        stack.drain()
        api = Api(stack)
        before, capacity = asyncio.run(api.as_many_as_it_takes(4))
        idle = memory(stack, "VmRSS")
        # A machine that was busy while its capacity was measured may be able to do more by now.
        for rate in (2 * capacity * 2**n for n in range(5)):
            during, served = asyncio.run(api.at_a_rate(rate, OFFERED))
            if during[429, True]:
                break
        peak = memory(stack, "VmHWM")
        after, recovered = asyncio.run(api.as_many_as_it_takes(4))
        shown = {status: count for (status, _), count in sorted(during.items())}
        print(
            f"capacity {capacity:.0f} requests/s; {OFFERED} offered at {rate:.0f}/s: {shown}, all 429 with Retry-After, "
            f"{served:.0f} served/s; memory {idle} MB before, {peak} MB at most; afterwards {recovered:.0f} served/s, {dict(after)}"
        )
        # A busy machine may need longer than the reader's patience: 503, with Retry-After as well.
        assert all(told == (status != 200) and status in (200, 429, 503) for status, told in before + during + after)
        assert before[200, False] and during[429, True] and after[200, False]
        assert peak < idle + 200

"""What a thousand viewers who poll one battle and one room cost a stack, with a cache in front and without.

    python lab/bench/pollers.py [--pollers 1000] [--seconds 20] [--every 1]

Two stacks run in turns, one as it is by default and one with `--public-cache 1`. In front of both stands the same small
cache, which follows RFC 9111 (tests/e2e/shared_cache.py) and asks once for what several ask for at the same moment, so that
only the headers make the difference. Each poller asks as an app does: the battle, then the
room with the `newer_cursor` it was given. Meanwhile somebody hits and talks, ten times a second.

Printed for each: requests of the pollers, how many of them reached the stack, and how long answers took.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse

import bench

sys.path.insert(0, str(bench.ROOT / "tests" / "e2e"))
from shared_cache import Fields, SharedCache  # noqa: E402

# Connections from the cache to the stack.
UPSTREAM = 64


class Cache:
    """A shared cache in front of one API."""

    def __init__(self, api):
        url = urllib.parse.urlsplit(api)
        self.host, self.port = url.hostname, url.port
        self.kept, self.asking = SharedCache(), {}
        self.idle, self.room = [], asyncio.Semaphore(UPSTREAM)
        self.asked = self.reached = self.refused = 0

    async def get(self, target):
        self.asked += 1
        if answer := self.kept.found(target, time.time()):
            return answer
        if waiting := self.asking.get(target):
            # Several requests are one, as long as its answer may be reused.
            await asyncio.shield(waiting)
            return self.kept.found(target, time.time()) or await self.fetch(target)
        asking = self.asking[target] = asyncio.ensure_future(self.fetch(target))
        try:
            return await asyncio.shield(asking)
        finally:
            del self.asking[target]

    async def fetch(self, target):
        """Asks the stack."""
        async with self.room:
            self.reached += 1
            asked_at = time.time()
            reader, writer = self.idle.pop() if self.idle else await asyncio.open_connection(self.host, self.port)
            writer.write(f"GET {target} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\n\r\n".encode())
            first, *head = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
            lines = [line.split(":", 1) for line in head if line]
            [length] = Fields(lines).values("content-length")
            body = await reader.readexactly(int(length))
            self.idle.append((reader, writer))
        status = int(first.split(" ", 2)[1])
        self.refused += status in (429, 503)
        answer = status, json.loads(body)
        self.kept.keep(target, status, lines, answer, asked_at, time.time())
        return answer


async def poller(cache, end, every, latencies):
    # Not all at the same moment.
    await asyncio.sleep(every * (hash(object()) % 1000) / 1000)
    newer = None
    while time.monotonic() < end:
        begun = time.monotonic()
        room = "/v1/rooms/lobby/messages" + (f"?cursor={newer}" if newer else "")
        for target in ("/v1/battles/dragon", room):
            asked = time.monotonic()
            status, answer = await cache.get(target)
            latencies.append(time.monotonic() - asked)
            if status == 200 and "newer_cursor" in answer:
                newer = answer["newer_cursor"]
        await asyncio.sleep(max(0, every - (time.monotonic() - begun)))


async def play(env, end):
    """Somebody hits and talks, ten times a second, by one process that reads commands as they come."""
    number = 0
    while time.monotonic() < end:
        lines = []
        for _ in range(10):
            number += 1
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            lines.append({"type": "battle.hit", "battle_id": "dragon", "hit_id": f"h{number}", "viewer_id": "eve", "damage": 1, "at": at})
            lines.append({"type": "message.posted", "room_id": "lobby", "message_id": f"m{number}", "author_id": "eve", "at": at, "payload": {"text": "hi"}})
        text = "".join(json.dumps(line) + "\n" for line in lines)
        sending = await asyncio.create_subprocess_exec(
            bench.NAGARE, "publish", "--file", "-", env=env, stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        await sending.communicate(text.encode())
        await asyncio.sleep(1)


def nagare(env, *args):
    return subprocess.run([bench.NAGARE, *map(str, args)], env=env, check=True, capture_output=True, text=True).stdout


def measured(options, seconds):
    """One stack with this option, and what the pollers saw of it."""
    with tempfile.TemporaryDirectory() as home:
        env = {"PATH": os.environ["PATH"], "HOME": home, "XDG_STATE_HOME": f"{home}/state"}
        nagare(env, "up", "--port", 0, "--detach", *seconds)
        try:
            api = json.loads(nagare(env, "env", "--json"))["NAGARE_API_URL"]
            nagare(env, "battle", "open", "dragon", "--actor", "anna", "--hp", 10**9, "--wait")
            nagare(env, "say", "lobby", "anna", "welcome", "--wait")
            return asyncio.run(poll(api, env, options))
        finally:
            nagare(env, "down")


async def poll(api, env, options):
    cache, latencies = Cache(api), []
    end = time.monotonic() + options.seconds
    pollers = [poller(cache, end, options.every, latencies) for _ in range(options.pollers)]
    await asyncio.gather(play(env, end), *pollers)
    for _, writer in cache.idle:
        writer.close()
    latencies.sort()
    of = lambda share: latencies[int(share * (len(latencies) - 1))] * 1000
    return {"asked": cache.asked, "reached": cache.reached, "refused": cache.refused, "p50_ms": of(0.5), "p99_ms": of(0.99),
            "mean_ms": statistics.mean(latencies) * 1000}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pollers", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--every", type=float, default=1, help="seconds between two polls")
    options = parser.parse_args()
    print("| | requests | reached the stack | refused (429, 503) | p50 | p99 |\n|---|---|---|---|---|---|")
    for name, given in (("default", ()), ("`PublicCacheSeconds=1`", ("--public-cache", 1))):
        found = measured(options, given)
        print(f"| {name} | {found['asked']:,} | {found['reached']:,} | {found['refused']:,} | {found['p50_ms']:.1f} ms | {found['p99_ms']:.0f} ms |")


if __name__ == "__main__":
    main()

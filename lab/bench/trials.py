"""Full-size trials: pages in the worst moments, at the size that the bounds of docs/LIMITS.md are for.

    python lab/bench/trials.py                # all of them, some twenty minutes
    python lab/bench/trials.py deleted likes

left: somebody leaves an actor with 30,000 activities on their timeline, where a partition writes 1,000 and reads 3,000 units a
second, and reads pages from that moment on. deleted: 10,000 messages are posted in a room and deleted, where calls take up to 8 ms,
and the room is read. likes: a viewer likes 20,000 activities that nobody knows, and pages of their likes are read. repeated: somebody follows
an actor with 3,000 activities, says so 20,000 times more, and leaves and says that as often, while others follow somebody. Each prints its
figures, and fails where a page is not answered, is not what it should be, or takes longer than its bound.
"""

import argparse
import json
import os
import tempfile
import threading
import time
from datetime import datetime, timedelta, timezone

import bench
from stack import running

# Milliseconds: the most for one page.
BOUND = 1_500


def ago(**delta):
    at = datetime.now(timezone.utc) - timedelta(**delta)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"


class Pages:
    """Pages that were read, and how long each took."""

    def __init__(self, stack):
        self.stack, self.took = stack, []

    def read(self, target):
        page, took = self.stack.page(target)
        self.took.append(took)
        return page

    def walk(self, target):
        """All items from here on, along `next_cursor`."""
        path, _, query = target.partition("?")
        beside = "&".join(one for one in query.split("&") if one.startswith(("limit=", "viewer=")))
        items = []
        while True:
            page = self.read(target)
            items += page["items"]
            if page["next_cursor"] is None:
                return items
            target = f"{path}?{beside}{'&' if beside else ''}cursor={page['next_cursor']}"

    def says(self):
        return f"{len(self.took):,} pages, p50 {bench.percentile(self.took, 50):.0f} ms, p99 {bench.percentile(self.took, 99):.0f} ms," \
            f" at most {max(self.took):.0f} ms"


def told(what, pages):
    print(f"{what}: {pages.says()}", flush=True)
    return [what] if max(pages.took) > BOUND else []


def left(size):
    """The pages of who leaves somebody with very many activities."""
    others = [f"c{n:02}" for n in range(30)]
    with tempfile.TemporaryDirectory(prefix="nagare-trials-") as directory, \
            running("--faults=partition-writes=1000,partition-reads=3000,seed=3") as stack:
        stack.apply({"type": "follow.created", "follower_id": "bob", "followee_id": one, "at": ago(days=1)}
                    for one in ("anna", "carl"))
        file = os.path.join(directory, "activities.jsonl")
        with open(file, "w") as lines:
            for n in range(size):
                at = ago(seconds=n / 10)
                lines.write(json.dumps({"type": "activity.published", "activity_id": f"a{n:05}", "actor_id": "anna",
                                        "published_at": at}) + "\n")
            for n, name in enumerate(others):
                at = ago(hours=2, seconds=n)
                lines.write(json.dumps({"type": "activity.published", "activity_id": name, "actor_id": "carl",
                                        "published_at": at}) + "\n")
        stack.nagare("publish", "--file", file)
        stack.drain()
        bench.note(f"{size:,} activities are there")
        begun = time.monotonic()
        stack.send([{"type": "follow.deleted", "follower_id": "bob", "followee_id": "anna", "at": ago()}])
        pages, is_gone, walks, over = Pages(stack), False, 0, threading.Event()
        drained = threading.Thread(target=lambda: (stack.drain(), over.set()))
        drained.start()
        while not over.is_set():
            shown = [one["activity_id"] for one in pages.walk("/v1/timelines/bob?limit=20")] if is_gone else \
                [one["activity_id"] for one in pages.read("/v1/timelines/bob?limit=20")["items"]]
            has_left = not any(one.startswith("a") for one in shown)
            if is_gone and shown != others or has_left and not is_gone and shown != others[:len(shown)]:
                raise SystemExit(f"shown: {shown}")
            is_gone, walks = is_gone or has_left, walks + 1
        drained.join()
        if [one["activity_id"] for one in pages.walk("/v1/timelines/bob?limit=20")] != others:
            raise SystemExit("the rest is not what was left")
        return told(f"left: {size:,} activities gone within {time.monotonic() - begun:.0f} s, {walks} readings", pages)


def deleted(size):
    """The pages of a room of which the newest messages are gone."""
    late, kept = [], ["k2", "k1", "k0"]
    with running("--faults=slow=8ms,seed=4") as stack:
        def posts(names, seconds):
            return ({"type": "message.posted", "room_id": "hall", "message_id": name, "author_id": f"v{n % 40}",
                     "at": ago(seconds=seconds + n / 10)} for n, name in enumerate(names))

        names = [f"m{n:05}" for n in range(size)]
        begun = time.monotonic()
        stack.apply(posts(kept, 20_000))
        stack.apply(posts(names, 0))
        bench.note(f"{size:,} messages are there after {time.monotonic() - begun:.0f} s")
        begun = time.monotonic()
        stack.apply({"type": "message.deleted", "room_id": "hall", "message_id": name, "author_id": f"v{n % 40}"}
                    for n, name in enumerate(names))
        bench.note(f"and gone after {time.monotonic() - begun:.0f} s")
        for limit in (1, 20, 100):
            pages = Pages(stack)
            found = [one["message_id"] for one in pages.walk(f"/v1/rooms/hall/messages?limit={limit}")]
            if sorted(found) != sorted(kept):
                raise SystemExit(f"found {found}")
            late += told(f"deleted: {size:,} messages passed in pages of {limit}", pages)
    return late


def likes(size):
    """The pages of who likes very many activities that nobody knows."""
    known, late = [f"a{n}" for n in range(30)], []
    with running() as stack:
        stack.apply({"type": "activity.published", "activity_id": name, "actor_id": "anna", "published_at": ago(days=1)}
                    for name in known)
        # Those that are known were liked first, and last.
        liked = [*known[:15], *(f"unknown-{n}" for n in range(size)), *known[15:]]
        stack.apply({"type": "like.created", "viewer_id": "bob", "activity_id": name,
                     "at": ago(seconds=len(liked) - n)} for n, name in enumerate(liked))
        bench.note(f"{size:,} likes are there")
        for limit in (20, 100):
            pages = Pages(stack)
            found = [one["activity_id"] for one in pages.walk(f"/v1/viewers/bob/likes?limit={limit}")]
            if found != [*reversed(known[15:]), *reversed(known[:15])]:
                raise SystemExit(f"found {found}")
            late += told(f"likes: {size:,} unknown ones passed in pages of {limit}", pages)
    return late


def repeated(size):
    """The commands and pages of others while one person says the same again and again."""
    late = []
    with running() as stack:
        stack.apply({"type": "activity.published", "activity_id": f"a{n:05}", "actor_id": "anna", "published_at": ago(seconds=n)}
                    for n in range(REPEATED_ACTIVITIES))
        again = {
            "follow": {"type": "follow.created", "follower_id": "bob", "followee_id": "anna", "at": ago()},
            "unfollow": {"type": "follow.deleted", "follower_id": "bob", "followee_id": "anna", "at": ago(seconds=-1)},
        }
        idle = Others(stack, "idle")
        idle.go_on_for(60)
        print(f"repeated: nobody else, {idle.says()}", flush=True)
        for what, command in again.items():
            stack.apply([command])
            others, begun, over = Others(stack, what), time.monotonic(), threading.Event()
            sent = threading.Thread(target=lambda: (stack.send([command] * size, group="bob"), stack.drain(but=1), over.set()))
            sent.start()
            while not over.is_set():
                others.go_on_for(1)
            sent.join()
            print(f"repeated: {what} of {REPEATED_ACTIVITIES:,} activities, {size:,} times in {time.monotonic() - begun:.0f} s,"
                  f" {others.says()}", flush=True)
            late += [f"repeated: {what}"] if bench.percentile(others.took, 99) > BOUND else []
            pages = Pages(stack)
            shown = len(pages.walk("/v1/timelines/bob?limit=100"))
            if shown != (REPEATED_ACTIVITIES if what == "follow" else 0):
                raise SystemExit(f"{shown} are shown")
    return late


class Others:
    """What others say beside: each follows somebody and waits until that is listed."""

    def __init__(self, stack, name):
        self.stack, self.name, self.took = stack, name, []

    def go_on_for(self, times):
        for _ in range(times):
            viewer = f"{self.name}-{len(self.took)}"
            begun = time.perf_counter()
            command = {"type": "follow.created", "follower_id": viewer, "followee_id": "carl", "at": ago()}
            self.stack.send([command], group=viewer)
            while not self.stack.page(f"/v1/viewers/{viewer}/following")[0]["items"]:
                time.sleep(0.01)
            self.took.append((time.perf_counter() - begun) * 1_000)

    def says(self):
        at = [bench.percentile(self.took, part) for part in (50, 99)]
        return f"{len(self.took):,} follows of others: p50 {at[0]:.0f} ms, p99 {at[1]:.0f} ms, at most {max(self.took):.0f} ms"


REPEATED_ACTIVITIES = 3_000
TRIALS = {"left": (left, 30_000), "deleted": (deleted, 10_000), "likes": (likes, 20_000), "repeated": (repeated, 20_000)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trials", nargs="*", metavar="TRIAL", help=f"{', '.join(TRIALS)}; all of them if none is named")
    parser.add_argument("--part", type=float, default=1.0, help="how much of the full size: 0.1 for a look")
    options = parser.parse_args()
    late = []
    for name in options.trials or TRIALS:
        if name not in TRIALS:
            parser.error(f"there is no trial {name}")
        trial, size = TRIALS[name]
        bench.note(name)
        late += trial(int(size * options.part))
    if late:
        raise SystemExit(f"above {BOUND} ms: {'; '.join(late)}")


if __name__ == "__main__":
    main()

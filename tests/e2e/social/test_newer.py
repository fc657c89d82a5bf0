"""A client that polls with `newer_cursor` is shown each activity once, in whatever order they are processed."""

import pytest

from conftest import Stack, during, follow, ids, instant, publish, unfollow

# As it is, tables that answer late, and tables that fail and take few writes.
STACKS = {"as it is": [], "slow tables": ["--faults=slow=40ms,seed=4"], "faults": ["--faults=all=4%,slow=5ms,seed=11"]}
PUBLISHES = 600


@pytest.fixture(params=STACKS.values(), ids=STACKS)
def some_stack(request):
    with Stack(*request.param) as stack:
        yield stack


class Client:
    """A client that begins with a page, and goes on from the latest `newer_cursor`."""

    def __init__(self, stack, viewer, **query):
        page = stack.page(viewer, **query)
        self.stack, self.viewer, self.shown, self.late, self.goes_on = stack, viewer, ids(page), 0, False
        self.cursor, self.newest = page["newer_cursor"], max((one["published_at"] for one in page["items"]), default="")

    def poll(self, **query):
        """What one more page shows; nothing if the reader has the client come back later."""
        answer = self.stack.get(self.viewer, {"cursor": self.cursor, **query})
        if answer.status in (429, 503):
            return None
        assert answer.status == 200 and len(answer.json["newer_cursor"]) <= 512, answer.text
        times = [one["published_at"] for one in answer.json["items"]]
        assert times == sorted(times)
        self.late += sum(at < self.newest for at in times)
        self.newest = max([self.newest, *times])
        self.cursor, self.goes_on = answer.json["newer_cursor"], answer.json["next_cursor"] is not None
        self.shown += answer.activities()
        return answer.activities()

    def until_nothing_comes(self, **query):
        """What arrived while a walk went on may come with the next."""
        self.walk(**query)
        while self.walk(**query):
            pass

    def walk(self, **query):
        """Whether anything came until there was nothing to go on with."""
        came = False
        while (page := self.poll(**query)) is None or page or self.goes_on:
            came |= bool(page)
        return came

    def while_it_polls(self, work, **query):
        """Does some work while this client polls."""
        during(work, lambda: self.poll(**query))
        self.until_nothing_comes(**query)


def once(shown, expected):
    assert len(shown) == len(set(shown)), "some came twice"
    assert set(shown) == set(expected), sorted(set(expected) - set(shown))[:5]


def test_whoever_polls_is_shown_each_once(some_stack):
    """One sender, in the order of `published_at`; what is processed late comes late. One client asks for pages of 20, and one for
    pages of 100."""
    stack = some_stack
    stack.apply(follow("bob", "anna"), publish("anna", "first", instant(minutes=-40)))
    names = [f"a{n:04}" for n in range(PUBLISHES)]
    clients = {limit: Client(stack, "bob") for limit in (20, 100)}

    def work():
        stack.send(*(publish("anna", name, instant(seconds=n - PUBLISHES)) for n, name in enumerate(names)))
        stack.drain(180)

    during(work, lambda: [client.poll(limit=limit) for limit, client in clients.items()])
    for limit, client in clients.items():
        client.until_nothing_comes(limit=limit)
        print(f"{client.late} of {PUBLISHES} came behind what was newest by then, to pages of {limit}")
        once(client.shown, ["first", *names])


def test_a_follow_that_brings_in_very_many(some_stack):
    """A cursor that was taken before it, one that was taken on the way, and one of a page below the first."""
    stack, names = some_stack, [f"a{n:04}" for n in range(1_200)]
    of_carl = [publish("carl", f"c{n}", instant(seconds=-n)) for n in range(30)]
    # Half a second apart from those of carl.
    of_anna = [publish("anna", name, instant(seconds=-n - 0.5)) for n, name in enumerate(names)]
    stack.send(follow("bob", "carl"), *of_carl, *of_anna)
    stack.drain(180)
    client = Client(stack, "bob")
    below = stack.page("bob", cursor=stack.page("bob")["next_cursor"])
    # The client asks for what lies below its first page by itself.
    client.shown += ids(below)
    client.while_it_polls(lambda: stack.apply(follow("bob", "anna"), seconds=180), limit=100)
    # The first page ended with carl's of 19 seconds ago: what lies below it comes with its next_cursor.
    once(client.shown, [*(f"c{n}" for n in range(30)), *names[:19]])

    # The same from a page that ends below all: nothing is left to a next_cursor.
    stack.apply(unfollow("bob", "anna"), seconds=180)
    client = Client(stack, "bob", limit=100)
    client.while_it_polls(lambda: stack.apply(follow("bob", "anna"), seconds=180), limit=100)
    once(client.shown, [*(f"c{n}" for n in range(30)), *names])

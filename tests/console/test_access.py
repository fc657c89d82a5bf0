"""Every view, for every eye: no serious finding of axe-core, light and dark, and nothing to scroll sideways."""

import urllib.parse

import pytest
from conftest import NARROW, TESTS, WIDE, course, e2e, expect, send_raw

AXE = (TESTS.parent / "target/console-axe/node_modules/axe-core/axe.min.js").read_text()
RUN = """async () => (await axe.run()).violations
    .filter(one => ["serious", "critical"].includes(one.impact))
    .map(one => `${one.id}: ${one.nodes.map(node => node.target).join("; ")}`)"""
# A word as long as ids may be, and sentences.
LONG = "i" + "d" * 127
# To those that no link leads to.
TYPED = [f"battle?id={LONG}", f"poll?id={LONG}", f"timeline?viewer={LONG}", f"audit?viewer={LONG}", "nowhere"]


@pytest.fixture(scope="module")
def filled():
    """A stack in which every view has something to show."""
    with e2e.Stack("--sample") as stack:
        stack.apply(
            e2e.follow(LONG, LONG),
            e2e.publish(LONG, LONG, payload={LONG: "word " * 100 + LONG}),
            e2e.open_battle("anna", LONG, 10**15, payload=LONG),
            e2e.hit(LONG, LONG, LONG, 10**9),
            e2e.open_poll("anna", LONG, [LONG[:64], "b"], e2e.instant(), e2e.instant(hours=1)),
        )
        yield stack


@pytest.fixture
def views(filled, visit):
    """A page, and the addresses of all views: those that links lead to from the first page, and those that are typed."""
    person = visit(filled)
    page = person.open()
    send_raw(page, f'{{"type":"{LONG}"}}')
    expect(course(page)).to_contain_text("dead letter")
    waiting, seen = [person.address, page.url, *(person.address + typed for typed in TYPED)], {}
    while waiting:
        address = waiting.pop(0)
        if kind(address) in seen:
            continue
        seen[kind(address)] = address
        answer = page.goto(address)
        assert answer.status < 500, address
        links = page.locator("a[href]").evaluate_all("all => all.filter(one => !one.download).map(one => one.href)")
        inside = [link.partition("#")[0] for link in links if link.startswith(person.address)]
        waiting += [link for link in inside if "/export" not in link]
    assert len(seen) >= 18, list(seen)
    yield page, list(seen.values())
    person.reported = [text for text in person.reported if "status of 4" not in text]


# Between them their forms have every kind of field.
FORMS = {"activity.published", "poll.opened", "battle.hit", "notifications.read"}


def kind(address):
    """Addresses of one kind show one view; some forms of commands stand for all."""
    url = urllib.parse.urlsplit(address)
    query = urllib.parse.parse_qs(url.query)
    form = query.get("type", [""])[0]
    return url.path, tuple(sorted(query)), form if form in FORMS else ""


def test_no_barriers_and_nothing_to_scroll_sideways(views):
    page, addresses = views
    found = {}
    for address in addresses:
        page.goto(address)
        page.evaluate(AXE)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            for size in (NARROW, WIDE):
                page.set_viewport_size(size)
                wide = page.evaluate("() => document.documentElement.scrollWidth - innerWidth")
                if wide > 0:
                    found[address, scheme, size["width"]] = f"{wide} pixels too wide"
            barriers = page.evaluate(RUN)
            if barriers:
                found[address, scheme] = barriers
    assert not found, "\n".join(f"{where}: {what}" for where, what in found.items())


def test_regions_that_move_have_names_and_are_quiet(filled, visit):
    """What changes each second is not read aloud each second."""
    page = visit(filled).open()
    for moving in page.locator("[hx-trigger*='load delay']").all():
        assert moving.get_attribute("aria-live") in (None, "off")

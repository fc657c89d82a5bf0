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
TYPED += [f"customer?tenant={LONG}&id={LONG}", f"name?tenant={LONG}&name={LONG[:64]}", f"tenant?id={LONG}"]
TYPED += [f"tenant?id={LONG}&show={section}" for section in ("names", "alerts", "rules")]
# Between them these forms have every kind of field.
FORMS = ["activity.published", "poll.opened", "battle.hit", "notifications.read"]
TYPED += [f"commands?type={form}" for form in FORMS]


def of_tenant():
    """A customer who does something, a rule that tells of it, and a score."""
    name, tenant = LONG[:64], {"tenant_id": LONG, "at": e2e.instant()}
    measures = [{"event": name, "days": 28, "points": -1_000_000, "most": 1_000_000}]
    yield tenant | {"type": "customer.updated", "customer_id": LONG, "payload": {LONG: LONG}}
    yield tenant | {"type": "rule.defined", "rule_id": LONG, "when": {"event": name, "count": 1, "within": "ever"}}
    yield tenant | {"type": "score.defined", "score_id": LONG, "base": 1_000_000, "measures": measures, "alert_below": 30}
    yield tenant | {"type": "event.recorded", "customer_id": LONG, "event_id": LONG, "name": name}


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
            *of_tenant(),
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
    # That which is nowhere was opened here and by the test.
    person.refused(404, times=2)


def kind(address):
    """Addresses of one kind show one section of one view; some forms of commands stand for all."""
    url = urllib.parse.urlsplit(address)
    query = urllib.parse.parse_qs(url.query)
    form, section = query.get("type", [""])[0], query.get("show", [""])[0]
    return url.path, tuple(sorted(query)), form if form in FORMS else "", section


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


def test_the_menu_is_one_line_on_a_phone(stack, visit):
    page = visit(viewport=NARROW).open()
    menu = page.get_by_role("navigation", name="Views")
    entries = menu.get_by_role("link")
    assert len({entry.bounding_box()["y"] for entry in entries.all()}) == 1
    # What is beyond the edge is reached by the keyboard, and a page shows where one is.
    last = entries.last
    expect(last).not_to_be_in_viewport()
    last.focus()
    expect(last).to_be_in_viewport(ratio=1)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Faults")
    expect(last).to_have_attribute("aria-current", "page")
    expect(last).to_be_in_viewport(ratio=1)


def test_what_is_opened_stays_open_where_a_region_is_made_again(stack, visit):
    stack.apply(e2e.open_battle("anna", "reread", 10, payload={"name": "Dragon", "deep": {"a": 1}}))
    page = visit().open()
    page.goto(f"{page.url}battle?id=reread")
    for name, text in (("JSON", '"deep":{"a":1}'), ("Why that much?", "How many have hit")):
        summary = page.get_by_text(name, exact=True)
        summary.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_text(text)).to_be_visible()
        for _ in range(2):
            with page.expect_response("**/standing?**"):
                pass
        expect(page.get_by_text(text)).to_be_visible()
        expect(summary).to_be_focused()

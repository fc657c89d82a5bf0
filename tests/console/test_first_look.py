"""What somebody sees in the first minutes: what moves, where it leads, and what a name says."""

import re

from conftest import NARROW, arrive, course, e2e, expect, menu

EMPTY_BOXES = ["Timeline", "People", "Rooms", "Activities", "Audit", "Tables", "Log", "Events", "Tenants"]


def test_the_start_moves_and_leads_to_each(stack, visit):
    page = visit().open()
    live = page.locator("#live")
    moved = live.inner_text()
    e2e.until(lambda: live.inner_text() != moved, "something to happen")
    for region, view in (("Poll", "poll"), ("Battle", "battle"), ("Room", "room"), ("Published", "activity")):
        menu(page, "Start")
        page.get_by_role("region", name=region, exact=True).locator(f"a[href*='/{view}?id=']").first.click()
        arrive(page, view)
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(page.get_by_text("There is no")).to_have_count(0)


def test_the_first_click_brings_what_anna_has_published(lasting, visit):
    person = visit(lasting.enter_context(e2e.Stack("--sample")))
    page = person.open()
    page.get_by_role("button", name="visitor follows anna").click()
    entries = page.get_by_role("list", name="Activities for visitor").get_by_role("listitem")
    expect(course(page)).to_contain_text("applied")
    page.reload()
    expect(entries.first).to_contain_text("anna")


def test_every_view_opens_with_something_to_try(stack, visit):
    page = visit(viewport=NARROW).open()
    for name in EMPTY_BOXES:
        menu(page, name)
        suggested = page.get_by_role("navigation", name="Suggestions").get_by_role("link")
        expect(suggested.first).to_be_visible()
        suggested.first.click()
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(page.get_by_role("main")).not_to_contain_text("There is no")


def test_instants_say_how_long_ago_and_exactly_on_hover(stack, visit):
    page = visit().open()
    page.goto(f"{page.url}person?id=anna")
    first = page.locator("time").first
    expect(first).to_have_text(re.compile(r"^(just now|\d+ (second|minute|hour|day)s? ago)$"))
    exact = first.get_attribute("title")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", exact) and first.get_attribute("datetime") == exact


def test_actors_have_an_initial_of_one_colour(stack, visit):
    page = visit().open()
    hues = set()
    for address in ("person?id=anna", "activity", "timeline?viewer=viewer-01"):
        page.goto(f"{page.url.partition('/console/')[0]}/console/{address}")
        for mark in page.locator(".person:has-text('anna') .initial, .who .initial").all():
            assert mark.inner_text() == "A"
            hues.add(mark.get_attribute("class"))
    assert len(hues) == 1, hues

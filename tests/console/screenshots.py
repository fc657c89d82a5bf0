"""The pictures of the console: tests/console/screenshots.sh."""

import sys
from pathlib import Path

from conftest import CHROMIUM, FLAGS, NARROW, TESTS, Visitor, console_of, course, e2e, expect, menu, send_raw, timeline_of
from playwright.sync_api import sync_playwright

FOLDER = Path(sys.argv[1]) if len(sys.argv) > 1 else TESTS.parent / "docs/console"


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    with e2e.Stack("--sample") as stack, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = Visitor(browser, console_of(stack)).open()
        page.goto(f"{page.url}person?id=anna")
        page.get_by_role("button", name="Look as anna").click()
        expect(page.get_by_role("banner").get_by_role("link", name="unread notifications")).to_be_visible()
        page.set_viewport_size({"width": 1440, "height": 720})
        page.screenshot(path=FOLDER / "person.png")
        page.goto(f"{page.url.partition('/console/')[0]}/console/room?id=lounge")
        expect(page.get_by_role("list", name="What was said").get_by_role("listitem").nth(8)).to_be_visible(timeout=60_000)
        page.screenshot(path=FOLDER / "room.png")
        menu(page, "Start")
        page.set_viewport_size({"width": 1440, "height": 900})
        for step in ("visitor follows anna", "anna goes live"):
            page.get_by_role("button", name=step).click()
            expect(course(page)).to_contain_text("applied")
        expect(page.get_by_role("list", name="Activities for visitor").get_by_role("listitem").first).to_be_visible()
        page.evaluate("() => scrollTo(0, 0)")
        page.screenshot(path=FOLDER / "start.png")
        timeline_of(page, "viewer-01")
        page.set_viewport_size({"width": 1440, "height": 720})
        page.screenshot(path=FOLDER / "timeline.png")
        page.goto(f"{page.url.partition('/console/')[0]}/console/customer?tenant=acme&id=customer-3")
        expect(page.get_by_role("region", name="Names").get_by_role("link").first).to_be_visible()
        page.set_viewport_size({"width": 1440, "height": 900})
        page.screenshot(path=FOLDER / "customer.png")

        hits = [e2e.hit(f"viewer-{n:02}", "dragon", f"hit-{n}", 80) for n in range(1, 40)]
        stack.apply(e2e.open_battle("anna", "dragon", 5_000, payload={"name": "Dragon"}), *hits[:1])
        stack.send(*hits[1:])
        page = Visitor(browser, console_of(stack), color_scheme="dark", viewport={"width": 1440, "height": 560}).open()
        page.goto(f"{page.url}battle?id=dragon")
        expect(page.get_by_text("39 hits")).to_be_visible()
        page.screenshot(path=FOLDER / "battle.png")

        page = Visitor(browser, console_of(stack), viewport=NARROW).open()
        send_raw(page, '{"type":"follow.created","follower_id":"a b","followee_id":"anna"}')
        course(page).get_by_role("link", name="The dead letter").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Dead letter")
        page.screenshot(path=FOLDER / "dead-letter.png")
        browser.close()
    for file in sorted(FOLDER.glob("*.png")):
        print(f"{file.name}: {file.stat().st_size / 1000:.0f} KB")


if __name__ == "__main__":
    main()

"""People, rooms and activities, and what of all that does not count."""

import pytest
from conftest import arrive, course, e2e, expect, menu


def go(page, address):
    page.goto(f"{page.url.partition('/console/')[0]}/console/{address}")


def section(page, name):
    page.get_by_role("navigation", name="Of this person").get_by_role("link", name=name, exact=True).click()
    return page.get_by_role("main")


def test_a_person_has_all_that_is_theirs(own_stack, visit):
    own_stack.apply(
        e2e.follow("bob", "anna"), e2e.follow("anna", "carol"), e2e.publish("anna", "live-1", payload={"title": "First"}),
        e2e.publish("carol", "hers", payload={"title": "Hers"}), e2e.like("anna", "hers"), e2e.like("bob", "live-1"),
        {"type": "tag.created", "activity_id": "hers", "tagged_id": "anna", "at": e2e.instant()},
        {"type": "profile.updated", "viewer_id": "anna", "at": e2e.instant(), "payload": {"name": "Anna A."}},
    )
    page = visit(own_stack).open()
    go(page, "person?id=anna")
    expect(page.get_by_role("region", name="Profile")).to_contain_text("Anna A.")
    expect(page.get_by_role("region", name="Published last")).to_contain_text("First")
    for name, text in (("Published", "First"), ("Likes", "Hers"), ("Tagged in", "Hers"), ("Following", "carol"), ("Followers", "bob")):
        expect(section(page, name)).to_contain_text(text)
    page.reload()
    expect(section(page, "Notifications")).to_contain_text("bob liked live-1")
    section(page, "Timeline")
    expect(page.get_by_role("list", name="Activities for anna")).to_contain_text("Hers")
    # A name is a link, wherever it is.
    page.get_by_role("list", name="Activities for anna").get_by_role("link", name="carol").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("carol")


def test_the_header_counts_what_is_unread_of_whom_one_looks_as(own_stack, visit):
    own_stack.apply(e2e.publish("anna", "live-1"), e2e.like("bob", "live-1"), e2e.like("eve", "live-1"))
    page = visit(own_stack).open()
    header = page.get_by_role("banner")
    expect(header.get_by_role("link", name="Look as…")).to_be_visible()
    go(page, "person?id=anna")
    page.get_by_role("button", name="Look as anna").click()
    expect(header.get_by_role("link", name="2 unread notifications")).to_be_visible()
    own_stack.send(e2e.like("dan", "live-1"))
    # Nobody has loaded the page again.
    expect(header.get_by_role("link", name="3 unread notifications")).to_be_visible()
    header.get_by_role("link", name="3 unread notifications").click()
    page.get_by_role("button", name="Mark all as read").click()
    expect(course(page)).to_contain_text("applied")
    expect(header.get_by_role("link", name="0 unread notifications")).to_be_visible()
    # Forms are filled in for them.
    go(page, "activity?id=live-1")
    expect(page.get_by_role("form", name="Like").get_by_label("As")).to_have_value("anna")
    go(page, "person?id=anna")
    page.get_by_role("button", name="Look as nobody").click()
    expect(header.get_by_role("link", name="Look as…")).to_be_visible()


def test_one_talks_in_a_room_that_moves(stack, visit):
    person, room = visit(), e2e.unique("room")
    reading, talking = person.open(), person.open()
    for page in (reading, talking):
        go(page, f"room?id={room}")
    expect(reading.get_by_text("Nobody has said anything here yet.")).to_be_visible()
    form = talking.get_by_role("form", name="Say something")
    form.get_by_label("As").fill("bob")
    form.get_by_label("Message").fill('good "evening" <b>')
    form.get_by_role("button", name="Say it").click()
    arrive(talking, "room")
    said = reading.get_by_role("list", name="What was said").get_by_role("listitem")
    expect(said).to_contain_text('good "evening" <b>')
    expect(said.get_by_role("link", name="bob")).to_be_visible()
    stack.send(e2e.say(room, "m2", "eve", payload={"text": "good night"}))
    expect(said).to_have_count(2)
    expect(said.first).to_contain_text("good night")


def test_an_activity_is_liked_and_somebody_tagged(stack, visit):
    activity = e2e.unique("activity")
    stack.apply(e2e.publish("anna", activity, payload={"title": "Tagged"}))
    page = visit().open()
    go(page, f"activity?id={activity}")
    page.get_by_role("form", name="Like").get_by_label("As").fill("bob")
    page.get_by_role("button", name="Like", exact=True).click()
    expect(course(page)).to_contain_text("like.created: applied")
    page.get_by_role("form", name="Tag").get_by_label("Who is in it").fill("eve")
    page.get_by_role("button", name="Tag", exact=True).click()
    expect(course(page)).to_contain_text("tag.created: applied")
    stack.drain()
    e2e.until(lambda: page.reload() and page.get_by_text("1 like").count(), "the like to be counted")
    expect(page.get_by_role("region", name="Tags").get_by_role("link", name="eve")).to_be_visible()


def warns(page, text):
    """It is said in yellow, and as nothing that has failed."""
    said = course(page).get_by_role("status")
    expect(said).to_contain_text(text)
    expect(said).to_have_class("warning")
    ground = said.evaluate("said => getComputedStyle(said).backgroundColor")
    assert ground == "rgb(255, 246, 224)", ground


def test_what_does_not_count_says_so_in_yellow(own_stack, visit):
    own_stack.apply(
        e2e.open_poll("anna", "over", ["a", "b"], e2e.instant(hours=-2), e2e.instant(hours=-1)),
        e2e.open_poll("anna", "runs", ["a", "b"], e2e.instant(hours=-2), e2e.instant(hours=1)),
        e2e.open_battle("anna", "fought", 10), e2e.hit("bob", "fought", "h1", 10),
    )
    page = visit(own_stack).open()
    go(page, "poll?id=over")
    expect(page.get_by_text("This poll is closed")).to_be_visible()
    page.get_by_label("Viewer").fill("bob")
    page.get_by_role("button", name="Vote").click()
    warns(page, "without effect: the poll was closed")
    go(page, "battle?id=fought")
    expect(page.get_by_text("The boss is defeated")).to_be_visible()
    page.get_by_label("Viewer").fill("bob")
    page.get_by_label("Damage").fill("3")
    page.get_by_role("button", name="Hit").click()
    warns(page, "without effect: the boss was defeated")
    go(page, "activity?id=nothing")
    expect(page.get_by_text("There is no such activity")).to_be_visible()
    page.get_by_role("form", name="Like").get_by_label("As").fill("bob")
    page.get_by_role("button", name="Like", exact=True).click()
    warns(page, "there is no such activity")
    # What counts is not yellow, and offers the choices that there are.
    go(page, "poll?id=runs")
    assert page.get_by_label("Choice").locator("option").all_inner_texts() == ["a", "b"]
    page.get_by_label("Viewer").fill("bob")
    page.get_by_role("button", name="Vote").click()
    expect(course(page).get_by_role("status")).to_contain_text("applied")
    expect(course(page).locator(".warning")).to_have_count(0)


@pytest.mark.parametrize("view, texts", [
    ("audit", ["Audit"]), ("numbers", ["Metrics", "median"]), ("queues", ["In flight", "Since you opened this page"]),
    ("log", ["Pause"]), ("faults", ["Injected"]),
])
def test_the_words_are_those_that_one_expects(stack, visit, view, texts):
    page = visit().open()
    go(page, view)
    for text in texts:
        expect(page.locator("main")).to_contain_text(text)
    for text in ("Is it right?", "In work", "Stand still", "Struck", "Since you look", "half of them", "Send again"):
        expect(page.locator("body")).not_to_contain_text(text)


def test_what_is_queued_and_what_is_stored_are_not_one_number(own_stack, visit):
    from conftest import send_raw
    page = visit(own_stack).open()
    for body in ("no json", '{"type":"no.such"}'):
        send_raw(page, body)
        expect(course(page)).to_contain_text("dead letter")
    menu(page, "Queues")
    expect(page.get_by_role("link", name="all (2)")).to_be_visible()
    assert page.get_by_role("rowheader").all_inner_texts() == ["Commands", "Dead-letter queue, not stored yet"]

"""Somebody comes to the console for the first time."""

from conftest import NARROW, arrive, command_form, course, e2e, expect, menu, send_raw, timeline_of


def follows(page):
    page.get_by_role("button", name="visitor follows anna").click()
    expect(page.get_by_role("status").filter(has_text="follow.created: applied")).to_be_visible()


def goes_live(page):
    page.get_by_role("button", name="anna goes live").click()
    expect(page.get_by_role("status").filter(has_text="activity.published: applied")).to_be_visible()


def entries(page):
    return page.get_by_role("list", name="Activities for visitor").get_by_role("listitem")


def test_what_is_published_comes_to_an_open_page_by_itself(own_stack, visit):
    person = visit(own_stack)
    reading = person.open()
    timeline_of(reading, "visitor")
    expect(reading.get_by_text("Nothing here yet")).to_be_visible()

    publishing = person.open()
    follows(publishing)
    goes_live(publishing)
    expect(entries(publishing)).to_have_count(1)
    expect(entries(publishing)).to_contain_text("Live from the console")

    # Nobody has touched the other tab.
    expect(entries(reading)).to_have_count(1)
    expect(entries(reading)).to_contain_text("anna")
    expect(reading.get_by_text("Nothing here yet")).to_be_hidden()


def test_the_keyboard_is_enough(own_stack, visit):
    page = visit(own_stack).open()
    reach(page, "visitor follows anna")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="follow.created: applied")).to_be_visible()
    reach(page, "anna goes live")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="activity.published: applied")).to_be_visible()
    expect(entries(page)).to_have_count(1)
    reach(page, "All of it")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Timeline of visitor")
    reach(page, "Like activity-")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status").filter(has_text="like.created: applied")).to_be_visible()


def reach(page, name):
    """Tab, until what has this name has the focus."""
    said = "() => { const e = document.activeElement; return e.getAttribute('aria-label') || e.textContent }"
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(said))
        if seen[-1].startswith(name):
            return
    raise AssertionError(f"{name} is not reached by Tab: {seen}")


def test_the_first_thing_that_tab_reaches_leads_past_the_menu(visit):
    page = visit().open()
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="To the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()


def test_without_scripts_forms_and_pages_do_the_same(own_stack, visit):
    page = visit(own_stack, java_script_enabled=False, viewport=NARROW).open()
    page.get_by_role("button", name="visitor follows anna").click()
    page.get_by_role("button", name="anna goes live").click()
    own_stack.drain()
    page.get_by_role("link", name="All of it").click()
    expect(entries(page)).to_have_count(1)
    page.get_by_role("link", name="Oldest first").click()
    expect(entries(page)).to_have_count(1)
    menu(page, "Queues")
    expect(page.get_by_text("There are none.")).to_be_visible()


def test_without_scripts_a_command_is_published_and_a_dead_letter_sent_again(own_stack, visit):
    page = visit(own_stack, java_script_enabled=False, viewport=NARROW).open()
    form = command_form(page, "follow.created")
    form.get_by_label("follower_id").fill("bob")
    form.get_by_label("followee_id").fill("anna")
    form.get_by_role("button", name="Send").click()
    arrive(page, "command")

    def course_says(text):
        page.reload()
        return text in course(page).inner_text()

    e2e.until(lambda: course_says("applied"), "the follow to be applied")
    assert own_stack.read("/v1/viewers/bob/following")["items"][0]["viewer_id"] == "anna"

    send_raw(page, '{"type":"follow.created","follower_id":"a b"}')
    arrive(page, "command")
    e2e.until(lambda: course_says("dead letter"), "the dead letter")
    menu(page, "Queues")
    letter = page.get_by_role("main").get_by_role("listitem").filter(has_text="follower_id")
    letter.get_by_role("link").click()
    page.get_by_role("button", name="Resend this letter").click()
    arrive(page, "queues")

    def back():
        own_stack.drain()
        menu(page, "Queues")
        return letter.count() == 1

    e2e.until(back, "the dead letter to come back, for it is refused as before")


def test_the_focus_and_what_is_typed_outlast_what_comes_in(stack, visit):
    page = visit().open()
    timeline_of(page, "focused")
    field = page.get_by_label("Somebody to follow")
    field.fill("an")
    stack.cli("follow", "focused", "typist")
    stack.cli("publish", "--actor", "typist", "--activity", "typist-1")
    expect(page.get_by_role("list", name="Activities for focused").get_by_role("listitem")).to_have_count(1)
    expect(field).to_be_focused()
    page.keyboard.type("na")
    expect(field).to_have_value("anna")


def test_the_first_page_is_small(visit):
    person = visit()
    page = person.context.new_page()
    answers = []
    page.on("response", lambda answer: answers.append(answer))
    page.goto(person.entrance, wait_until="load")
    answers = [answer for answer in answers if answer.status == 200]
    assert len(answers) >= 3, "page, style and script"
    assert sum(len(answer.body()) for answer in answers) < 300_000

"""Commands from forms and by hand, and what becomes of them."""

import json

from conftest import TESTS, arrive, command_form, course, e2e, expect, menu, send_raw

SCHEMA = json.loads((TESTS.parent / "docs/schemas/command.schema.json").read_text())
TYPES = [one["$ref"].removeprefix("#/$defs/") for one in SCHEMA["oneOf"]]


def test_each_form_has_the_members_that_the_schema_has(visit):
    page = visit().open()
    for name in TYPES:
        form = command_form(page, name)
        shown = form.locator("[name^='f.']").evaluate_all("all => all.map(one => one.name.slice(2))")
        assert sorted(shown) == sorted(SCHEMA["$defs"][name]["properties"].keys() - {"type"}), name
        for member in shown:
            expect(form.locator(f"label[for='f.{member}']")).to_contain_text(member)


def test_a_member_that_cannot_be_is_told_at_its_field_and_what_was_typed_stays(visit):
    person = visit()
    page = person.open()
    form = command_form(page, "activity.published")
    form.get_by_label("actor_id").fill("typo")
    form.get_by_label("payload").fill("{no json")
    form.get_by_role("button", name="Send").click()
    expect(page.get_by_role("alert")).to_contain_text("expected JSON")
    expect(page.get_by_label("payload")).to_have_value("{no json")
    expect(page.get_by_label("actor_id")).to_have_value("typo")
    expect(page.get_by_label("payload")).to_have_attribute("aria-invalid", "true")
    person.refused(400)


def test_a_bad_command_is_refused_unless_it_is_wanted(stack, visit):
    person = visit()
    page = person.open()
    menu(page, "Publish")
    page.get_by_text("As JSON", exact=True).click()
    form = page.get_by_role("form", name="As JSON")
    form.get_by_label("Message body").fill('{"type":"no.such"}')
    form.get_by_role("button").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Message body")).to_have_value('{"type":"no.such"}')
    person.refused(400)
    stack.drain()
    assert not [letter for letter in stack.dead_letters() if "no.such" in letter["body"]]


def test_a_dead_letter_is_found_sent_again_and_dropped(own_stack, visit):
    page = visit(own_stack).open()
    body = '{"type":"follow.created","follower_id":"a b"}'
    send_raw(page, body)
    expect(course(page)).to_contain_text("dead letter")
    course(page).get_by_role("link", name="The dead letter").click()
    expect(page.get_by_text(body)).to_be_visible()

    # Nothing has changed that it was refused for: it comes back.
    page.get_by_role("button", name="Resend this letter").click()
    arrive(page, "queues")
    listed = page.get_by_role("main").get_by_role("listitem").filter(has_text="follower_id")

    def back():
        own_stack.drain()
        page.reload()
        return listed.count() == 1

    e2e.until(back, "the dead letter to come back")
    listed.get_by_role("link").click()
    expect(page.get_by_text(body)).to_be_visible()

    page.get_by_role("button", name="Drop this letter").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Are you sure?")
    page.get_by_role("link", name="Cancel").click()
    menu(page, "Queues")
    listed.get_by_role("link").click()
    page.get_by_role("button", name="Drop this letter").click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("There are none.")).to_be_visible()
    assert own_stack.dead_letters() == []


def test_letters_are_chosen_by_their_reason_and_dropped_together(own_stack, visit):
    page = visit(own_stack).open()
    for body in ("no json", '{"type":"no.such"}'):
        send_raw(page, body)
        expect(course(page)).to_contain_text("dead letter")
    reasons = sorted({letter["reason"] for letter in own_stack.dead_letters()})
    assert len(reasons) == 2, reasons
    menu(page, "Queues")
    page.get_by_role("navigation", name="Reasons").get_by_role("link", name=reasons[0]).click()
    page.get_by_role("button", name="Drop this one").click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_role("navigation", name="Reasons").get_by_role("link")).to_have_count(2)
    assert [letter["reason"] for letter in own_stack.dead_letters()] == reasons[1:]


def test_a_battle_is_won(visit):
    page = visit().open()
    form = command_form(page, "battle.opened")
    for member, value in (("battle_id", "dragon"), ("actor_id", "anna"), ("hp", "100")):
        form.get_by_label(member).fill(value)
    form.get_by_role("button", name="Send").click()
    expect(course(page)).to_contain_text("applied")

    go_and_watch(page, "battle", "dragon")
    left = page.get_by_role("progressbar", name="hit points left")
    expect(left).to_have_attribute("value", "100")
    for damage, remains in ((30, 70), (60, 10), (50, 0)):
        page.get_by_label("Viewer").fill("bob")
        page.get_by_label("Damage").fill(str(damage))
        page.get_by_role("button", name="Hit").click()
        expect(left).to_have_attribute("value", str(remains))
    expect(page.get_by_text("defeated", exact=True)).to_be_visible()
    expect(page.get_by_text(", 50 damage")).to_be_visible()


def test_a_bar_moves_on_an_open_page(stack, visit):
    page = visit().open()
    stack.apply(e2e.open_battle("anna", "moving", 100))
    go_and_watch(page, "battle", "moving")
    left = page.get_by_role("progressbar", name="hit points left")
    expect(left).to_have_attribute("value", "100")
    stack.send(e2e.hit("bob", "moving", "h1", 25))
    expect(left).to_have_attribute("value", "75")


def test_a_poll_is_voted_in(visit):
    page = visit().open()
    form = command_form(page, "poll.opened")
    filled = {"poll_id": "cats", "actor_id": "anna", "choices": "cats, dogs", "closes_at": e2e.instant(hours=1)}
    for member, value in filled.items():
        form.get_by_label(member).fill(value)
    form.get_by_role("button", name="Send").click()
    expect(course(page)).to_contain_text("applied")

    go_and_watch(page, "poll", "cats")
    for viewer, choice in (("bob", "dogs"), ("eve", "cats"), ("bob", "cats")):
        page.get_by_label("Viewer").fill(viewer)
        page.get_by_label("Choice").select_option(choice)
        page.get_by_role("button", name="Vote").click()
        expect(course(page)).to_contain_text("applied")
    expect(page.get_by_role("progressbar", name="cats")).to_have_attribute("value", "2")
    expect(page.get_by_role("progressbar", name="dogs")).to_have_attribute("value", "0")


def test_somebody_is_followed_and_an_activity_liked(stack, visit):
    stack.apply(e2e.publish("maker", "made-1", payload={"title": "Made"}))
    page = visit().open()
    menu(page, "Timeline")
    page.get_by_role("textbox", name="Viewer").fill("fan")
    page.get_by_role("button", name="Read").click()
    page.get_by_label("Somebody to follow").fill("maker")
    page.get_by_role("button", name="Follow", exact=True).click()
    expect(page.get_by_role("button", name="Like made-1")).to_be_visible()
    page.get_by_role("button", name="Like made-1").click()
    expect(course(page)).to_contain_text("like.created: applied")
    e2e.until(lambda: page.reload() and page.get_by_text("1 like").count(), "the like to be counted")
    page.get_by_role("button", name="Unlike made-1").click()
    expect(course(page)).to_contain_text("like.deleted: applied")


def go_and_watch(page, what, id):
    menu(page, "Polls and battles")
    page.get_by_label(f"Id of a {what}").fill(id)
    page.get_by_role("form", name=what).get_by_role("button", name="Watch").click()


def test_polls_and_battles_are_listed_those_that_run_first(own_stack, visit):
    def poll(id, opens, closes):
        return e2e.open_poll("anna", id, ["a", "b"], e2e.instant(hours=opens), e2e.instant(hours=closes))

    own_stack.apply(
        poll("ended", -3, -1),
        poll("coming", 1, 2),
        poll("running", -2, 1),
        e2e.vote("bob", "running", "a"),
        e2e.open_battle("anna", "troll", 10),
        e2e.open_battle("anna", "giant", 10, at=e2e.instant(hours=-1)),
        e2e.hit("bob", "troll", "h1", 10),
        e2e.hit("bob", "giant", "h1", 4),
    )
    page = visit(own_stack).open()

    def listed(name, *rows):
        def says():
            menu(page, "Polls and battles")
            found = page.get_by_role("region", name=name).get_by_role("listitem").all_inner_texts()
            return [" ".join(text.split()) for text in found]

        matches = lambda found: len(found) == len(rows) and all(map(str.startswith, found, rows))
        e2e.until(lambda: matches(says()), f"{name} {rows}")

    listed("Polls", "running open 1 vote closes in", "coming upcoming 0 votes closes in", "ended closed 0 votes closed")
    listed("Battles", "giant open 6 of 10 hit points left opened", "troll defeated 0 of 10 hit points left opened")
    page.get_by_role("link", name="giant").click()
    expect(page.get_by_role("progressbar", name="hit points left")).to_have_attribute("value", "6")

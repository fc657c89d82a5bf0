"""The example app of docs/CLIENTS.md, as a person uses it: it reads the HTTP API, and sends by the route of the local stack."""

import json
import re
import urllib.parse

import pytest

from conftest import NARROW, TESTS, e2e, expect


def app_of(stack, viewer="visitor"):
    return f"{stack.exports['NAGARE_API_URL']}/example/?viewer={viewer}"


@pytest.fixture
def app(own_stack, visit):
    """The app in a tab of its own, for each viewer."""

    def opened(viewer, before="", **options):
        person = visit(app_of(own_stack, viewer), **options)
        person.context.add_init_script(before)
        # `Visitor.address` is that of a console; what a page may ask for is below the same port.
        person.address = own_stack.exports["NAGARE_API_URL"] + "/console/"
        opened.people.append(person)
        return person.open()

    opened.people = []
    return opened


def entries(page):
    return page.get_by_role("list", name="Timeline").get_by_role("listitem")


def messages(page):
    return page.get_by_role("list", name="Messages").get_by_role("listitem")


def does(page, field, words, button):
    page.get_by_label(field).fill(words)
    page.get_by_role("button", name=button, exact=True).click()


def test_follow_publish_and_like(app):
    bob, anna = app("bob"), app("anna")
    expect(bob.get_by_text("You follow nobody yet.")).to_be_visible()
    does(anna, "What is happening?", "Speedrun", "Publish")
    does(bob, "Whom to follow", "anna", "Follow")
    expect(bob.get_by_text("You follow anna.")).to_be_visible()
    expect(entries(bob)).to_have_count(1)
    expect(entries(bob)).to_contain_text("Speedrun")

    # Nobody has touched bob's tab: it asks by itself.
    does(anna, "What is happening?", "Part two", "Publish")
    expect(entries(bob)).to_have_count(2)
    expect(entries(bob).first).to_contain_text("Part two")

    like = entries(bob).first.get_by_role("button")
    expect(like).to_have_text("♡ 0")
    like.click()
    expect(like).to_have_text("♥ 1")
    expect(like).to_have_attribute("aria-pressed", "true")


def test_the_count_of_a_like_is_the_apis(app, own_stack):
    bob = app("bob")
    own_stack.send(e2e.follow("bob", "anna"), e2e.publish("anna", "a1", payload={"title": "One"}), e2e.like("bob", "a1"))
    expect(entries(bob)).to_have_count(1)
    own_stack.drain()
    e2e.until(lambda: own_stack.read("/v1/activities/a1?viewer=bob")["likes"] == {"count": 1, "liked": True}, "the count")
    bob.reload()
    expect(entries(bob).get_by_role("button")).to_have_text("♥ 1")


def test_two_people_talk(app):
    bob, anna = app("bob"), app("anna")
    for number in range(3):
        does(bob, "Say something", f"hi {number}", "Say")
        expect(messages(anna)).to_have_count(number + 1)
    expect(messages(bob)).to_have_count(3)
    assert [text.split()[-1] for text in messages(anna).all_inner_texts()] == ["0", "1", "2"]
    expect(messages(anna).first).to_contain_text("bob")


def test_a_long_chat_shows_the_latest(app, own_stack):
    bob = app("bob")
    *before, last = (e2e.say("example-lobby", f"m{n:03}", "eve", e2e.instant(seconds=n - 200), payload={"text": f"said {n}"}) for n in range(120))
    own_stack.apply(*before)
    own_stack.send(last)
    expect(messages(bob).last).to_contain_text("said 119")
    expect(messages(bob)).to_have_count(50)


def test_what_somebody_wrote_is_text(app, own_stack):
    bob = app("bob")
    own_stack.send(e2e.say("example-lobby", "m1", "eve", payload={"text": "<img src=x onerror=alert(1)>"}))
    expect(messages(bob)).to_contain_text("<img src=x")


def test_a_bad_name_is_told_until_the_next_command(app):
    bob = app("bob")
    does(bob, "Whom to follow", "an na", "Follow")
    expect(bob.get_by_role("status")).to_contain_text("followee_id")
    app.people[0].refused(400)
    with bob.expect_response(re.compile("/v1/timelines/")) as read:
        pass
    read.value.finished()
    expect(bob.get_by_role("status")).to_contain_text("followee_id")
    does(bob, "Whom to follow", "anna", "Follow")
    expect(bob.get_by_role("status")).not_to_contain_text("followee_id")


# Notes what the page waits for, and waits a hundredth of it.
HASTE = """{
    const real = window.setTimeout;
    window.waits = [];
    window.setTimeout = (act, wait) => { window.waits.push(wait); return real(act, wait / 100); };
}"""


def test_it_asks_ever_more_seldom_while_nothing_comes(app):
    bob = app("bob", before=HASTE)
    e2e.until(lambda: len(bob.evaluate("window.waits")) >= 24, "two dozen polls")
    expected = [min(30_000, 1_000 * 1.5**turn) for turn in range(1, 13)]
    # The timeline and the chat, each by itself; one may be a few turns ahead.
    waits = sorted(set(bob.evaluate("window.waits")))
    assert waits == expected[: len(waits)] and len(waits) >= 9, waits


def test_it_fits_a_phone(app):
    bob = app("bob", viewport=NARROW)
    expect(bob.get_by_role("heading", name="Chat")).to_be_visible()
    assert bob.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")


# Who may send -------------------------------------------------------------------------------------

COMMAND = {"type": "follow.created", "follower_id": "bob", "followee_id": "anna"}


def posts(stack, command=COMMAND, **headers):
    url = urllib.parse.urlsplit(stack.exports["NAGARE_API_URL"])
    given = {"Content-Type": "application/json", "Origin": f"http://{url.netloc}"} | {
        name.replace("_", "-"): value for name, value in headers.items()
    }
    given = {name: value for name, value in given.items() if value}
    data = command if isinstance(command, str) else json.dumps(command)
    return stack.request("/example/commands", method="POST", headers=given, data=data)


def test_only_its_own_page_sends(own_stack):
    assert posts(own_stack).status == 202
    for refused in ({"Origin": None}, {"Origin": "http://127.0.0.1:1"}, {"Origin": "http://evil.example"}, {"Sec_Fetch_Site": "same-site"}):
        assert posts(own_stack, **refused).status == 403, refused
    assert posts(own_stack, Content_Type="text/plain").status == 415
    assert own_stack.request("/example/commands").status == 405
    own_stack.drain()
    assert [one["viewer_id"] for one in own_stack.read("/v1/viewers/bob/following")["items"]] == ["anna"]


def test_a_page_that_may_read_may_not_send():
    with e2e.Stack("--cors", "http://localhost:5173") as stack:
        assert stack.request("/v1/timelines/bob", headers={"Origin": "http://localhost:5173"}).status == 200
        assert posts(stack, Origin="http://localhost:5173").status == 403


def test_it_sends_what_the_app_needs_as_of_now(own_stack):
    for bad in ("no json", [COMMAND], {"type": "activity.deleted", "activity_id": "a", "actor_id": "b"}, {"type": "follow.created"}):
        answer = posts(own_stack, bad)
        assert answer.status == 400 and answer.json["detail"], bad
    assert posts(own_stack, COMMAND | {"padding": "x" * 9000}).status == 413
    assert posts(own_stack, COMMAND | {"at": "2016-01-01T00:00:00Z"}).status == 202
    own_stack.drain()
    [one] = own_stack.read("/v1/viewers/bob/following")["items"]
    assert one["since"] > "2020", "the instant is the stack's"
    assert own_stack.dead_letters() == []


def test_where_tokens_are_demanded_there_is_no_example():
    with e2e.Stack("--auth") as stack:
        assert stack.request("/example/").status in (401, 404)
        assert posts(stack).status in (401, 404)


def test_what_the_page_shows_is_in_the_app():
    page = (TESTS.parent / "docs/CLIENTS.md").read_text()
    app = (TESTS.parent / "tools/local/src/example.html").read_text()
    shown = re.findall(r"^```js\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert len(shown) >= 4
    for block in shown:
        assert block in app, block

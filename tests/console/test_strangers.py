"""What others send is shown and never run, and other pages change nothing."""

import http.server
import re
import threading
import urllib.parse

import pytest
from conftest import Served, course, e2e, expect, menu, send_raw, timeline_of

HOSTILE = "<script>hacked=1</script><img src=x onerror=hacked=1><b hx-get=/console/depths hx-trigger=load>bold</b>\"'><svg onload=hacked=1>"


def is_text(page, text=HOSTILE):
    """It is there as text, and nothing of it has become a part of the page."""
    expect(page.get_by_text(text).first).to_be_visible()
    assert page.evaluate("() => typeof hacked") == "undefined"
    assert page.locator("main").locator("script, img, b, [onerror], svg[onload]").count() == 0


def test_a_payload_is_text(stack, visit):
    stack.apply(e2e.publish("mallory", "mal-1", payload=HOSTILE), e2e.follow("victim", "mallory"))
    stack.apply(e2e.open_battle("mallory", "mal-2", 100, payload=HOSTILE))
    page = visit().open()
    timeline_of(page, "victim")
    is_text(page)
    # What comes in by itself goes another way than what was there.
    stack.send(e2e.publish("mallory", "mal-3", payload=HOSTILE))
    expect(page.get_by_role("button", name="Like mal-3")).to_be_visible()
    is_text(page)
    menu(page, "Polls and battles")
    page.get_by_role("link", name="mal-2").click()
    is_text(page)


def test_an_address_in_a_payload_is_text_and_all_of_it_is_behind_a_click(stack, visit):
    url = "https://elsewhere.example/x.png"
    payload = {"title": HOSTILE, "url": url, "image": f"<img src={url}>", HOSTILE: HOSTILE, "deep": {"text": HOSTILE}}
    stack.apply(e2e.publish("linker", "link-1", payload=payload), e2e.follow("linked", "linker"))
    page = visit().open()
    timeline_of(page, "linked")
    is_text(page)
    is_text(page, url)
    assert page.locator(f"[href*='elsewhere.example'], [src*='elsewhere.example']").count() == 0
    deep = page.get_by_text('"deep":{"text":')
    expect(deep).to_be_hidden()
    page.get_by_text("JSON", exact=True).click()
    expect(deep).to_be_visible()
    is_text(page)


def test_a_dead_letter_is_text(stack, visit):
    page = visit().open()
    send_raw(page, f'{{"type":{e2e.json.dumps(HOSTILE)}}}')
    expect(course(page)).to_contain_text("dead letter")
    is_text(page, HOSTILE.replace('"', '\\"'))
    course(page).get_by_role("link", name="The dead letter").click()
    is_text(page, HOSTILE.replace('"', '\\"'))
    menu(page, "Queues")
    expect(page.get_by_role("main").get_by_role("listitem").first).to_be_visible()
    assert page.evaluate("() => typeof hacked") == "undefined"


# What is written into a page, and how the page is answered where there is no such thing.
VIEWS = {
    "timeline?viewer=": 200,
    "battle?id=": 200,
    "poll?id=": 200,
    "letter?id=": 404,
    "queues?reason=": 200,
    "commands?type=": 200,
    "commands?body=": 200,
    "command?id=": 409,
    "audit?viewer=": 200,
    "tables?table=timelines&pk=": 200,
    "tenants?period=": 200,
    "tenant?id=": 200,
    "customer?tenant=acme&id=": 200,
    "name?tenant=acme&name=": 200,
}


@pytest.mark.parametrize("view,status", VIEWS.items())
def test_what_an_address_says_is_text(visit, view, status):
    person = visit()
    page = person.open()
    page.goto(person.address + view + urllib.parse.quote(HOSTILE))
    expect(page.get_by_role("main")).to_be_visible()
    assert page.evaluate("() => typeof hacked") == "undefined"
    assert page.locator("main").locator("script, img, b, [onerror], svg[onload]").count() == 0
    if status != 200:
        person.refused(status)


@pytest.fixture
def elsewhere():
    """A page at another address, whose form is sent to the console as soon as it is opened."""

    class Page(http.server.BaseHTTPRequestHandler):
        html = ""

        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(self.html.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield Page, f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def test_a_form_of_another_page_sends_nothing(stack, chromium, elsewhere):
    served, url = elsewhere
    # It even has the token of somebody's page.
    fields = posted("forged") | {"token": token(stack)}
    context = chromium.new_context()
    page = context.new_page()
    # Somebody who may look, and whose browser sends the cookie to every port of this host.
    page.goto(stack.exports["NAGARE_CONSOLE_URL"])
    address = page.url
    inputs = "".join(f"<input name='{name}' value='{value}'>" for name, value in fields.items())
    served.html = f"<form method=post action='{address}send'>{inputs}<button>Win a prize</button></form>"
    page.goto(url)
    page.get_by_role("button").click()
    expect(page.get_by_text("The console is for its own pages")).to_be_visible()
    # A script of that page reads nothing either.
    page.goto(url)
    read = page.evaluate("url => fetch(url).then(answer => answer.text(), error => `${error}`)", address)
    assert read.startswith("TypeError"), read
    context.close()
    assert_not_sent(stack, "forged")


def token(stack):
    return re.search('name="token" value="([0-9a-f]+)"', stack.console("").text)[1]


def posted(activity):
    return {"type": "activity.published", "f.activity_id": activity, "f.actor_id": "anna"}


def assert_not_sent(stack, activity):
    """What is sent after it is in effect, and it is not."""
    stack.apply(e2e.publish("anna", f"after-{activity}"))
    assert stack.request(f"/v1/activities/after-{activity}").status == 200
    assert stack.request(f"/v1/activities/{activity}").status == 404


def send(stack, fields, headers=None):
    return stack.console("send", fields, headers)


@pytest.mark.parametrize("origin", ["null", "http://evil.example", "http://127.0.0.1", "http://127.0.0.1:1", "https://HOST"])
def test_a_foreign_origin_is_refused(stack, origin):
    host = urllib.parse.urlsplit(stack.exports["NAGARE_API_URL"]).netloc
    origin = origin.replace("HOST", host)
    fields = posted("of-origin") | {"token": token(stack)}
    assert send(stack, fields, {"Origin": origin}).status == 403
    assert stack.console("", headers={"Origin": origin}).status == 403
    assert_not_sent(stack, "of-origin")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:PORT", "127.0.0.1.evil.example"])
def test_a_foreign_host_is_refused(stack, host):
    host = host.replace("PORT", str(urllib.parse.urlsplit(stack.exports["NAGARE_API_URL"]).port))
    fields = posted("of-host") | {"token": token(stack)}
    assert send(stack, fields, {"Host": host, "Origin": f"http://{host}"}).status in (400, 403, 421)
    assert stack.console("", headers={"Host": host}).status in (400, 403, 421)
    assert_not_sent(stack, "of-host")


@pytest.mark.parametrize("token", [None, "", "0" * 32])
def test_a_form_without_the_token_of_this_process_is_refused(stack, token):
    fields = posted("of-token") | ({} if token is None else {"token": token})
    answer = send(stack, fields)
    assert answer.status == 403 and "Nothing was changed" in answer.text
    assert_not_sent(stack, "of-token")


def test_a_form_from_before_a_restart_is_refused():
    """The next process on the same port has another token."""
    port, fields = e2e.free_port(), posted("of-before")
    with e2e.Stack(port=port) as before:
        fields["token"] = token(before)
        assert send(before, fields).status == 303
    with e2e.Stack(port=port) as after:
        answer = send(after, fields)
        assert answer.status == 403 and "from before this console was started" in answer.text
        assert_not_sent(after, "of-before")
        assert send(after, fields | {"token": token(after)}).status == 303


def test_the_same_form_with_the_token_is_sent(stack):
    """Without this the refusals above would prove nothing."""
    assert send(stack, posted("of-a-person") | {"token": token(stack)}).status == 303
    stack.drain()
    assert stack.request("/v1/activities/of-a-person").status == 200


def test_every_answer_has_the_policy(stack):
    for path in ("", "console.css", "htmx.js", "timeline", "depths", "nowhere"):
        headers = stack.console(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy, path
        assert "form-action 'self'" in policy and "frame-ancestors 'none'" in policy, path
        assert headers["x-content-type-options"] == "nosniff", path


def test_a_console_of_its_own_only_looks(stack, lasting, visit):
    console = lasting.enter_context(Served(stack))
    assert "only looks" in console.said
    person = visit(console.address)
    page = person.open()
    expect(page.get_by_text("read-only")).to_be_visible()
    expect(page.get_by_role("button", name="anna goes live")).to_have_count(0)
    timeline_of(page, "viewer-01")
    expect(page.get_by_role("button", name="Like")).to_have_count(0)
    expect(page.get_by_role("list", name="Activities for viewer-01").get_by_role("listitem")).to_have_count(20)
    menu(page, "Publish")
    expect(page.get_by_role("button", name="Send", exact=True)).to_be_disabled()
    refused = page.evaluate("() => fetch('send', {method: 'POST', body: new URLSearchParams({type: 'x'})}).then(a => a.status)")
    assert refused == 403
    person.refused(403)


def test_a_console_that_may_write_sends(stack, lasting, visit):
    console = lasting.enter_context(Served(stack, "--write"))
    page = visit(console.address).open()
    page.get_by_role("button", name="anna goes live").click()
    expect(course(page)).to_contain_text("activity.published: applied")

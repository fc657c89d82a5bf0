"""Web pages of other origins, before the built program."""

import pytest

from conftest import Stack, clean_environment, follow, publish, run, unique
from test_http import bearing, token

PAGE = "https://app.example"


@pytest.fixture(scope="module")
def stack():
    with Stack("--auth", "--cors", f"http://pages.example:8080,{PAGE}") as running:
        yield running


def preflight(stack, page):
    """What a browser sends before a page's request with a token, to an address that is not the page's."""
    headers = {"Origin": page, "Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}
    return stack.request("/v1/timelines/bob", "OPTIONS", headers=headers)


def test_a_page_reads_with_a_token(stack):
    activity = unique("a")
    stack.apply(follow("bob", "anna"), publish("anna", activity))
    for page in (PAGE, "http://pages.example:8080"):
        asked = preflight(stack, page)
        assert (asked.status, asked.headers["access-control-allow-origin"]) == (204, page)
        assert "authorization" in asked.headers["access-control-allow-headers"]
        assert asked.headers["access-control-allow-methods"] == "GET"
        answer = stack.get("bob", headers={**bearing(token(stack)), "Origin": page})
        assert answer.status == 200 and activity in answer.text
        assert answer.headers["access-control-allow-origin"] == page
        assert answer.headers["vary"] == "accept-encoding, origin"


@pytest.mark.parametrize("status, viewer, query, headers", [
    (401, "bob", "", {}),
    (403, "anna", "", None),
    (400, "bob", "limit=0", None),
    (431, "bob", "", {"X-Long": "x" * 10_240}),
])
def test_a_page_reads_why_it_was_refused(stack, status, viewer, query, headers):
    sent = {**(bearing(token(stack)) if headers is None else headers), "Origin": PAGE}
    answer = stack.get(viewer, query, sent)
    assert (answer.status, answer.headers["access-control-allow-origin"]) == (status, PAGE)
    assert "retry-after" in answer.headers["access-control-expose-headers"]


@pytest.mark.parametrize("page", ["https://other.example", "http://app.example", f"{PAGE}:8443", f"{PAGE}.other", "null"])
def test_another_page_is_refused_and_not_named(stack, page):
    for answer in (preflight(stack, page), stack.get("bob", headers={**bearing(token(stack)), "Origin": page})):
        assert answer.status == 403
        assert not [name for name in answer.headers if name.startswith("access-control-")]
        assert page not in answer.text


@pytest.mark.parametrize("variable", ["AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_SQS"])
def test_tables_and_queue_are_for_no_page(stack, variable):
    import requests
    answer = requests.post(stack.exports[variable], headers={"Origin": PAGE}, timeout=10)
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.lower().startswith("access-control-")]


def test_without_being_asked_no_page_may_call():
    with Stack() as closed:
        for answer in (preflight(closed, PAGE), closed.get("bob", headers={"Origin": PAGE})):
            assert answer.status == 403
        # A page of this machine is answered, and a browser keeps the answer from it.
        answer = closed.get("bob", headers={"Origin": "http://localhost:5173"})
        assert answer.status == 200
        assert not [name for name in answer.headers if name.startswith("access-control-")]


@pytest.mark.parametrize("origins", ["app.example", f"{PAGE}/", "https://App.example", f"{PAGE}, {PAGE}", ""])
def test_what_is_no_origin_is_a_mistake(tmp_path, origins):
    done = run(["up", "--port", "0", "--cors", origins], clean_environment(tmp_path))
    assert done.returncode == 2
    assert "scheme, host and port" in done.stderr

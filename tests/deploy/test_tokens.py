"""The stack after an update to Authorization=jwt, which is what a `prod` deployment begins with: viewers read
their own timelines, with tokens of an issuer that the API asks for its keys."""

import pytest
from conftest import follow, instant, publish, unique
from tokens import bearer, jwt_stack


@pytest.fixture(scope="module")
def stack():
    return jwt_stack()[0]


@pytest.fixture(scope="module")
def issuer():
    return jwt_stack()[1]


def test_viewers_read_their_own_timeline_and_no_other(stack, issuer):
    bob, anna, live = unique("viewer"), unique("actor"), unique("live")
    stack.apply(follow(bob, anna), publish(anna, live, instant(minutes=-1)))
    answer = stack.get(bob, headers=bearer(issuer.token(bob)))
    assert answer.status == 200 and answer.activities() == [live]
    assert stack.get(bob, headers=bearer(issuer.token(anna))).status == 403


@pytest.mark.parametrize("claims", [{"aud": "another"}, {"exp": 1}, {"iss": "https://localhost"}],
                         ids=["another audience", "expired", "another issuer"])
def test_a_token_that_is_not_for_this_api_is_refused(stack, issuer, claims):
    viewer = unique("viewer")
    assert stack.get(viewer, headers=bearer(issuer.token(viewer, **claims))).status == 401


def test_nobody_reads_without_a_token(stack):
    assert stack.fetch("GET", f"/v1/timelines/{unique('viewer')}").status == 401


def test_the_command_line_reads_with_a_token(stack, issuer):
    bob, anna, live = unique("viewer"), unique("actor"), unique("live")
    stack.apply(follow(bob, anna), publish(anna, live, instant(minutes=-1)))
    stack.env["NAGARE_TOKEN"] = issuer.token(bob)
    assert [one["activity_id"] for one in stack.cli_json("timeline", bob, "--json")] == [live]

"""What the customers of tenants do: from the list of tenants to a customer, and what rules make of it."""

import re

from conftest import NARROW, WIDE, arrive, course, e2e, expect, menu


def tenant_of(page, tenant):
    menu(page, "Tenants")
    page.get_by_role("textbox", name="Tenant").fill(tenant)
    page.get_by_role("button", name="Show").click()
    arrive(page, "tenant")


def section(page, name):
    page.get_by_role("navigation", name="Of this tenant").get_by_role("link", name=name, exact=True).click()


def again_until(page, shown):
    """Loads a page again until what follows from a command a moment later is on it."""

    def is_shown():
        page.reload()
        return shown.count() > 0

    e2e.until(is_shown, "what follows")


def test_the_sample_has_tenants_whose_customers_can_be_looked_at(stack, visit):
    page = visit(viewport=NARROW).open()
    menu(page, "Tenants")
    listed = page.get_by_role("region", name="Tenants", exact=True)
    listed.get_by_role("link", name="acme").click()
    page.get_by_role("list", name="Customers").get_by_role("link", name="customer-1").click()
    arrive(page, "customer")
    expect(page.get_by_role("region", name="Summary")).to_contain_text("Customer 1")
    expect(page.get_by_role("progressbar", name="health")).to_be_visible()
    bars = page.get_by_role("region", name="Days").get_by_role("img")
    expect(bars).to_have_attribute("aria-label", re.compile(r"Events: [1-9]\d* events in the last 60 days"))
    # At least a week of days is there, whatever the day of the month.
    assert bars.locator("rect").count() >= 5
    page.get_by_role("region", name="Names").get_by_role("link", name="login").click()
    arrive(page, "name")
    expect(page.get_by_role("region", name="Days").get_by_role("img").locator("rect").first).to_be_attached()


def test_what_a_customer_does_moves_the_bars_and_a_rule_tells_of_it(own_stack, visit):
    page = visit(own_stack, viewport=WIDE).open()
    menu(page, "Tenants")
    page.get_by_role("main").get_by_role("link", name="record an event").click()
    form = page.get_by_role("form", name="event.recorded", exact=True)
    for member, value in (("tenant_id", "acme"), ("customer_id", "c-9"), ("name", "login")):
        form.get_by_label(member).fill(value)
    form.get_by_role("button", name="Send").click()
    expect(course(page)).to_contain_text("applied")

    tenant_of(page, "acme")
    section(page, "Rules and scores")
    page.get_by_role("link", name="so many events").click()
    form = page.get_by_role("form", name="rule.defined", exact=True)
    form.get_by_label("rule_id").fill("activated")
    form.get_by_label("when").fill('{"event":"login","count":2,"within":"ever"}')
    form.get_by_role("button", name="Send").click()
    expect(course(page)).to_contain_text("applied")

    tenant_of(page, "acme")
    page.get_by_role("list", name="Customers").get_by_role("link", name="c-9").click()
    arrive(page, "customer")
    page.get_by_role("button", name="Record it").click()
    expect(course(page)).to_contain_text("applied")
    again_until(page, page.get_by_role("region", name="Days").locator("rect > title").filter(has_text=re.compile(": 2$")))
    tenant_of(page, "acme")
    section(page, "Alerts")
    alerts = page.get_by_role("region", name="Alerts")
    again_until(page, alerts.get_by_role("listitem").filter(has_text="activated"))
    expect(alerts).to_contain_text("c-9")
    alerts.get_by_role("button", name="Mark as read").click()
    expect(course(page)).to_contain_text("applied")
    page.reload()
    alerts.get_by_role("link", name="Unread").click()
    expect(alerts).not_to_contain_text("activated")

    section(page, "Rules and scores")
    page.get_by_role("button", name="Delete activated").click()
    expect(course(page)).to_contain_text("applied")
    page.reload()
    expect(page.get_by_role("region", name="Rules")).to_contain_text("None.")

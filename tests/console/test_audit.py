"""What somebody broke by hand is found in the browser, and repaired there."""

from conftest import arrive, e2e, expect, menu


def broken(stack):
    """A viewer whose three entries were right: one was taken out, one says another actor. With what they were."""
    viewer, actor = e2e.unique("audited"), e2e.unique("actor")
    stack.apply(e2e.follow(viewer, actor), *(e2e.publish(actor, e2e.unique("audited-activity")) for _ in range(3)))
    before = sorted(stack.entries(viewer), key=lambda entry: entry["sort_key"])
    key = [{name: {"S": entry[name]} for name in ("viewer_id", "sort_key")} for entry in before]
    stack.dynamodb.delete_item(TableName=stack.table, Key=key[0])
    stack.dynamodb.update_item(
        TableName=stack.table,
        Key=key[1],
        UpdateExpression="SET actor_id = :actor",
        ExpressionAttributeValues={":actor": {"S": "somebody-else"}},
    )
    return viewer, before


def compare(page, **named):
    menu(page, "Audit")
    for label, value in named.items():
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_role("button", name="Compare").click()


def repaired_by_hand(stack, page):
    viewer, before = broken(stack)
    compare(page, Viewer=viewer)
    expect(page.get_by_role("alert")).to_have_text("2 differences in 1 compared")
    differences = page.get_by_role("main").get_by_role("listitem")
    expect(differences).to_have_count(2)
    for (entry, found) in zip(before, ("missing", "stale")):
        difference = differences.filter(has_text=entry["sort_key"])
        expect(difference.get_by_role("row", name="viewer_id")).to_contain_text(viewer)
        expect(difference.get_by_role("row", name="difference")).to_contain_text(found)

    page.get_by_role("button", name="Repair").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Are you sure?")
    expect(page.get_by_role("row", name="viewer")).to_contain_text(viewer)
    assert len(stack.entries(viewer)) == 2, "nothing is repaired before the answer"
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("Repaired: 2. Compared again:")).to_be_visible()
    expect(page.get_by_text("No difference: 1 compared.")).to_be_visible()
    expect(page.get_by_role("button", name="Repair")).to_have_count(0)
    assert sorted(stack.entries(viewer), key=lambda entry: entry["sort_key"]) == before
    return viewer


def test_what_somebody_broke_is_found_line_by_line_and_repaired(stack, visit):
    page = visit().open()
    viewer = repaired_by_hand(stack, page)
    page.get_by_role("link", name=f"What {viewer} is served").click()
    expect(page.get_by_role("list", name=f"Activities for {viewer}").get_by_role("listitem")).to_have_count(3)


def test_the_same_without_scripts(stack, visit):
    repaired_by_hand(stack, visit(java_script_enabled=False).open())


def test_whoever_leaves_the_question_repairs_nothing(stack, visit):
    page = visit().open()
    viewer, _ = broken(stack)
    compare(page, Viewer=viewer)
    page.get_by_role("button", name="Repair").click()
    page.get_by_role("link", name="Cancel").click()
    compare(page, Viewer=viewer)
    expect(page.get_by_role("alert")).to_have_text("2 differences in 1 compared")


def test_a_sample_ends(own_stack, visit):
    page = visit(own_stack).open()
    own_stack.apply(
        *(e2e.follow(f"viewer-{n}", "anna") for n in range(4)),
        e2e.publish("anna", "live-1"),
        e2e.like("viewer-1", "live-1"),
        e2e.say("lobby", "m1", "anna"),
        e2e.open_battle("anna", "dragon", 10),
    )
    # Three viewers, and all that there is of everything else.
    compare(page, Sample="3")
    expect(page.get_by_text("No difference: 6 compared.")).to_be_visible()
    compare(page, Sample="101")
    expect(page.get_by_role("alert")).to_contain_text("expected 1 to 100")
    expect(page.get_by_label("Sample")).to_have_value("101")


def test_a_summary_that_somebody_broke_is_made_again_from_the_events(stack, visit):
    page, tenant = visit().open(), e2e.unique("tenant")
    events = [
        {"type": "event.recorded", "tenant_id": tenant, "customer_id": customer, "event_id": "e", "name": "login", "at": e2e.instant()}
        for customer in ("c-8", "c-9")
    ]
    stack.apply(*events)
    names = lambda: stack.request(f"/v1/tenants/{tenant}/names").json["items"]
    e2e.until(lambda: names() and names()[0]["count"] == 2, "what the projector folds")
    menu(page, "Tenants")
    page.get_by_role("textbox", name="Tenant").fill(tenant)
    page.get_by_role("button", name="Show").click()
    arrive(page, "tenant")
    page.get_by_role("link", name="Audit it").click()
    arrive(page, "audit")
    expect(page.get_by_label("Tenant", exact=True)).to_have_value(tenant)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("No difference: 1 compared.")).to_be_visible()

    key = {"pk": {"S": f"customer#{tenant}#c-9"}, "sk": {"S": "summary"}}
    stack.dynamodb.delete_item(TableName=stack.exports["NAGARE_VIEWS_TABLE"], Key=key)
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_role("alert")).to_have_text("1 difference in 1 compared")
    [difference] = page.get_by_role("main").get_by_role("listitem").all()
    expect(difference.get_by_role("row", name="tenant_id")).to_contain_text(tenant)
    expect(difference.get_by_role("row", name="detail")).to_contain_text("0 events instead of 1")
    page.get_by_role("button", name="Repair").click()
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("Repaired: 1. Compared again:")).to_be_visible()
    expect(page.get_by_text("No difference: 1 compared.")).to_be_visible()
    page.get_by_role("link", name=f"What {tenant} is told").click()
    page.get_by_role("list", name="Customers").get_by_role("link", name="c-9").click()
    expect(page.get_by_role("region", name="Summary")).to_contain_text("1 event")

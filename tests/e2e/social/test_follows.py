"""A viewer who follows and unfollows again and again: nothing grows with it, and follows are shown whole or not at all."""

from conftest import Stack, during, follow, instant, publish, unfollow


def hidden(stack, viewer):
    """What is kept of whom a viewer is not shown."""
    key = {"pk": {"S": f"person#{viewer}#hidden"}, "sk": {"S": "actors"}}
    table = stack.exports["NAGARE_LEDGER_TABLE"]
    return stack.dynamodb.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item", {})


def size(item):
    return sum(len(name) + len(str(*value.values())) for name, value in item.items())


def test_pairs_that_are_sent_together_leave_a_small_item():
    with Stack() as stack:
        pairs = ((follow("bob", f"actor-{n}", instant(seconds=-2)), unfollow("bob", f"actor-{n}", instant(seconds=-1))) for n in range(300))
        stack.send(*(command for pair in pairs for command in pair))
        stack.drain(120)
        item = hidden(stack, "bob")
        assert not [name for name in item if name.startswith("joining#")]
        assert size(item) < 7_000
        assert not stack.dead_letters()
        stack.apply(follow("bob", "anna"), publish("anna", "a"))
        assert stack.timeline("bob") == ["a"]


def test_a_follow_after_an_unfollow_is_shown_whole_or_not_at_all():
    """Of a viewer who has left so many that no mark says whom."""
    with Stack() as stack:
        stack.send(*(unfollow("bob", f"actor-{n}") for n in range(210)))
        stack.send(*(publish("anna", f"a{n:03}", instant(seconds=-n)) for n in range(300)))
        stack.drain(120)
        assert "edges_until" in hidden(stack, "bob")
        seen = set()

        def look():
            count = len(stack.timeline("bob", limit=100))
            assert count in (0, 100), count
            seen.add(count)

        def work():
            for n in range(12):
                at = [instant(seconds=-100 + 3 * n + step) for step in range(3)]
                stack.send(follow("bob", "anna", at[0]), unfollow("bob", "anna", at[1]), follow("bob", "anna", at[2]))
                stack.drain(60)

        during(work, look)
        assert 100 in seen
        assert len(stack.timeline("bob", limit=100)) == 100

"""Changes that cannot be folded: listed and redriven like commands, and counted once."""

import json

from conftest import like, publish, until


def count(stack, activity):
    return stack.request(f"/v1/activities/{activity}").json["likes"]["count"]


def view(activity):
    return {"pk": {"S": f"activity#{activity}"}, "sk": {"S": "likes"}}


def set_count(stack, activity, value):
    stack.dynamodb.update_item(
        TableName=stack.exports["NAGARE_VIEWS_TABLE"], Key=view(activity), UpdateExpression="SET #count = :count",
        ExpressionAttributeNames={"#count": "count"}, ExpressionAttributeValues={":count": value},
    )


def rows(stack):
    pages = stack.dynamodb.get_paginator("scan").paginate(TableName=stack.exports["NAGARE_FACTS_TABLE"])
    found = [row for page in pages for row in page["Items"]]
    return [row for row in found if row["pk"]["S"].startswith("changed#")]


def test_what_a_corrupt_view_missed_is_redriven(own_stack):
    stack = own_stack
    stack.apply(publish("anna", "a"), publish("anna", "b"), like("bob", "a"), like("bob", "b"))
    until(lambda: (count(stack, "a"), count(stack, "b")) == (1, 1), "a like of each")
    set_count(stack, "a", {"S": "one"})
    stack.apply(like("eve", "a"), like("dan", "a"), like("eve", "b"))
    until(lambda: count(stack, "b") == 2, "the shard goes on")
    until(lambda: len(stack.dead_letters()) == 2, "two dead letters")
    listed = stack.cli("dead-letters", "list").stdout
    assert listed.startswith("unfoldable") and "attribute count: expected a whole number" in listed, listed
    shown = stack.cli("dead-letters", "show", stack.dead_letters()[0]["id"]).stdout
    body = json.loads(json.loads(shown)["body"])["command"]
    assert body["type"] == "fact.changed" and body["view"] == {"pk": "activity#a", "sk": "likes"}, body
    # Nothing is mended yet: they come back, and can be redriven again. One that comes back before its letter is removed has another id.
    stack.cli("dead-letters", "redrive", "--reason", "unfoldable")
    until(lambda: len(rows(stack)) == 2, "both have come back")
    until(lambda: len(stack.dead_letters()) == 2, "both dead letters")
    set_count(stack, "a", {"N": "1"})
    for _ in range(2):
        stack.cli("dead-letters", "redrive", "--reason", "unfoldable")
        stack.drain()
    until(lambda: count(stack, "a") == 3, "all three likes")
    assert count(stack, "b") == 2 and stack.dead_letters() == []
    # What a row says of somebody who is erased goes with them.
    stack.cli("forget", "eve")
    until(lambda: (count(stack, "a"), count(stack, "b")) == (2, 1), "eve's likes are gone")
    assert {("change" in row, "forget_at" in row) for row in rows(stack) if "eve" in row["pk"]["S"]} == {(False, True)}
    assert {("change" in row, "forget_at" in row) for row in rows(stack) if "dan" in row["pk"]["S"]} == {(True, False)}


def test_a_batch_that_was_given_up_is_listed_and_not_redriven(own_stack):
    given_up = {
        "requestContext": {"requestId": "1", "condition": "RetryAttemptsExhausted"},
        "DDBStreamBatchInfo": {"shardId": "shardId-1", "startSequenceNumber": "111", "endSequenceNumber": "222", "batchSize": 3},
    }
    queue = own_stack.exports["NAGARE_DEAD_LETTER_QUEUE_URL"]
    own_stack.sqs.send_message(QueueUrl=queue, MessageBody=json.dumps(given_up))
    until(lambda: len(own_stack.dead_letters()) == 1, "a dead letter")
    listed = own_stack.cli("dead-letters", "list").stdout
    assert listed.startswith("stream-batch") and "3 changes of shardId-1, 111 to 222" in listed, listed
    [letter] = own_stack.dead_letters()
    refused = own_stack.cli("dead-letters", "redrive", letter["id"], code=1).stderr
    assert "Changes of facts that were given up" in refused, refused
    own_stack.cli("dead-letters", "drop", "--reason", "stream-batch")
    assert own_stack.dead_letters() == []

//! Short names for what functions are given: commands, batches of them, requests.

use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use serde_json::{Value, json};
use shared::platform::dead_letters::SOURCE;
use shared::platform::runtime::deadline::Deadline;

use crate::COMMAND_QUEUE_ARN;

/// A deadline that no test comes near.
#[must_use]
pub fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(20))
}

/// An event as API Gateway makes it, with what its authorizer found out.
#[must_use]
pub fn api_event(method: &str, path: &str, query: &str, authorizer: Option<Value>) -> Value {
    let mut event = json!({
        "version": "2.0", "rawPath": path, "rawQueryString": query, "headers": {},
        "requestContext": {"stage": "$default", "timeEpoch": 0, "http": {
            "method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1",
        }},
    });
    if let Some(authorizer) = authorizer {
        event["requestContext"]["authorizer"] = authorizer;
    }
    event
}

/// A message as Lambda hands it over.
#[must_use]
pub fn message(id: &str, body: &str, receives: u32) -> SqsMessage {
    serde_json::from_value(json!({
        "messageId": id, "body": body,
        "attributes": {"ApproximateReceiveCount": receives.to_string(), "SentTimestamp": "1795176000000"},
    }))
    .unwrap()
}

/// A message that SQS moved from the queue of commands to that of dead letters.
#[must_use]
pub fn moved(id: &str, body: &str) -> SqsMessage {
    let mut moved = message(id, body, 1);
    moved.attributes.insert(SOURCE.to_owned(), COMMAND_QUEUE_ARN.to_owned());
    moved
}

#[must_use]
pub fn event(records: impl IntoIterator<Item = SqsMessage>) -> SqsEvent {
    let mut event = SqsEvent::default();
    event.records = records.into_iter().collect();
    event
}

#[must_use]
pub fn unfinished_ids(response: &SqsBatchResponse) -> Vec<String> {
    response.batch_item_failures.iter().map(|item| item.item_identifier.clone()).collect()
}

/// The reported ids, as indexes into the batch.
#[must_use]
pub fn unfinished(response: &SqsBatchResponse) -> Vec<usize> {
    let ids = response.batch_item_failures.iter().map(|item| item.item_identifier.parse());
    ids.collect::<Result<_, _>>().unwrap()
}

#[must_use]
pub fn follow(follower: &str, followee: &str, at: &str) -> Value {
    json!({"type": "follow.created", "follower_id": follower, "followee_id": followee, "at": at})
}

#[must_use]
pub fn unfollow(follower: &str, followee: &str, at: &str) -> Value {
    json!({"type": "follow.deleted", "follower_id": follower, "followee_id": followee, "at": at})
}

#[must_use]
pub fn publish(actor: &str, activity: &str, at: &str) -> Value {
    json!({"type": "activity.published", "actor_id": actor, "activity_id": activity,
           "published_at": at, "payload": {"of": activity}})
}

#[must_use]
pub fn delete(actor: &str, activity: &str) -> Value {
    json!({"type": "activity.deleted", "actor_id": actor, "activity_id": activity})
}

//! From a message on the dead-letter queue to the letter that is kept.

use aws_lambda_events::event::sqs::SqsMessage;
use shared::command::Command;
use shared::dead_letters::{
    DETAIL, DeadLetter, MAX_RECEIVES, ORIGIN, REASON, RECEIVES, RECEIVES_EXHAUSTED, SENT,
    STREAM_BATCH, StreamBatch, cut, is_reason,
};
use shared::values::{Timestamp, is_message_id};

/// Reads a letter out of the message with this id. Nothing can be wrong enough with a message for it
/// not to be kept.
pub(crate) fn read(message_id: &str, message: &SqsMessage, now: Timestamp) -> DeadLetter {
    // SQS takes no message without a body. What has none says nothing, and is kept as that.
    let body = message.body.clone().unwrap_or_default();
    let Cause { reason, detail, verified } = cause(message, &body, now);
    let number = |text: Option<&str>| text.and_then(|digits| digits.parse().ok());
    let system = |name: &str| message.attributes.get(name).map(String::as_str);
    DeadLetter {
        id: sent(message, ORIGIN).filter(|id| is_message_id(id)).unwrap_or(message_id).to_owned(),
        receive_count: number(sent(message, RECEIVES)).unwrap_or(i64::from(MAX_RECEIVES)),
        sent_at: number(sent(message, SENT))
            .or(number(system("SentTimestamp")))
            .map_or(now, Timestamp::from_unix_millis),
        stored_at: now,
        group: system("MessageGroupId").map(ToOwned::to_owned),
        message_id: message_id.to_owned(),
        reason,
        detail,
        verified,
        body,
    }
}

/// Why a command gave up.
struct Cause {
    reason: String,
    detail: String,
    verified: bool,
}

/// What the body itself bears out, or else what the message says of itself. The writer's messages say
/// that, but anybody who may send to the dead-letter queue can.
fn cause(message: &SqsMessage, body: &str, now: Timestamp) -> Cause {
    let judged = judged(body, now);
    let claimed = sent(message, REASON).filter(|reason| is_reason(reason));
    let Some(reason) = claimed.filter(|reason| *reason != judged.reason) else { return judged };
    let detail = cut(sent(message, DETAIL).map_or_else(String::new, ToOwned::to_owned));
    Cause { reason: reason.to_owned(), detail, verified: false }
}

/// The body says whether it is a command at all, or what Lambda sends of changes that it gave up. If it is a command,
/// and nothing else is known, the function died on it every time. Whether an internal command was sealed by the
/// writer is not asked: one that was not comes with the writer's own word for that.
fn judged(body: &str, now: Timestamp) -> Cause {
    let (reason, detail) = match (Command::parse_unverified(body, now), StreamBatch::read(body)) {
        (Err(_), Some(batch)) => (STREAM_BATCH, batch.to_string()),
        (Err(error), None) => (error.reason(), error.unredacted()),
        (Ok(_), _) => (RECEIVES_EXHAUSTED, format!("not done after {MAX_RECEIVES} receives")),
    };
    Cause { reason: reason.to_owned(), detail: cut(detail), verified: true }
}

/// The text of a message attribute, if it was sent.
fn sent<'a>(message: &'a SqsMessage, name: &str) -> Option<&'a str> {
    let value = message.message_attributes.get(name)?.string_value.as_deref();
    value.filter(|text| !text.is_empty())
}

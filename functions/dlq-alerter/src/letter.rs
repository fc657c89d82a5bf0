//! From a message on the dead-letter queue to the letter that is kept.

use aws_lambda_events::event::sqs::SqsMessage;
use shared::command::Command;
use shared::platform::dead_letters::{
    DETAIL, DeadLetter, Evidence, MAX_RECEIVES, ORIGIN, REASON, RECEIVES, RECEIVES_EXHAUSTED, SENT,
    SOURCE, STREAM_BATCH, StreamBatch, cut, is_reason,
};
use shared::platform::values::{Timestamp, is_message_id};

use crate::alerter::Alerter;

/// Reads a letter out of the message with this id. Nothing can be wrong enough with a message for it
/// not to be kept.
pub(crate) fn read(alerter: &Alerter, message_id: &str, message: &SqsMessage) -> DeadLetter {
    let now = alerter.clock.now();
    // SQS takes no message without a body. What has none says nothing, and is kept as that.
    let body = message.body.clone().unwrap_or_default();
    let evidence = evidence(alerter, message, &body);
    let Cause { reason, detail } = cause(message, &body, evidence, now);
    // What a message that SQS moved says of its receives is its producer's word.
    let said = |name| sent(message, name).filter(|_| evidence != Some(Evidence::Redrive));
    let number = |text: Option<&str>| text.and_then(|digits| digits.parse().ok());
    let system = |name: &str| message.attributes.get(name).map(String::as_str);
    DeadLetter {
        // Anybody may name an id: it is one's own place, or a place where nothing else is.
        id: sent(message, ORIGIN).filter(|id| is_message_id(id)).unwrap_or(message_id).to_owned(),
        receive_count: number(said(RECEIVES)).unwrap_or(i64::from(MAX_RECEIVES)),
        sent_at: number(said(SENT))
            .or(number(system("SentTimestamp")))
            .map_or(now, Timestamp::from_unix_millis),
        stored_at: now,
        group: system("MessageGroupId").map(ToOwned::to_owned),
        message_id: message_id.to_owned(),
        reason,
        detail,
        evidence,
        body,
    }
}

/// What shows where a message comes from.
fn evidence(alerter: &Alerter, message: &SqsMessage, body: &str) -> Option<Evidence> {
    let moved_from = message.attributes.get(SOURCE);
    match moved_from.is_some_and(|queue| *queue == alerter.command_queue_arn) {
        true => Some(Evidence::Redrive),
        false => alerter.seal.fits(body, |name| sent(message, name)).then_some(Evidence::Seal),
    }
}

/// Why a command gave up.
struct Cause {
    reason: String,
    detail: String,
}

/// What the functions say, or else what the body itself bears out. Of a letter without evidence it is what the
/// message says of itself.
fn cause(message: &SqsMessage, body: &str, evidence: Option<Evidence>, now: Timestamp) -> Cause {
    let judged = judged(body, now);
    let said = match evidence {
        Some(Evidence::Redrive) => None,
        Some(Evidence::Seal) | None => sent(message, REASON).filter(|reason| is_reason(reason)),
    };
    let Some(reason) = said.filter(|reason| *reason != judged.reason) else { return judged };
    let detail = sent(message, DETAIL).unwrap_or_default().to_owned();
    Cause { reason: reason.to_owned(), detail: cut(detail) }
}

/// The body says whether it is a command at all, or what Lambda sends of changes that it gave up. If it is a command,
/// and nothing else is known, the function died on it every time. Whether an internal command was sealed by the
/// writer is not asked: one that was not comes with the writer's own word for that.
fn judged(body: &str, now: Timestamp) -> Cause {
    let (reason, detail) = match (Command::parse_unverified(body, now), StreamBatch::read(body)) {
        (Err(_), Some(batch)) => (STREAM_BATCH, batch.to_string()),
        (Err(error), None) => (error.reason(), error.unredacted()),
        (Ok(_), _) => (RECEIVES_EXHAUSTED, exhausted()),
    };
    Cause { reason: reason.to_owned(), detail: cut(detail) }
}

/// The detail of a letter that SQS moved. A writer that fails sends its cause with the letter.
fn exhausted() -> String {
    format!(
        "not done after {MAX_RECEIVES} receives: the function ended each time, or could not reach the dead-letter queue with its \
         cause; its log has a line for each"
    )
}

/// The text of a message attribute, if it was sent.
fn sent<'a>(message: &'a SqsMessage, name: &str) -> Option<&'a str> {
    let value = message.message_attributes.get(name)?.string_value.as_deref();
    value.filter(|text| !text.is_empty())
}

//! From a message on the dead-letter queue to the letter that is kept.

use aws_lambda_events::event::sqs::SqsMessage;
use shared::Timestamp;
use shared::command::Command;
use shared::dead_letter::{
    DETAIL, MAX_RECEIVES, ORIGIN, REASON, RECEIVES, RECEIVES_EXHAUSTED, SENT, is_id, is_reason,
};
use shared::store::DeadLetter;

/// Reads a letter out of a message. Nothing can be wrong enough with a message for it not to be
/// kept.
pub(crate) fn read(message: &SqsMessage, now: Timestamp) -> DeadLetter {
    let message_id = message.message_id.clone().unwrap_or_default();
    let body = message.body.clone().unwrap_or_default();
    let (reason, detail) = why(message, &body, now);
    let number = |text: Option<&str>| text.and_then(|digits| digits.parse().ok());
    let system = |name: &str| message.attributes.get(name).map(String::as_str);
    DeadLetter {
        id: sent(message, ORIGIN).filter(|id| is_id(id)).unwrap_or(&message_id).to_owned(),
        receive_count: number(sent(message, RECEIVES)).unwrap_or(i64::from(MAX_RECEIVES)),
        sent_at: number(sent(message, SENT))
            .or(number(system("SentTimestamp")))
            .map_or(now, Timestamp::from_unix_millis),
        stored_at: now,
        group: system("MessageGroupId").map(ToOwned::to_owned),
        message_id,
        reason,
        detail,
        body,
    }
}

/// The reason that the writer sent along. The queue itself moves a message without one: then the
/// body says whether it is a command at all, and if it is, the function died on it every time.
fn why(message: &SqsMessage, body: &str, now: Timestamp) -> (String, String) {
    if let Some(reason) = sent(message, REASON).filter(|reason| is_reason(reason)) {
        return (reason.to_owned(), sent(message, DETAIL).unwrap_or_default().to_owned());
    }
    match Command::parse(body, now) {
        Err(error) => (error.reason().to_owned(), error.in_full()),
        Ok(_) => {
            let detail = format!("not done after {MAX_RECEIVES} receives");
            (RECEIVES_EXHAUSTED.to_owned(), detail)
        }
    }
}

/// The text of a message attribute, if it was sent.
fn sent<'a>(message: &'a SqsMessage, name: &str) -> Option<&'a str> {
    let value = message.message_attributes.get(name)?.string_value.as_deref();
    value.filter(|text| !text.is_empty())
}

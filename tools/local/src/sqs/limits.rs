//! SQS's documented limits, each as the check that enforces it.

use std::collections::HashSet;
use std::time::Duration;

use super::error::QueueError;

/// One message with its attributes, and one batch of messages, may have this many bytes.
pub(super) const MAX_BYTES: usize = 1_048_576;
pub(super) const MAX_DELAY: Duration = Duration::from_secs(900);
const MAX_BATCH: usize = 10;

pub(super) fn check_delay(delay: Duration) -> Result<(), QueueError> {
    if delay <= MAX_DELAY {
        return Ok(());
    }
    let (value, max) = (delay.as_secs_f64(), MAX_DELAY.as_secs());
    let reason = format!("Must be between 0 and {max}, if provided.");
    Err(invalid_value("DelaySeconds", &value.to_string(), &reason))
}

pub(super) fn check_batch_len(entries: usize) -> Result<(), QueueError> {
    match entries {
        0 => Err(QueueError::EmptyBatchRequest),
        1..=MAX_BATCH => Ok(()),
        _ => Err(QueueError::TooManyEntriesInBatchRequest(entries)),
    }
}

pub(super) fn check_batch_ids<'a>(
    ids: impl ExactSizeIterator<Item = &'a str>,
) -> Result<(), QueueError> {
    check_batch_len(ids.len())?;
    let mut seen = HashSet::new();
    for id in ids {
        if !is_identifier(id) {
            return Err(QueueError::InvalidBatchEntryId);
        }
        if !seen.insert(id) {
            return Err(QueueError::BatchEntryIdsNotDistinct(id.to_owned()));
        }
    }
    Ok(())
}

/// The alphabet of batch entry ids.
fn is_identifier(text: &str) -> bool {
    (1..=80).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

pub(super) fn check_body(body: &str) -> Result<(), QueueError> {
    if body.is_empty() {
        return Err(QueueError::MissingParameter("MessageBody"));
    }
    check_characters(body)
}

/// SQS takes the characters that XML 1.0 allows.
pub(super) fn check_characters(text: &str) -> Result<(), QueueError> {
    let allowed = |c| match c {
        '\t' | '\n' | '\r' => true,
        '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => false,
        _ => true,
    };
    if text.chars().all(allowed) { Ok(()) } else { Err(QueueError::InvalidMessageContents) }
}

pub(super) fn check_group_id(id: &str) -> Result<(), QueueError> {
    if (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(());
    }
    let reason = "It can only include 1 to 128 alphanumeric and punctuation characters.";
    Err(invalid_value("MessageGroupId", id, reason))
}

/// SQS's sentence for a value it does not take.
pub(super) fn invalid_value(name: &str, value: &str, reason: &str) -> QueueError {
    let sentence = format!("Value {value} for parameter {name} is invalid. Reason: {reason}");
    QueueError::InvalidParameterValue(sentence)
}

/// Every duration of a queue is checked to be days at most, so it always fits.
pub(super) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

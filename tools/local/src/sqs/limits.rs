//! SQS's documented limits, each as the check that enforces it.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::error::QueueError;

/// One message with its attributes, and one batch of messages, may have this many bytes.
pub(super) const MAX_BYTES: usize = 1_048_576;
pub(super) const MAX_VISIBILITY: Duration = Duration::from_secs(43_200);
pub(super) const RETENTION: RangeInclusive<Duration> =
    Duration::from_secs(60)..=Duration::from_secs(14 * 86_400);
pub(super) const MAX_DELAY: Duration = Duration::from_secs(900);
const MAX_WAIT: Duration = Duration::from_secs(20);
const MAX_BATCH: usize = 10;

pub(super) fn check_delay(delay: Duration) -> Result<(), QueueError> {
    check_at_most("DelaySeconds", delay, MAX_DELAY)
}

pub(super) fn check_visibility(timeout: Duration) -> Result<(), QueueError> {
    check_at_most("VisibilityTimeout", timeout, MAX_VISIBILITY)
}

pub(super) fn check_wait(wait: Duration) -> Result<(), QueueError> {
    check_at_most("WaitTimeSeconds", wait, MAX_WAIT)
}

fn check_at_most(name: &str, value: Duration, max: Duration) -> Result<(), QueueError> {
    if value <= max {
        return Ok(());
    }
    let (value, max) = (value.as_secs_f64(), max.as_secs());
    let reason = format!("Must be between 0 and {max}, if provided.");
    Err(invalid_value(name, &value.to_string(), &reason))
}

pub(super) fn check_max_messages(max: usize) -> Result<(), QueueError> {
    if (1..=MAX_BATCH).contains(&max) {
        return Ok(());
    }
    let reason = "Must be between 1 and 10, if provided.";
    Err(invalid_value("MaxNumberOfMessages", &max.to_string(), reason))
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

/// The alphabet that queue names and batch entry ids share.
pub(super) fn is_identifier(text: &str) -> bool {
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

//! What travels with a command on its way to the dead letters: names of message attributes.
//!
//! The writer sends a command that failed for good to the dead-letter queue itself, with the reason, and the
//! projector a change that cannot be folded; a command that the queue moved there by its receive count has none of
//! these. The functions seal what they send ([`LetterSeal`](super::LetterSeal)). Without their seal all of it is claims of whoever
//! sent it: they have to have a form ([`is_message_id`](crate::values::is_message_id), [`is_reason`]) and a length ([`cut`]).

use crate::queue;

/// Why it failed, in a short fixed word.
pub const REASON: &str = "nagare.reason";
/// Why it failed, in a sentence.
pub const DETAIL: &str = "nagare.detail";
/// The id of the message that was first sent.
pub const ORIGIN: &str = "nagare.origin";
/// How often it had been received.
pub const RECEIVES: &str = "nagare.receives";
/// When it was first sent, in unix milliseconds.
pub const SENT: &str = "nagare.sent";

/// Receives of a command before it becomes a dead letter. The queue's redrive policy says the same.
pub const MAX_RECEIVES: u32 = 5;
/// The reason of a letter that the queue moved without one: the function died on it every time.
pub const RECEIVES_EXHAUSTED: &str = "receives-exhausted";

/// The reason of a change of a fact that a view could not fold.
pub const UNFOLDABLE: &str = "unfoldable";
/// The reason of a batch of changes that was given up ([`StreamBatch`](super::StreamBatch)).
pub const STREAM_BATCH: &str = "stream-batch";

/// All the reasons there are. Whatever else a letter gives as its reason is somebody's own words.
pub const REASONS: [&str; 23] = [
    "not-json",
    "unknown-type",
    "malformed",
    "conflict",
    "too-many-votes",
    "event-too-late",
    "event-conflict",
    "queue-unavailable",
    "queue-missing",
    "queue-refused",
    "bus-unavailable",
    "bus-missing",
    "throttled",
    "contended",
    "store-unavailable",
    "table-missing",
    "access-denied",
    "store-rejected",
    "corrupt-record",
    "out-of-time",
    RECEIVES_EXHAUSTED,
    UNFOLDABLE,
    STREAM_BATCH,
];

/// The reason, if it is one; `other` for the words of somebody else, which stay out of logs and
/// metrics.
#[must_use]
pub fn known_reason(text: &str) -> &'static str {
    REASONS.into_iter().find(|reason| *reason == text).unwrap_or("other")
}

/// True if a producer has sent what can never be applied: all else is a matter of Nagare's or AWS's own.
#[must_use]
pub fn is_of_a_producer(reason: &str) -> bool {
    matches!(
        reason,
        "not-json"
            | "unknown-type"
            | "malformed"
            | "conflict"
            | "too-many-votes"
            | "event-too-late"
            | "event-conflict"
    )
}

/// True for a text that can be a reason: 1 to 40 characters of `a-z -`. Every reason becomes a metric of
/// its own, so what somebody else writes into [`REASON`] may not be any text.
#[must_use]
pub fn is_reason(text: &str) -> bool {
    (1..=40).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
}

/// The most bytes of a detail. Bodies are kept in parts of their own; this stays beside one in its item.
pub const MAX_DETAIL_BYTES: usize = 2_000;

/// The text, or as much of its beginning as [`MAX_DETAIL_BYTES`] hold, with `…` where the rest was.
#[must_use]
pub fn cut(mut text: String) -> String {
    const MARK: char = '…';
    if text.len() > MAX_DETAIL_BYTES {
        text.truncate(text.floor_char_boundary(MAX_DETAIL_BYTES - MARK.len_utf8()));
        text.push(MARK);
    }
    text
}

/// True if a body and these string attributes fit into one message. A body may be as long as a message
/// by itself; it then travels without them.
#[must_use]
pub fn fits(body: &str, attributes: &[(&str, String)]) -> bool {
    queue::bytes(body, attributes) <= queue::MAX_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detail_is_cut_between_characters() {
        for text in ["", "short", &"x".repeat(MAX_DETAIL_BYTES)] {
            assert_eq!(cut(text.to_owned()), text);
        }
        for (character, kept) in [("x", 1_997), ("é", 998), ("😀", 499)] {
            assert_eq!(cut(character.repeat(2_001)), character.repeat(kept) + "…");
        }
    }

    /// What an error of the queue gives as its reason is a reason here.
    #[test]
    fn the_reasons_of_a_queue_are_reasons() {
        use crate::queue::SendError;
        use crate::runtime::deadline::DeadlineExceeded;

        let text = || "x".to_owned();
        for error in [
            SendError::Throttled,
            SendError::Unavailable(text()),
            SendError::Missing,
            SendError::Denied(text()),
            SendError::not_built("x"),
            DeadlineExceeded.into(),
        ] {
            assert_eq!(known_reason(error.reason()), error.reason(), "{error}");
        }
    }
}

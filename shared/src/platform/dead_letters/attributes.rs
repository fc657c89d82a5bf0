//! The message attributes of a dead letter.
//!
//! The writer itself sends a command that failed permanently to the dead-letter queue, with the reason, and a projector a change that
//! cannot be folded. A command that the queue moved there by its receive count has none of these attributes. The functions seal what
//! they send ([`LetterSeal`](super::LetterSeal)). Without their seal, attributes are claims of the sender, so their form
//! ([`is_message_id`](crate::platform::values::is_message_id), [`is_reason`]) and length ([`cut`]) are checked.

use crate::platform::queue;

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
/// The reason of a letter that the queue moved: the function died on it every time.
pub const RECEIVES_EXHAUSTED: &str = "receives-exhausted";

/// The reason of a change of a fact that a view could not fold.
pub const UNFOLDABLE: &str = "unfoldable";
/// The reason of a batch of changes that was given up ([`StreamBatch`](super::StreamBatch)).
pub const STREAM_BATCH: &str = "stream-batch";

/// All reasons. Any other reason of a letter is text of a stranger.
pub const REASONS: [&str; 26] = [
    "not-json",
    "unknown-type",
    "malformed",
    "conflict",
    "too-many-votes",
    "too-many-definitions",
    "too-many-names",
    "event-too-late",
    "event-conflict",
    "history-off",
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

/// The reason if it is known, otherwise `other`: text of a stranger stays out of logs and metrics.
pub fn known_reason(text: &str) -> &'static str {
    REASONS.into_iter().find(|reason| *reason == text).unwrap_or("other")
}

/// True for a text that can be a reason: 1 to 40 characters of `a-z -`. Every reason becomes a metric of its own, so arbitrary text in
/// [`REASON`] is not accepted.
pub fn is_reason(text: &str) -> bool {
    (1..=40).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
}

/// The most bytes of a detail, which is in one item with a part of the body.
pub const MAX_DETAIL_BYTES: usize = 2_000;

/// Cuts a text to [`MAX_DETAIL_BYTES`], with `…` at the end.
pub fn cut(mut text: String) -> String {
    const MARK: char = '…';
    if text.len() > MAX_DETAIL_BYTES {
        text.truncate(text.floor_char_boundary(MAX_DETAIL_BYTES - MARK.len_utf8()));
        text.push(MARK);
    }
    text
}

/// True if a body and these string attributes fit into one message. A body of the greatest length travels without them.
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
        use crate::platform::queue::SendError;
        use crate::platform::runtime::deadline::DeadlineExceeded;

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

//! What travels with a command on its way to the dead letters: names of message attributes.
//!
//! The writer sends a command that failed for good to the dead-letter queue itself, with the reason;
//! one that the queue moved there by its receive count has none of these.

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

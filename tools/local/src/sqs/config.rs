//! What a queue is, as decided at start.

use std::time::Duration;

use super::limits;

/// The account that every local queue belongs to.
pub const ACCOUNT_ID: &str = "000000000000";
/// The region of every local queue. AWS has no such region: for its own, version 1 of the `aws` command
/// line ignores the endpoint it is given.
pub use nagare_client::local_stack::REGION;

/// The settings of one queue.
#[derive(Debug, Clone)]
pub struct QueueConfig {
    /// Its name, in its URL and its ARN.
    pub name: String,
    /// How long a received message stays hidden unless the receive says otherwise.
    pub visibility_timeout: Duration,
    /// How long a message is kept, from its first enqueue.
    pub retention: Duration,
    /// Where messages go that are received too often.
    pub redrive: Option<Redrive>,
    /// The largest message with its attributes.
    pub max_message_bytes: usize,
}

/// When and where a message becomes a dead letter.
#[derive(Debug, Clone)]
pub struct Redrive {
    /// After this many receives, the next one moves the message.
    pub max_receives: u32,
    /// The name of another queue of the same set.
    pub dead_letter_queue: String,
}

impl QueueConfig {
    /// A queue with SQS's defaults: 30 seconds of visibility, 4 days of retention, 1 MiB, no
    /// redrive.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            visibility_timeout: Duration::from_secs(30),
            retention: Duration::from_secs(4 * 86_400),
            redrive: None,
            max_message_bytes: limits::MAX_BYTES,
        }
    }

    /// The queue's ARN.
    pub fn arn(&self) -> String {
        arn(&self.name)
    }
}

pub(super) fn arn(name: &str) -> String {
    format!("arn:aws:sqs:{REGION}:{ACCOUNT_ID}:{name}")
}

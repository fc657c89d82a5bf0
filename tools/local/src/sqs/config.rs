//! What a queue is, as decided at start.

use std::time::Duration;

use super::error::QueueError;
use super::limits;

/// The account that every local queue belongs to.
pub const ACCOUNT_ID: &str = "000000000000";
/// The region of every local queue. AWS has no such region: for its own, version 1 of the `aws` command
/// line ignores the endpoint it is given.
pub use nagare_client::local_stack::REGION;

/// The settings of one queue.
#[derive(Debug, Clone)]
pub struct QueueConfig {
    /// 1 to 80 characters of `A-Z a-z 0-9 - _`.
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

    fn check(&self, all: &[QueueConfig]) -> Result<(), QueueError> {
        let name = &self.name;
        require(limits::is_identifier(name), name, "has an invalid name")?;
        require(
            all.iter().filter(|other| other.name == *name).count() == 1,
            name,
            "is there twice",
        )?;
        require(
            self.visibility_timeout <= limits::MAX_VISIBILITY,
            name,
            "hides messages for more than 12 hours",
        )?;
        require(
            limits::RETENTION.contains(&self.retention),
            name,
            "keeps messages for less than a minute or more than 14 days",
        )?;
        require(
            (1_024..=limits::MAX_BYTES).contains(&self.max_message_bytes),
            name,
            "has a largest message outside of 1 KiB to 1 MiB",
        )?;
        self.redrive.as_ref().map_or(Ok(()), |redrive| redrive.check(name, all))
    }
}

impl Redrive {
    fn check(&self, source: &str, all: &[QueueConfig]) -> Result<(), QueueError> {
        require(
            (1..=1_000).contains(&self.max_receives),
            source,
            "allows fewer than 1 or more than 1000 receives",
        )?;
        let target = &self.dead_letter_queue;
        require(target != source, source, "is its own dead-letter queue")?;
        require(
            all.iter().any(|queue| queue.name == *target),
            source,
            "names a dead-letter queue that does not exist",
        )
    }
}

pub(super) fn check_all(configs: &[QueueConfig]) -> Result<(), QueueError> {
    configs.iter().try_for_each(|config| config.check(configs))
}

pub(super) fn arn(name: &str) -> String {
    format!("arn:aws:sqs:{REGION}:{ACCOUNT_ID}:{name}")
}

fn require(holds: bool, queue: &str, otherwise: &str) -> Result<(), QueueError> {
    if holds {
        return Ok(());
    }
    Err(QueueError::Configuration(format!("queue {queue:?} {otherwise}")))
}

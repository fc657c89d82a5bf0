//! Why changes have to be delivered again.

use shared::platform::dynamo::DynamoError;
use shared::platform::outbound::BusError;
use shared::platform::queue::SendError;

/// Why changes have to be delivered again. Its sentence goes into logs.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A view could not be read or written, or what depends on it.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// The view is written, and the bus was not told.
    #[error("the event bus was not told: {0}")]
    Bus(#[from] BusError),
    /// What was set aside is not on the dead-letter queue.
    #[error("the dead-letter queue did not take what was set aside: {0}")]
    Queue(#[from] SendError),
}

impl Failure {
    /// True if retries cannot help: a stored item has to be repaired.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Dynamo(error) if error.is_refusal())
    }

    /// A short fixed word, as dead letters have it.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Dynamo(error) => error.reason(),
            Self::Bus(error) => error.reason(),
            Self::Queue(error) => error.reason(),
        }
    }
}

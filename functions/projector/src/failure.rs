//! Why changes have to be delivered again.

use std::sync::Arc;

use shared::history::tenants::DecideError;
use shared::platform::dynamo::DynamoError;
use shared::platform::outbound::BusError;
use shared::platform::queue::SendError;

/// Why changes have to be delivered again. Its sentence goes into logs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The view could not be read or written.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// The rules of a tenant could not be read, or what they decided could not be written.
    #[error(transparent)]
    Rules(#[from] Arc<DecideError>),
    /// The view is written, and the bus was not told.
    #[error("the event bus was not told: {0}")]
    Bus(#[from] BusError),
    /// What was set aside is not on the dead-letter queue.
    #[error("the dead-letter queue did not take what was set aside: {0}")]
    Queue(#[from] SendError),
}

impl Failure {
    /// A short fixed word, as dead letters have it.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Dynamo(error) => error.reason(),
            Self::Rules(error) => error.reason(),
            Self::Bus(error) => error.reason(),
            Self::Queue(error) => error.reason(),
        }
    }
}

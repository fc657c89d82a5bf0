//! A command that was sent from here, and what is known of it.

use std::time::{Duration, Instant};

use nagare_operator::effects::CommandStatus;
use shared::platform::values::{ActivityId, Timestamp};
use tokio::sync::watch;

/// A message that the queue has accepted.
#[derive(Debug)]
pub(crate) struct Sent {
    pub(crate) message_id: String,
    pub(crate) body: String,
    /// What it is called: its type, or that it is none.
    pub(crate) name: String,
    pub(crate) at: Timestamp,
    /// The activity that it publishes or deletes.
    pub(crate) activity: Option<ActivityId>,
    pub(crate) begun: Instant,
    pub(crate) known: watch::Sender<Known>,
}

#[derive(Debug, Clone)]
pub(crate) enum Known {
    /// It is on its way. With what the last look failed of, if it did.
    OnItsWay(Option<String>),
    /// This has become of it, that long after it was sent.
    Ended(CommandStatus, Duration),
    /// Nobody looks any more.
    GivenUp,
}

impl Sent {
    pub(crate) fn known(&self) -> Known {
        self.known.borrow().clone()
    }
}

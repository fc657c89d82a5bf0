//! What operators do to a stack. Nothing here is in the functions.
//!
//! ```text
//! audit     compares what viewers see with the source of truth, and repairs it
//! erasure   removes everything about one person, customer or tenant
//! effects   says whether a command is in effect
//! letters   sends dead letters again
//! fanout    how far a fan-out has come
//! periods   what the event history is cut into
//! cost      what the service costs on AWS
//! progress  progress bars
//! ```

pub mod audit;
pub mod cost;
pub mod effects;
pub mod erasure;
pub mod event_scope;
pub mod fanout;
pub mod letters;
pub mod periods;
pub mod progress;
pub mod scan;

use std::time::Duration;

use shared::dynamo::DynamoError;
use shared::runtime::deadline::Deadline;

type Result<T, E = DynamoError> = std::result::Result<T, E>;

/// How long a single call is tried for.
const PATIENCE: Duration = Duration::from_secs(8);

/// How long one object of an archive may take.
pub const PER_OBJECT: Duration = Duration::from_secs(120);

#[must_use]
pub fn soon() -> Deadline {
    Deadline::after(PATIENCE)
}

//! What operators do to a stack. Nothing here is in the functions.
//!
//! ```text
//! audit     compares what viewers see with the source of truth, and repairs it
//! erasure   removes everything about one person, customer or tenant
//! effects   says whether a command is in effect
//! completion  sends many commands, and waits for these
//! letters   sends dead letters again
//! fanout    how far a fan-out has come
//! periods   what the event history is cut into
//! cost      what the service costs on AWS
//! progress  progress bars
//! ```

pub mod audit;
pub mod completion;
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

use nagare_client::call_timeout::call_timeout;
use shared::platform::dynamo::DynamoError;
use shared::platform::runtime::deadline::Deadline;

type Result<T, E = DynamoError> = std::result::Result<T, E>;

/// The slowest connection over which objects of an archive are moved, in bytes a second: about 2
/// Mbit/s.
const SLOWEST: u64 = 250_000;

/// The deadline of a call that begins now.
pub fn soon() -> Deadline {
    Deadline::after(call_timeout())
}

/// The deadline of moving an object of this many bytes: that of any call, and time for the bytes.
pub fn object_deadline(bytes: u64) -> Deadline {
    Deadline::after(call_timeout() + Duration::from_secs(bytes / SLOWEST))
}

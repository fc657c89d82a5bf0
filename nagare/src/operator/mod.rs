//! What operators do to a stack. Nothing here is in the functions.

pub mod audit;
pub mod effects;
pub mod erasure;
pub mod event_scope;
pub(crate) mod fanout;
pub(crate) mod letters;
pub(crate) mod periods;
pub(crate) mod scan;

use std::time::Duration;

use shared::runtime::deadline::Deadline;

/// How long a single call is tried for.
const PATIENCE: Duration = Duration::from_secs(8);

/// How long one object of an archive may take.
pub(crate) const PER_OBJECT: Duration = Duration::from_secs(120);

/// The deadline of one call made now.
pub(crate) fn soon() -> Deadline {
    Deadline::after(PATIENCE)
}

//! The steps, each of them idempotent.

mod archive;
mod capacity;
mod expire;
mod stream;
mod table;
mod verify;

use shared::history::events::PeriodRow;

/// The result of a step that did not fail.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub(crate) enum Outcome {
    /// The row has changed: by this step, or by somebody else.
    Moved(PeriodRow),
    /// It continues with the next tick.
    Waiting,
    /// It waits for something else.
    Unchanged,
}

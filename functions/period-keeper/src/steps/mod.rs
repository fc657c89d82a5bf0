//! The steps, each of them idempotent.

mod archive;
mod expire;
mod stream;
mod table;
mod verify;

use shared::events::PeriodRow;

/// How a step ended that did not fail.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one at a time")]
pub(crate) enum Outcome {
    /// The row is another one now: this step's, or what somebody else has made of it.
    Moved(PeriodRow),
    /// It goes on with the next tick.
    Waiting,
    /// Nothing is to be done before something else has happened.
    Unchanged,
}

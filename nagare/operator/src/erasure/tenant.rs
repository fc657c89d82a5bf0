//! Erasure of a tenant, or of one of its customers: the events, what is folded from them, what was said of them.
//!
//! It deletes events and then empties views, again and again, until the views count nothing of them. Meanwhile the projector folds
//! what is in the stream, and events that arrive are deleted as well. After a minute it gives up; running it again continues.

use std::time::Duration;

use shared::runtime::deadline::Deadline;
use shared::runtime::retry::Backoff;

use super::events::{ErasedEvents, EventErasure, EventErasureError};
use super::summaries::{ErasedSummaries, Lowered, SummaryErasure};
use super::tenants::{self, ErasedItems};

/// How long to wait until what is erased is folded.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was erased, in numbers.
#[derive(Debug, Default)]
pub struct ErasedTenant {
    /// Events.
    pub events: ErasedEvents,
    /// What views counted.
    pub summaries: ErasedSummaries,
    /// What the ledger had.
    pub items: ErasedItems,
}

/// Erases everything of a tenant or of one of its customers.
///
/// # Errors
/// [`EventErasureError`]; erasing again completes it.
pub async fn erase(events: &EventErasure) -> Result<ErasedTenant, EventErasureError> {
    let EventErasure { scope, summaries, clock, ledger, .. } = events;
    let (scope, summaries, clock) = (scope.clone(), summaries.clone(), clock.clone());
    let views = SummaryErasure { scope, summaries, clock };
    let (deadline, mut backoff) = (Deadline::after(PATIENCE), Backoff::default());
    let mut erased = ErasedTenant::default();
    let left = loop {
        let found = events.run().await?;
        let of = Lowered { open: &found.open, waiting: &found.waiting };
        let counted = views.run(&of).await?;
        erased.events.add(found);
        erased.summaries.customers += counted.customers;
        erased.summaries.names += counted.names;
        if counted.left == 0 || backoff.wait(deadline).await.is_err() {
            break counted.left;
        }
    };
    erased.items = tenants::erase(ledger, &events.scope).await?;
    match left {
        0 => Ok(erased),
        left => Err(EventErasureError::NotFolded(left)),
    }
}

//! What the store's work costs, counted as it goes.
//!
//! Not in what the methods return: a command that fails half-way has written and retried too, and
//! that is when somebody wants to know. A function makes itself a [metered](Store::metered) store for
//! each piece of work that it answers for, and reads the meter when the work has ended, well or not.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Store, StoreError};
use crate::pace::Share;

/// What a piece of work cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Entries that were put into timelines or taken out, as the table has acknowledged.
    pub entries: u64,
    /// Entries that were sent, repetitions included.
    pub sends: u64,
    /// Items that a call gave back as unprocessed, so that they were sent or asked for again.
    pub unprocessed: u64,
    /// Calls that failed in a way that another try may mend, and were tried again if there was time.
    pub retries: u64,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.entries += other.entries;
        self.sends += other.sends;
        self.unprocessed += other.unprocessed;
        self.retries += other.retries;
    }
}

/// Adds up. Touched once a call, not once an entry.
#[derive(Debug, Clone, Default)]
pub(super) struct Meter(Arc<Mutex<Tally>>);

impl Meter {
    fn add(&self, tally: Tally) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += tally;
    }

    /// So many entries go out, to be put or taken out.
    pub(super) fn sent(&self, entries: usize) {
        self.add(Tally { sends: entries as u64, ..Tally::default() });
    }

    /// So many of those are acknowledged.
    pub(super) fn written(&self, entries: usize) {
        self.add(Tally { entries: entries as u64, ..Tally::default() });
    }

    /// So many items came back undone from a call that succeeded.
    pub(super) fn unprocessed(&self, items: usize) {
        self.add(Tally { unprocessed: items as u64, ..Tally::default() });
    }

    /// A call failed.
    pub(super) fn failed(&self, error: &StoreError) {
        self.add(Tally { retries: error.is_retryable().into(), ..Tally::default() });
    }
}

impl Store {
    /// The same store for another piece of work: with a meter of its own, which begins at nothing, and
    /// with turns of its own where several pieces of work write at once.
    #[must_use]
    pub fn metered(&self) -> Self {
        Self { meter: Meter::default(), share: Share::default(), ..self.clone() }
    }

    /// What the work done with this store, and with its clones, has cost since it was
    /// [metered](Self::metered).
    #[must_use]
    pub fn tally(&self) -> Tally {
        *self.meter.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

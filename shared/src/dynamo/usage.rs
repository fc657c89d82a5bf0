//! What calls cost, counted as they are made.
//!
//! Not in what the methods return: a command that fails half-way has written and retried too, and
//! that is when somebody wants to know. A function gives each piece of work that it answers for a
//! [metered](super::Dynamo::metered) client, and reads the usage when the work has ended, well or not.

use std::sync::{Arc, Mutex, PoisonError};

use super::DynamoError;

/// What a piece of work cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Items that batches and transactions have put or deleted, as the table has acknowledged.
    pub written: u64,
    /// Items that batches and transactions have sent, repetitions included.
    pub sends: u64,
    /// Items that a call gave back as unprocessed, so that they were sent or asked for again.
    pub unprocessed: u64,
    /// Calls that failed in a way that another try may repair, and were tried again if there was time.
    pub retries: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.written += other.written;
        self.sends += other.sends;
        self.unprocessed += other.unprocessed;
        self.retries += other.retries;
    }
}

/// Adds up. Touched once a call, not once an entry.
#[derive(Debug, Clone, Default)]
pub(super) struct UsageCounter(Arc<Mutex<Usage>>);

impl UsageCounter {
    fn add(&self, usage: Usage) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += usage;
    }

    /// The number so far.
    pub(super) fn read(&self) -> Usage {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// N items are sent, to be put or deleted.
    pub(super) fn sent(&self, items: usize) {
        self.add(Usage { sends: items as u64, ..Usage::default() });
    }

    /// N of those are acknowledged.
    pub(super) fn written(&self, items: usize) {
        self.add(Usage { written: items as u64, ..Usage::default() });
    }

    /// N items came back unprocessed from a call that succeeded.
    pub(super) fn unprocessed(&self, items: usize) {
        self.add(Usage { unprocessed: items as u64, ..Usage::default() });
    }

    /// A call failed.
    pub(super) fn failed(&self, error: &DynamoError) {
        self.add(Usage { retries: error.is_retryable().into(), ..Usage::default() });
    }
}

//! The usage of calls, counted as they are made.
//!
//! Methods do not return it, because a command that fails half-way has usage too, and that is when it matters. A function gives
//! each piece of work a [client of its own](super::Dynamo::for_work), and reads the usage when the work has ended or failed.

use std::sync::{Arc, Mutex, PoisonError};

use super::DynamoError;

/// What a piece of work cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Items put or deleted by batches and transactions, as acknowledged by the table.
    pub written: u64,
    /// Items sent by batches and transactions, including retries.
    pub sends: u64,
    /// Items that a call returned as unprocessed, so that they were sent or requested again.
    pub unprocessed: u64,
    /// Calls that failed with a retryable error, and were retried if there was time.
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

/// Counts usage: once for each call, not for each entry.
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

    pub(super) fn failed(&self, error: &DynamoError) {
        self.add(Usage { retries: error.is_retryable().into(), ..Usage::default() });
    }
}

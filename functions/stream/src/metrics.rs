//! What is counted: changes, and how long they took from fact to view.

use serde::Serialize;
use shared::platform::runtime::metrics::{Count, Durations, MetricNames, Record};

/// The outcome of a batch.
#[derive(Serialize, Default)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Batch {
    pub(crate) changes_folded: Count,
    /// Changes that could not be folded, and are dead letters.
    pub(crate) changes_set_aside: Count,
    /// Views that somebody else wrote meanwhile, which had to be read again.
    pub(crate) view_conflicts: Count,
    /// Views that could not be written.
    pub(crate) views_failed: Count,
    /// Events that the bus does not take.
    pub(crate) outbound_refused: Count,
    /// From the oldest change of the batch to its view.
    pub(crate) projection_lag: Durations,
}

impl Record for Batch {
    const BY: Option<&'static str> = None;
}

/// What is counted.
pub fn metric_names() -> MetricNames {
    MetricNames::of::<Batch>()
}

//! The metrics: events that were accepted, requests that the sender got wrong, and requests that could not be sent on. The last have an
//! alarm.

use api::Problem;
use serde::Serialize;
use shared::runtime::metrics::{Count, MetricNames, Metrics, Record};
use shared::values::Timestamp;

use crate::log::Outcome;

/// What a request came to.
#[derive(Serialize, Default)]
#[serde(rename_all = "PascalCase")]
struct Taken {
    /// Events that are on the queue.
    events_accepted: Count,
    /// Requests that their sender has to correct.
    requests_rejected: Count,
    /// Requests of tenants that sent more than they may.
    requests_limited: Count,
    /// Requests that are not, or not as a whole, on the queue.
    requests_unsent: Count,
    /// Calls of the queue that failed and were made again.
    sends_retried: Count,
}

impl Record for Taken {
    const BY: Option<&'static str> = None;
}

/// Counts a request.
pub(crate) fn count(metrics: &Metrics, outcome: &Outcome<'_>, now: Timestamp) {
    let mut taken = Taken { sends_retried: outcome.retries.into(), ..Taken::default() };
    match outcome.accepted {
        Ok(events) => taken.events_accepted = (events as u64).into(),
        Err(Problem::TooMuch(_)) => taken.requests_limited = 1.into(),
        Err(Problem::Unsent(_)) => taken.requests_unsent = 1.into(),
        Err(_) => taken.requests_rejected = 1.into(),
    }
    metrics.record(&taken, now);
}

/// What is counted.
#[must_use]
pub fn metric_names() -> MetricNames {
    MetricNames::of::<Taken>()
}

//! The metrics: accepted events, rejected requests, and requests that could not be queued. The last have an alarm.

use function_http::Problem;
use serde::Serialize;
use shared::platform::runtime::metrics::{Count, MetricNames, Metrics, Record};
use shared::platform::values::Timestamp;

use crate::log::Outcome;

/// The metrics of a request.
#[derive(Serialize, Default)]
#[serde(rename_all = "PascalCase")]
struct IntakeRecord {
    events_accepted: Count,
    /// Requests that their sender has to correct.
    requests_rejected: Count,
    /// Requests of tenants over their rate.
    requests_limited: Count,
    /// Requests that are not, or not completely, on the queue.
    requests_unsent: Count,
    /// Retried calls of the queue.
    sends_retried: Count,
}

impl Record for IntakeRecord {
    const BY: Option<&'static str> = None;
}

pub(crate) fn count(metrics: &Metrics, outcome: &Outcome<'_>, now: Timestamp) {
    let mut taken =
        IntakeRecord { sends_retried: outcome.retries.into(), ..IntakeRecord::default() };
    match outcome.accepted {
        Ok(events) => taken.events_accepted = (events as u64).into(),
        Err(Problem::TooMuch(_)) => taken.requests_limited = 1.into(),
        Err(Problem::Unsent(_)) => taken.requests_unsent = 1.into(),
        Err(_) => taken.requests_rejected = 1.into(),
    }
    metrics.record(&taken, now);
}

/// What is counted.
pub fn metric_names() -> MetricNames {
    MetricNames::of::<IntakeRecord>()
}

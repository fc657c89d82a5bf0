//! The metrics of requests: collected over many, and written as one line.
//!
//! A line of metrics is twenty times as long as its numbers, so a process collects them and writes a line
//!
//! - at once, if the last line is as old as [`METRICS_WINDOW`], so a reader with little to do counts every page at once;
//! - at once, with all that is collected, for a problem and for retried calls;
//! - when [`METRICS_PAGES`] pages are collected;
//! - with the first request after the window, with the time of the last one collected.
//!
//! When Lambda ends a process, its collected metrics are lost: ordinary pages of less than one window, of a reader that was busy until
//! it was never called again. Lambda announces that end only to processes with an extension, which would slow down every start. No
//! alarm uses these numbers; API Gateway counts the same requests and measures their latency without loss.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use shared::platform::runtime::metrics::{Count, Durations, MetricNames, Metrics, Record};
use shared::platform::values::Timestamp;

use super::log::Answered;

/// The longest time for which pages are collected while requests arrive.
pub const METRICS_WINDOW: Duration = Duration::from_secs(10);
/// The most pages that are collected: CloudWatch takes a hundred values of a metric in one line.
pub const METRICS_PAGES: usize = 100;
/// Latencies are counted in tenths of a millisecond.
const PRECISION: u128 = 100;

/// The metrics of answered requests.
#[derive(Serialize, Debug, Default)]
#[serde(rename_all = "PascalCase")]
struct Answers {
    /// The latency of each served page, inside the function.
    page_latency: Durations,
    /// Requests that were answered with a problem.
    problems: Count,
    /// Retried calls of the tables.
    reads_retried: Count,
    /// Keys that the tables returned unread.
    keys_unprocessed: Count,
}

impl Record for Answers {
    const BY: Option<&'static str> = None;
}

/// Collects the metrics of requests. Cheap to clone; clones collect together.
#[derive(Debug, Clone)]
pub struct RequestMetrics {
    metrics: Metrics,
    gathered: Arc<Mutex<PendingMetrics>>,
}

#[derive(Debug, Default)]
struct PendingMetrics {
    answers: Answers,
    pages: usize,
    /// When the latest of them was answered.
    latest: Option<Timestamp>,
    /// When a line was written last.
    written_at: Option<Timestamp>,
}

impl RequestMetrics {
    pub fn new(metrics: Metrics) -> Self {
        Self { metrics, gathered: Arc::default() }
    }

    pub fn count(&self, answered: &Answered<'_>, now: Timestamp) {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let is_late = gathered.written_at.is_none_or(|at| now.since(at) >= METRICS_WINDOW);
        let wrote_earlier_ones = is_late && gathered.write(&self.metrics, now);
        gathered.add(answered, now);
        let is_alone = is_late && !wrote_earlier_ones;
        if is_alone || !answered.is_smooth() || gathered.pages >= METRICS_PAGES {
            gathered.write(&self.metrics, now);
        }
    }
}

impl PendingMetrics {
    fn add(&mut self, answered: &Answered<'_>, now: Timestamp) {
        match answered.items {
            Ok(_) => {
                self.answers.page_latency.add(rounded(answered.took));
                self.pages += 1;
            }
            Err(_) => self.answers.problems += 1,
        }
        self.answers.reads_retried += answered.usage.retries;
        self.answers.keys_unprocessed += answered.usage.unprocessed;
        self.latest = Some(now);
    }

    /// Writes what is collected, with the time of the latest request. Returns true if there was anything.
    fn write(&mut self, metrics: &Metrics, now: Timestamp) -> bool {
        let Some(latest) = self.latest.take() else { return false };
        metrics.record(&std::mem::take(&mut self.answers), latest);
        (self.pages, self.written_at) = (0, Some(now));
        true
    }
}

fn rounded(took: Duration) -> Duration {
    let micros = took.as_micros() / PRECISION * PRECISION;
    Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
}

/// What is counted.
pub fn metric_names() -> MetricNames {
    MetricNames::of::<Answers>()
}

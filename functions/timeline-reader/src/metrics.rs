//! What is counted of requests: gathered for many, and written as one line.
//!
//! A line of metrics is twenty times as long as the number that it is about, so a process gathers what it counts and
//! writes it
//!
//! - at once, if the last line is as old as [`METRICS_WINDOW`]: of a reader with little to do every page is counted at once;
//! - at once, with all that is gathered, for a problem and where calls were made again;
//! - when [`METRICS_PAGES`] pages are gathered;
//! - with the first request after the window, as of the time of the last one gathered.
//!
//! What can be lost is what a process has gathered when Lambda ends it: ordinary pages of less than one window, of a
//! reader that was busy until it was never called again. Lambda announces that end to processes with an extension only,
//! and an extension would slow every start down. No alarm stands on these numbers; API Gateway counts the same requests
//! and measures their latency by itself, without loss.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use shared::runtime::metrics::{Count, Durations, MetricNames, Metrics, Record};
use shared::values::Timestamp;

use crate::log::Outcome;

/// The longest time for which pages are gathered while requests arrive.
pub const METRICS_WINDOW: Duration = Duration::from_secs(10);
/// The most pages that are gathered: CloudWatch takes a hundred values of a metric in one line.
pub const METRICS_PAGES: usize = 100;
/// Latencies are counted in tenths of a millisecond.
const PRECISION: u128 = 100;

/// What requests came to.
#[derive(Serialize, Debug, Default)]
#[serde(rename_all = "PascalCase")]
struct Answers {
    /// Of each page that was served, inside the function.
    page_latency: Durations,
    /// Requests that were answered with a problem.
    problems: Count,
    /// Calls to the tables that failed and were made again.
    reads_retried: Count,
    /// Keys that the tables gave back unread.
    keys_unprocessed: Count,
}

impl Record for Answers {
    const BY: Option<&'static str> = None;
}

/// Where a reader counts requests. Cheap to clone; clones gather together.
#[derive(Debug, Clone)]
pub struct RequestMetrics {
    metrics: Metrics,
    gathered: Arc<Mutex<Gathered>>,
}

#[derive(Debug, Default)]
struct Gathered {
    answers: Answers,
    pages: usize,
    /// When the latest of them was answered.
    latest: Option<Timestamp>,
    /// When a line was written last.
    written_at: Option<Timestamp>,
}

impl RequestMetrics {
    /// Counts there.
    #[must_use]
    pub fn new(metrics: Metrics) -> Self {
        Self { metrics, gathered: Arc::default() }
    }

    /// Counts a request that was answered now.
    pub(crate) fn count(&self, outcome: &Outcome<'_>, now: Timestamp) {
        let mut gathered = self.gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let is_late = gathered.written_at.is_none_or(|at| now.since(at) >= METRICS_WINDOW);
        let wrote_earlier_ones = is_late && gathered.write(&self.metrics, now);
        gathered.add(outcome, now);
        let is_alone = is_late && !wrote_earlier_ones;
        if is_alone || !outcome.is_smooth() || gathered.pages >= METRICS_PAGES {
            gathered.write(&self.metrics, now);
        }
    }
}

impl Gathered {
    fn add(&mut self, outcome: &Outcome<'_>, now: Timestamp) {
        match outcome.items {
            Ok(_) => {
                self.answers.page_latency.add(rounded(outcome.took));
                self.pages += 1;
            }
            Err(_) => self.answers.problems += 1,
        }
        self.answers.reads_retried += outcome.usage.retries;
        self.answers.keys_unprocessed += outcome.usage.unprocessed;
        self.latest = Some(now);
    }

    /// Writes what is gathered, as of the latest of it. Returns whether there was anything.
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
#[must_use]
pub fn metric_names() -> MetricNames {
    MetricNames::of::<Answers>()
}

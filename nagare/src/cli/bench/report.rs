//! What a run took, measured from inside the process.

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;
use shared::store::Tally;
use tokio::time::Instant;

use super::super::Failure;

/// What it took to write some entries.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    items: u64,
    seconds: f64,
    items_per_second: f64,
    /// User and system time of this process.
    cpu_seconds_per_million: f64,
    sends_per_item: f64,
    peak_rss_mb: f64,
}

/// Begins to measure.
pub(super) struct Meter {
    begun: Instant,
    before: Usage,
}

impl Meter {
    pub(super) fn start() -> Result<Self, Failure> {
        Ok(Self { begun: Instant::now(), before: usage()? })
    }

    /// User and system time of this process since the start.
    pub(super) fn cpu_seconds(&self) -> Result<f64, Failure> {
        let cpu = |usage: &Usage| usage.user_time() + usage.system_time();
        Ok((cpu(&usage()?) - cpu(&self.before)).num_microseconds() as f64 / 1e6)
    }

    /// What was written since the start, and what it took.
    pub(super) fn report(&self, tally: Tally) -> Result<Report, Failure> {
        let seconds = self.begun.elapsed().as_secs_f64();
        let items = tally.entries as f64;
        Ok(Report {
            items: tally.entries,
            seconds,
            items_per_second: items / seconds,
            cpu_seconds_per_million: self.cpu_seconds()? / items * 1e6,
            sends_per_item: tally.sends as f64 / items,
            // Linux counts it in kilobytes.
            peak_rss_mb: usage()?.max_rss() as f64 / 1024.0,
        })
    }
}

fn usage() -> Result<Usage, Failure> {
    getrusage(UsageWho::RUSAGE_SELF).map_err(|e| Failure::Unreachable(e.to_string()))
}

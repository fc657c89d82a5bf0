//! What a run cost, measured from inside the process.

use nagare::Failure;
use nix::sys::resource::{Usage as Resources, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;
use shared::platform::dynamo::Usage;
use tokio::time::Instant;

/// The cost of writing some entries.
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

/// A measurement, from its start on.
pub(super) struct Measurement {
    begun: Instant,
    before: Resources,
}

impl Measurement {
    pub(super) fn start() -> Result<Self, Failure> {
        Ok(Self { begun: Instant::now(), before: resources()? })
    }

    /// User and system time of this process since the start.
    pub(super) fn cpu_seconds(&self) -> Result<f64, Failure> {
        let cpu = |used: &Resources| used.user_time() + used.system_time();
        Ok((cpu(&resources()?) - cpu(&self.before)).num_microseconds() as f64 / 1e6)
    }

    /// The entries written since the start, and their cost.
    pub(super) fn report(&self, usage: Usage) -> Result<Report, Failure> {
        let seconds = self.begun.elapsed().as_secs_f64();
        let items = usage.written as f64;
        Ok(Report {
            items: usage.written,
            seconds,
            items_per_second: items / seconds,
            cpu_seconds_per_million: self.cpu_seconds()? / items * 1e6,
            sends_per_item: usage.sends as f64 / items,
            peak_rss_mb: peak_rss_mb()?,
        })
    }
}

/// The most memory that this process has held so far.
pub(super) fn peak_rss_mb() -> Result<f64, Failure> {
    // Linux reports kilobytes.
    Ok(resources()?.max_rss() as f64 / 1024.0)
}

fn resources() -> Result<Resources, Failure> {
    getrusage(UsageWho::RUSAGE_SELF).map_err(|e| Failure::Unreachable(e.to_string()))
}

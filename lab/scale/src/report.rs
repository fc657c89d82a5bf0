//! The result of a scenario: a table for people, an object for programs.

use std::fmt;

use serde::Serialize;

use crate::delays::Delays;
use crate::partition::Units;
use crate::setup::Prepared;
use crate::usage::Usage;
use crate::world::Run;

/// Dollars a million read units, in us-east-1 as of November 2026.
pub const PER_MILLION_READS: f64 = 0.125;
/// Dollars a million write units.
pub const PER_MILLION_WRITES: f64 = 0.625;

/// How long things of one kind took, in seconds.
#[derive(Debug, Clone, Serialize)]
pub struct Delivery {
    pub what: &'static str,
    pub count: u64,
    pub p50: f64,
    pub p99: f64,
    pub last: f64,
}

/// One item collection and one kind of units.
#[derive(Debug, Clone, Serialize)]
pub struct Line {
    pub collection: &'static str,
    /// `read` or `write`.
    pub units: &'static str,
    /// Units a second wanted at the peak.
    pub wanted: f64,
    /// Units a second it could give at first.
    pub capacity: f64,
    pub capacity_at_last: f64,
    /// Units in all.
    pub served: f64,
    /// Seconds until it first could not give what was wanted, if it ever could not.
    pub saturated_from: Option<f64>,
    /// For how many seconds.
    pub saturated_for: f64,
    /// Of what was wanted meanwhile, the share that had to wait.
    pub unmet: f64,
    /// What held it back for most of that time: `table` or `partition`.
    pub limit: Option<&'static str>,
}

/// A scenario.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub scenario: &'static str,
    pub about: &'static str,
    pub prepared: Prepared,
    /// Writers at once.
    pub writers: usize,
    /// The most segments of a fan-out.
    pub segments: usize,
    /// Seconds until all was over.
    pub seconds: f64,
    pub deliveries: Vec<Delivery>,
    /// Pages turned away: answered 429 at once, 503 after the reader's patience.
    pub turned_away: Option<[u64; 2]>,
    pub collections: Vec<Line>,
    /// Units read in all.
    pub reads: f64,
    /// Units written in all.
    pub writes: f64,
    pub dollars: f64,
    /// Partitions in the end: timelines, ledger, index.
    pub partitions: [usize; 3],
}

impl Delivery {
    #[must_use]
    pub fn new(what: &'static str, delays: &Delays) -> Self {
        let at = |share| tenths(delays.quantile(share));
        let [p50, p99, last] = [at(0.5), at(0.99), at(1.0)];
        Self { what, count: delays.count().round() as u64, p50, p99, last }
    }
}

impl Line {
    fn new(usage: &Usage) -> Self {
        let [capacity, capacity_at_last] = usage.capacity.map(f64::round);
        Self {
            collection: usage.name,
            units: usage.units.name(),
            wanted: usage.wanted.round(),
            capacity,
            capacity_at_last,
            served: usage.served.round(),
            saturated_from: usage.saturated_from.map(tenths),
            saturated_for: tenths(usage.saturated_for),
            unmet: (usage.unmet * 1e3).round() / 1e3,
            limit: usage.saturated_from.map(|_| {
                if usage.by_table_for * 2.0 > usage.saturated_for { "table" } else { "partition" }
            }),
        }
    }
}

impl Report {
    /// Adds what a run says.
    #[must_use]
    pub fn with(mut self, run: &Run) -> Self {
        self.seconds = tenths(run.seconds);
        self.collections = run.usages.iter().map(Line::new).collect();
        self.reads = run.usages.served(Units::Read).round();
        self.writes = run.usages.served(Units::Write).round();
        let million = |units: f64, price: f64| units / 1e6 * price;
        self.dollars =
            million(self.reads, PER_MILLION_READS) + million(self.writes, PER_MILLION_WRITES);
        self.partitions = run.partitions;
        self
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let prepared = format!("{:?}", self.prepared).to_lowercase();
        writeln!(f, "{}: {}", self.scenario, self.about)?;
        let Self { writers, segments, .. } = self;
        writeln!(f, "  {prepared}, {writers} writers, at most {segments} segments a fan-out")?;
        for Delivery { what, count, p50, p99, last } in &self.deliveries {
            let count = thousands(*count as f64);
            let [p50, p99, last] = [p50, p99, last].map(|seconds| duration(*seconds));
            writeln!(f, "  {count} {what}: p50 {p50}, p99 {p99}, last {last}")?;
        }
        if let Some([refused, failed]) = self.turned_away {
            let [refused, failed] = [refused, failed].map(|pages| thousands(pages as f64));
            writeln!(f, "  pages turned away: {refused} at once (429), {failed} after 5 s (503)")?;
        }
        let [reads, writes] = [self.reads, self.writes].map(thousands);
        writeln!(f, "  {writes} write units, {reads} read units, ${:.2}", self.dollars)?;
        self.lines(f)
    }
}

impl Report {
    fn lines(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [name, units, wanted, capacity, unmet] =
            ["collection", "units", "wanted/s", "capacity/s", "unmet"];
        writeln!(f, "  {name:<24} {units:<5} {wanted:>11} {capacity:>21} {unmet:>6}  saturated")?;
        for line in &self.collections {
            let (name, units, wanted) = (line.collection, line.units, thousands(line.wanted));
            let mut capacity = thousands(line.capacity);
            if line.capacity_at_last != line.capacity {
                capacity = format!("{capacity} to {}", thousands(line.capacity_at_last));
            }
            let unmet = match line.saturated_from {
                Some(_) => format!("{:.0} %", line.unmet * 100.0),
                None => "-".to_owned(),
            };
            let when = match line.saturated_from {
                Some(from) => {
                    let limit = line.limit.unwrap_or_default();
                    let [from, length] = [from, line.saturated_for].map(duration);
                    format!("from {from}, for {length}, by the {limit}")
                }
                None => "never".to_owned(),
            };
            writeln!(f, "  {name:<24} {units:<5} {wanted:>11} {capacity:>21} {unmet:>6}  {when}")?;
        }
        Ok(())
    }
}

fn tenths(seconds: f64) -> f64 {
    (seconds * 10.0).round() / 10.0
}

/// Seconds up to two minutes, and minutes up to two hours.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{s:.1} s"),
        s if s < 7_200.0 => format!("{:.1} min", s / 60.0),
        s => format!("{:.1} h", s / 3_600.0),
    }
}

fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut out = String::new();
    for (nth, digit) in digits.chars().enumerate() {
        if nth > 0 && (digits.len() - nth) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_for_people() {
        assert_eq!(thousands(1_234_567.4), "1,234,567");
        assert_eq!(thousands(999.0), "999");
        assert_eq!(duration(55.04), "55.0 s");
        assert_eq!(duration(1_250.0), "20.8 min");
        assert_eq!(duration(7_560.0), "2.1 h");
    }
}

//! What is printed: one row for each design, as a table or as JSON.

use nagare::Failure;
use nagare::print::{print_json, say};
use serde::Serialize;
use tokio::time::Instant;

use super::super::lag::{Lags, Percentiles};
use super::super::meter::Measured;
use super::plan::LikesPlan;

/// Of fewer likes than this share of all, no rate is told.
const ENOUGH: f64 = 0.1;

/// What is shown of the likes in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Counted {
    /// How many like the activity.
    pub(super) likes: u64,
    /// How many its actor was notified of, where that is known.
    pub(super) notified: Option<u64>,
}

/// The write units of single commands, with all that follows from them.
#[derive(Debug, Clone, Serialize)]
pub(super) struct SingleCommand {
    pub(super) design: &'static str,
    pub(super) like: f64,
    pub(super) undo: f64,
    /// A like that is delivered again: the least that DynamoDB charges.
    pub(super) duplicate: f64,
}

/// What a storm took.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Storm {
    pub(super) design: &'static str,
    pub(super) faults: String,
    /// Different commands, and how often they were delivered.
    pub(super) commands: usize,
    pub(super) deliveries: usize,
    /// From the first delivery to the last change in its view.
    pub(super) seconds: f64,
    pub(super) likes_per_second: f64,
    /// The same once the burst of the tables was used up; nothing if it hardly was.
    pub(super) likes_per_second_after_burst: Option<f64>,
    pub(super) write_units_per_like: f64,
    /// Those of the table that took most: what a limit of a table has to admit.
    pub(super) busiest_table_units_per_like: f64,
    /// Deliveries that a condition refused, and their write units.
    pub(super) refused: u64,
    pub(super) refused_units: f64,
    pub(super) throttled_calls: u64,
    pub(super) conflicts: u64,
    pub(super) counted: Counted,
    pub(super) truth: u64,
}

/// How long changes took that came at a rate.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Lag {
    likes_per_second: f64,
    changes: usize,
    pub(super) fact_to_view: Option<Percentiles>,
    command_to_view: Option<Percentiles>,
    write_units_per_like: f64,
    counted: Counted,
    truth: u64,
}

impl Storm {
    pub(super) fn of(
        (design, faults): (&'static str, &str),
        plan: &LikesPlan,
        measured: &Measured,
        (begun, ended): (Instant, Instant),
        counted: Counted,
    ) -> Self {
        let stored = measured.stored as f64;
        let seconds = ended.duration_since(begun).as_secs_f64();
        Self {
            design,
            faults: faults.to_owned(),
            commands: plan.commands,
            deliveries: plan.deliveries.len(),
            seconds,
            likes_per_second: stored / seconds,
            likes_per_second_after_burst: after_burst(measured, ended),
            write_units_per_like: measured.all_units() / stored,
            busiest_table_units_per_like: measured.busiest() / stored,
            refused: measured.refused,
            refused_units: measured.refused_units,
            throttled_calls: measured.throttled,
            conflicts: measured.conflicts,
            counted,
            truth: plan.truth,
        }
    }
}

fn after_burst(measured: &Measured, ended: Instant) -> Option<f64> {
    let (at, stored) = measured.burst?;
    let left = measured.stored.saturating_sub(stored) as f64;
    let enough = left >= measured.stored as f64 * ENOUGH;
    enough.then(|| left / ended.duration_since(at).as_secs_f64())
}

impl Lag {
    pub(super) fn of(
        rate: f64,
        plan: &LikesPlan,
        lags: &Lags,
        measured: &Measured,
        counted: Counted,
    ) -> Self {
        Self {
            likes_per_second: rate,
            changes: lags.facts.len(),
            fact_to_view: Percentiles::of(&lags.facts),
            command_to_view: Percentiles::of(&lags.commands),
            write_units_per_like: measured.all_units() / measured.stored as f64,
            counted,
            truth: plan.truth,
        }
    }

    pub(super) fn print(&self, json: bool) -> Result<(), Failure> {
        if json {
            return print_json(self);
        }
        say!("{:<18}{:>10}{:>10}{:>10}", "milliseconds", "p50", "p99", "most")?;
        for (what, percentiles) in
            [("fact to view", self.fact_to_view), ("command to view", self.command_to_view)]
        {
            let Some(Percentiles { p50_ms, p99_ms, max_ms }) = percentiles else { continue };
            say!("{what:<18}{p50_ms:>10.0}{p99_ms:>10.0}{max_ms:>10.0}")?;
        }
        let Self { likes_per_second, changes, write_units_per_like, counted, truth, .. } = self;
        say!(
            "{changes} changes, {likes_per_second} a second, {write_units_per_like:.3} write units each; \
             counted {} of {truth}",
            counted.likes
        )
    }
}

pub(super) fn print_single_commands(all: &[SingleCommand], json: bool) -> Result<(), Failure> {
    if json {
        return all.iter().try_for_each(print_json);
    }
    say!("{:<20}{:>8}{:>8}{:>12}", "write units of", "a like", "an undo", "a duplicate")?;
    all.iter().try_for_each(|lone| {
        let SingleCommand { design, like, undo, duplicate } = lone;
        say!("{design:<20}{like:>8}{undo:>8}{duplicate:>12}")
    })
}

pub(super) fn print_storms(storms: &[Storm], json: bool) -> Result<(), Failure> {
    if json {
        return storms.iter().try_for_each(print_json);
    }
    let Some(first) = storms.first() else { return Ok(()) };
    let faults = if first.faults.is_empty() { "no limits" } else { &first.faults };
    say!("\n{faults}")?;
    say!("{}", HEADINGS.map(|(heading, width)| format!("{heading:>width$}")).concat())?;
    storms.iter().try_for_each(|storm| say!("{}", row(storm)))
}

/// What a column is called, and how wide it is.
const HEADINGS: [(&str, usize); 11] = [
    ("", 20),
    ("likes", 8),
    ("likes/s", 9),
    ("after burst", 13),
    ("units/like", 12),
    ("busiest table", 15),
    ("duplicates", 12),
    ("throttled", 11),
    ("conflicts", 11),
    ("counted", 9),
    ("true", 8),
];

fn row(storm: &Storm) -> String {
    let after = storm.likes_per_second_after_burst;
    let cells = [
        format!("{:<20}", storm.design),
        storm.commands.to_string(),
        format!("{:.0}", storm.likes_per_second),
        after.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}")),
        format!("{:.3}", storm.write_units_per_like),
        format!("{:.3}", storm.busiest_table_units_per_like),
        storm.refused.to_string(),
        storm.throttled_calls.to_string(),
        storm.conflicts.to_string(),
        storm.counted.likes.to_string(),
        storm.truth.to_string(),
    ];
    let cells = cells.into_iter().zip(HEADINGS);
    cells.map(|(cell, (_, width))| format!("{cell:>width$}")).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use shared::platform::values::Timestamp;

    use super::*;

    fn storm(burst: Option<(Instant, usize)>, begun: Instant) -> Storm {
        let now = Timestamp::from_unix_millis(1_795_000_000_000);
        let plan = LikesPlan::of(5_000, [0.0, 0.0], now).unwrap();
        let units = [("facts".to_owned(), 5_000.0), ("views".to_owned(), 50.0)].into();
        let measured = Measured { stored: 5_000, units, burst, ..Measured::default() };
        let counted = Counted { likes: 5_000, notified: None };
        let span = (begun, begun + Duration::from_secs(2));
        Storm::of(("nagare", "writes=2000"), &plan, &measured, span, counted)
    }

    #[test]
    fn a_rate_once_the_burst_is_used_up() {
        let begun = Instant::now();
        let second = begun + Duration::from_secs(1);
        assert_eq!(storm(None, begun).likes_per_second_after_burst, None);
        let used_up = storm(Some((second, 3_000)), begun);
        assert_eq!(used_up.likes_per_second, 2_500.0);
        assert_eq!(used_up.likes_per_second_after_burst, Some(2_000.0));
        assert_eq!(used_up.write_units_per_like, 1.01);
        assert_eq!(used_up.busiest_table_units_per_like, 1.0);
        let hardly = storm(Some((second, 4_900)), begun);
        assert_eq!(hardly.likes_per_second_after_burst, None);
    }

    #[test]
    fn every_cell_is_below_its_heading() {
        let row = row(&storm(None, Instant::now()));
        assert_eq!(row.len(), HEADINGS.iter().map(|(_, width)| width).sum::<usize>());
        let cells: Vec<_> = row.split_whitespace().collect();
        assert_eq!(
            cells,
            ["nagare", "5000", "2500", "-", "1.010", "1.000", "0", "0", "0", "5000", "5000"]
        );
    }
}

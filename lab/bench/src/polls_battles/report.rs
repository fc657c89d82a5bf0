//! What is printed: one row for each design, as a table or as JSON.

use std::time::Duration;

use nagare::Failure;
use nagare::print::{print_json, say};
use serde::Serialize;
use tokio::time::Instant;

use super::super::lag::Percentiles;
use super::super::meter::Measured;
use super::plan::{Game, Opening, VotesPlan};

/// How often a result is read.
pub(super) const READS: usize = 200;

/// What a result says, and how long each reading of it took.
#[derive(Debug, Clone)]
pub(super) struct ResultRead {
    pub(super) counted: u64,
    pub(super) took: Vec<Duration>,
}

/// What a run took.
#[derive(Debug, Clone, Serialize)]
pub(super) struct VotesMeasurement {
    /// `votes` or `hits`.
    what: &'static str,
    design: &'static str,
    faults: String,
    /// Different commands, and how often they were delivered.
    pub(super) commands: usize,
    pub(super) deliveries: usize,
    /// From the first delivery to when the result has the last.
    seconds: f64,
    /// Commands, not deliveries.
    pub(super) per_second: f64,
    /// Of all tables, for each command: those of its duplicates, and of what was refused, too.
    pub(super) write_units_each: f64,
    /// Those of the table that took most.
    busiest_table_units_each: f64,
    throttled_calls: u64,
    /// Transactions that met another one.
    conflicts: u64,
    read: Option<Percentiles>,
    /// Votes, or damage.
    pub(super) counted: u64,
    pub(super) truth: u64,
}

impl VotesMeasurement {
    pub(super) fn of(
        (design, faults): (&'static str, &str),
        plan: &VotesPlan,
        measured: &Measured,
        (begun, ended): (Instant, Instant),
        ResultRead { counted, took }: ResultRead,
    ) -> Self {
        let (commands, seconds) = (plan.commands as f64, ended.duration_since(begun).as_secs_f64());
        Self {
            what: match plan.opening {
                Opening::Poll(_) => "votes",
                Opening::Battle(_) => "hits",
            },
            design,
            faults: faults.to_owned(),
            commands: plan.commands,
            deliveries: plan.deliveries.len(),
            seconds,
            per_second: commands / seconds,
            write_units_each: (measured.all_units() + measured.refused_units) / commands,
            busiest_table_units_each: measured.busiest() / commands,
            throttled_calls: measured.throttled,
            conflicts: measured.conflicts,
            read: Percentiles::of(&took),
            counted,
            truth: plan.truth,
        }
    }
}

pub(super) fn print_game(game: Game, all: &[VotesMeasurement], json: bool) -> Result<(), Failure> {
    if json {
        return all.iter().try_for_each(print_json);
    }
    let Some(first) = all.first() else { return Ok(()) };
    let faults = if first.faults.is_empty() { "no limits" } else { &first.faults };
    let what = match game {
        Game::Votes => "votes of one poll",
        Game::Hits => "hits of one battle; what is counted is damage",
    };
    say!("\n{what}, {faults}")?;
    say!("{}", HEADINGS.map(|(heading, width)| format!("{heading:>width$}")).concat())?;
    all.iter().try_for_each(|measurement| say!("{}", row(measurement)))
}

/// What a column is called, and how wide it is.
const HEADINGS: [(&str, usize); 9] = [
    ("", 14),
    ("commands", 10),
    ("deliveries", 12),
    ("a second", 10),
    ("units each", 12),
    ("throttled", 11),
    ("ms to read", 12),
    ("counted", 11),
    ("true", 11),
];

fn row(measurement: &VotesMeasurement) -> String {
    let cells = [
        format!("{:<14}", measurement.design),
        measurement.commands.to_string(),
        measurement.deliveries.to_string(),
        format!("{:.0}", measurement.per_second),
        format!("{:.3}", measurement.write_units_each),
        measurement.throttled_calls.to_string(),
        measurement.read.map_or_else(|| "-".to_owned(), |read| format!("{:.2}", read.p50_ms)),
        measurement.counted.to_string(),
        measurement.truth.to_string(),
    ];
    let cells = cells.into_iter().zip(HEADINGS);
    cells.map(|(cell, (_, width))| format!("{cell:>width$}")).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use shared::platform::values::Timestamp;

    use super::*;

    #[test]
    fn every_cell_is_below_its_heading() {
        let (now, begun) = (Timestamp::from_unix_millis(1_795_000_000_000), Instant::now());
        let plan = VotesPlan::votes(5_000, 0.0, now).unwrap();
        let units = [("facts".to_owned(), 5_000.0), ("views".to_owned(), 50.0)].into();
        let measured = Measured { units, refused_units: 450.0, ..Measured::default() };
        let read = ResultRead { counted: 5_000, took: vec![Duration::from_millis(3)] };
        let span = (begun, begun + Duration::from_secs(2));
        let row = row(&VotesMeasurement::of(("nagare", ""), &plan, &measured, span, read));
        assert_eq!(row.len(), HEADINGS.iter().map(|(_, width)| width).sum::<usize>());
        let cells: Vec<_> = row.split_whitespace().collect();
        assert_eq!(cells, ["nagare", "5000", "5000", "2500", "1.100", "0", "3.00", "5000", "5000"]);
    }
}

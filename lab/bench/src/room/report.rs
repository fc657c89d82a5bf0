//! What is printed: one row for each run, as a table or as JSON.

use std::time::Duration;

use nagare::Failure;
use nagare::print::{print_json, say};
use serde::Serialize;

use super::super::lag::Percentiles;
use super::super::meter::Measured;
use super::RoomRead;

/// What a run took.
#[derive(Debug, Clone, Serialize)]
pub(super) struct RoomMeasurement {
    faults: String,
    /// Different messages, and how often they were delivered.
    messages: usize,
    deliveries: usize,
    /// From the first delivery to when the last was acknowledged.
    seconds: f64,
    /// Messages, not deliveries.
    pub(super) per_second: f64,
    /// Of the ledger, for each message: those of its duplicates, and of what was refused, too.
    pub(super) write_units_each: f64,
    throttled_calls: u64,
    /// Over how many partitions the room was spread in the end.
    pub(super) shards: u16,
    read: Option<Percentiles>,
    /// Messages that the pages had.
    pub(super) found: usize,
}

impl RoomMeasurement {
    pub(super) fn of(
        faults: &str,
        (messages, deliveries): (usize, usize),
        measured: &Measured,
        took: Duration,
        read: &RoomRead,
    ) -> Self {
        let seconds = took.as_secs_f64();
        Self {
            faults: faults.to_owned(),
            messages,
            deliveries,
            seconds,
            per_second: messages as f64 / seconds,
            write_units_each: (measured.all_units() + measured.refused_units) / messages as f64,
            throttled_calls: measured.throttled,
            shards: read.shards,
            read: Percentiles::of(&read.took),
            found: read.found,
        }
    }
}

pub(super) fn print_rooms(all: &[RoomMeasurement], json: bool) -> Result<(), Failure> {
    if json {
        return all.iter().try_for_each(print_json);
    }
    say!("{}", HEADINGS.map(|(heading, width)| format!("{heading:>width$}")).concat())?;
    all.iter().try_for_each(|measurement| say!("{}  {}", row(measurement), measurement.faults))
}

/// What a column is called, and how wide it is.
const HEADINGS: [(&str, usize); 8] = [
    ("messages", 10),
    ("deliveries", 12),
    ("a second", 10),
    ("units each", 12),
    ("throttled", 11),
    ("shards", 8),
    ("ms a page", 11),
    ("found", 10),
];

fn row(measurement: &RoomMeasurement) -> String {
    let cells = [
        measurement.messages.to_string(),
        measurement.deliveries.to_string(),
        format!("{:.0}", measurement.per_second),
        format!("{:.3}", measurement.write_units_each),
        measurement.throttled_calls.to_string(),
        measurement.shards.to_string(),
        measurement.read.map_or_else(|| "-".to_owned(), |read| format!("{:.2}", read.p50_ms)),
        measurement.found.to_string(),
    ];
    let cells = cells.into_iter().zip(HEADINGS);
    cells.map(|(cell, (_, width))| format!("{cell:>width$}")).collect()
}

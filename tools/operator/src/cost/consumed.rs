//! The consumption of commands, folds and pages: the rows of `units.csv`.
//!
//! `tests/functions/platform/requests/mod.rs` measures each row with the functions over the embedded tables. It fails and prints the
//! new table if this one is out of date.

/// The table: one row for each request, with ids of 24 characters and payloads of 200 bytes.
pub const TABLE: &str = include_str!("units.csv");

/// The first line of the table. The last two columns are the units with the longest ids and with payloads of 4,096 bytes.
pub const HEADER: &str = "request,rounds,read_units,write_units,held_ms,stored_bytes,recoverable_bytes,answer_bytes,\
    largest_read_units,largest_write_units";

/// The consumption of one request.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Consumed {
    /// Calls that wait for one another. Parallel calls are one round.
    pub rounds: f64,
    pub reads: f64,
    pub writes: f64,
    /// Milliseconds that the writer waits so that pages are of one moment.
    pub held_ms: f64,
    /// Bytes that remain in the tables, except those of events, and in their index.
    pub stored_bytes: f64,
    /// The part of them in tables with point-in-time recovery.
    pub recoverable_bytes: f64,
    /// Bytes of the response's body, compressed if the function compresses it.
    pub answer_bytes: f64,
}

impl Consumed {
    /// The row of a request. The rounds of a request without a row are not a number.
    pub fn by(request: &str) -> Self {
        let mut lines = TABLE.lines().filter_map(|line| line.split_once(','));
        let (_, columns) = lines.find(|(name, _)| *name == request).unwrap_or_default();
        let mut numbers = columns.split(',').map(|number| number.parse().unwrap_or(f64::NAN));
        let mut next = || numbers.next().unwrap_or_default();
        Self {
            rounds: next(),
            reads: next(),
            writes: next(),
            held_ms: next(),
            stored_bytes: next(),
            recoverable_bytes: next(),
            answer_bytes: next(),
        }
    }
}

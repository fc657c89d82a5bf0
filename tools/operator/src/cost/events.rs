//! What the events of tenants need: their tables, their archives, the messages that bring them, and their summaries.

use shared::history::events::PeriodLength;

use super::sizes::STORED;
use super::work::{DAYS, Work};

/// Events of a message.
const TOGETHER: f64 = 100.0;
/// Calls that a message waits for: sixteen puts at once.
const ROUNDS: f64 = 7.0;
/// Messages that are sent with one call.
const MESSAGES: f64 = shared::platform::queue::BATCH as f64;
const WRITE_UNIT: f64 = 1_024.0;
const READ_UNIT: f64 = 4_096.0;
/// Of the lines of an archive, what gzip leaves: 15.9 bytes of 206 (`python lab/bench/flights.py`).
const COMPRESSED: f64 = 15.9 / 206.0;

/// Of provisioned capacity, what is used (`python lab/bench/capacity.py`).
const CAPACITY_USED: f64 = 0.754;
/// Ticks of the keeper in a month, and the series that each asks for: those of two tables for four weeks and a day, and three more.
const TICKS: f64 = 4.0 * 24.0 * DAYS;
const SERIES: f64 = 11.0;

/// Events of a tenant that are folded at once, of so many customers, of whom some are new: the view of each customer, that of their
/// name and the witness of the period are read and written. A new customer is listed in the same transaction, which takes twice the units.
pub fn fold(customers: f64, new: f64) -> Work {
    let views = customers + 2.0;
    Work { writes: views + 3.0 * new, reads: views + 1.0, rounds: 2.0, ..Work::default() }
}

/// What is recorded, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct EventRates {
    /// Events of a day.
    pub events: f64,
    /// Bytes of one, in its table and as a line of the archive.
    pub bytes: f64,
    /// Events of a tenant that the projector folds at once.
    pub together: f64,
    /// Of these, how many are of one customer.
    pub of_customer: f64,
    pub length: PeriodLength,
    /// Days from the end of a period until it closes.
    pub lateness_days: f64,
    /// Days that its table is kept after its end.
    pub days: f64,
    /// Days that its archive is kept after its end.
    pub archive_days: f64,
}

/// A month of it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EventMonth {
    pub events: f64,
    /// Write units of the periods' tables.
    pub writes: f64,
    /// Hours of a write unit a second, if the table of the current period is provisioned.
    pub capacity_hours: f64,
    /// Series that the keeper asks CloudWatch for, if it is.
    pub series: f64,
    /// Read units of the scans that archives are made of.
    pub scans: f64,
    /// Bytes that the tables hold and no verified archive does: they can be restored to a point in time.
    pub fresh_bytes: f64,
    /// Bytes that both hold: their tables are of the class that is read rarely.
    pub archived_bytes: f64,
    /// Bytes that the archives hold.
    pub archive_bytes: f64,
    /// What the writer does besides.
    pub writing: Work,
    /// What the projector does for their summaries.
    pub folding: Work,
    /// How often it is invoked for them.
    pub folds: f64,
}

impl EventRates {
    /// A month of such days, when all that expires has begun to.
    pub fn month(&self) -> EventMonth {
        let events = self.events * DAYS;
        // An event is half of a period old when that ends, on average.
        let before = match self.length {
            PeriodLength::Day => 0.5,
            PeriodLength::Week => 3.5,
            PeriodLength::Month => DAYS / 2.0,
        };
        let kept = |days: f64| self.events * (self.bytes + STORED) * (before + days);
        let fresh = kept(self.lateness_days);
        let messages = events / TOGETHER;
        let writes = events * (self.bytes / WRITE_UNIT).ceil();
        let folds = events / self.together;
        EventMonth {
            events,
            writes,
            capacity_hours: writes / 3_600.0 / CAPACITY_USED,
            series: TICKS * SERIES,
            folding: fold(self.together / self.of_customer, 0.0) * folds,
            folds,
            scans: events * self.bytes / READ_UNIT,
            fresh_bytes: fresh,
            archived_bytes: kept(self.days.max(self.lateness_days)) - fresh,
            archive_bytes: self.events * self.bytes * COMPRESSED * self.archive_days,
            writing: Work {
                messages,
                sends: messages / MESSAGES,
                rounds: messages * ROUNDS,
                ..Work::default()
            },
        }
    }
}

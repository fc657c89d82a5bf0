//! What goes wrong, and how often.

use std::str::FromStr;
use std::time::Duration;

use super::demand::Units;

/// What goes wrong. By default, nothing.
///
/// Written as `name=value`, separated by commas:
///
/// | name | value | what happens |
/// |---|---|---|
/// | `all` | `1%` | each of those below that have a share (but `missing`, `denied` and `panics`) happens this often, hangs a tenth as often |
/// | `throttles`, `errors`, `resets`, `lost-answers`, `cuts`, `hangs` | `1%` | a call to tables or queues is throttled, answered 500, reset before or after it was done, answered by half, never answered |
/// | `leftovers` | `1%` | a batch is done in part, the rest given back as unprocessed, or by a queue as failed |
/// | `missing`, `denied` | `1%` | the table or the queue is not there, access is denied |
/// | `queue-errors`, `queue-resets` | `1%` | beside these, a call to a queue is answered 500, reset (before it was done as often as after) |
/// | `panics` | `1%` | the handler panics in the middle of a call |
/// | `slow` | `50ms` | every call takes up to this much longer |
/// | `writes`, `reads` | `4000` | units a second that each table takes, with a burst of one second |
/// | `partition-writes`, `partition-reads` | `1000` | the same for each partition |
/// | `duplicates` | `1%` | a batch of messages is delivered once more |
/// | `late` | `1%` | a batch is held back for up to two seconds, so that later ones overtake it |
/// | `expiries` | `1%` | a message's visibility runs out while its handler works |
/// | `lost-deletes` | `1%` | an acknowledged message is not deleted |
/// | `seed` | `7` | what chance starts from |
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Faults {
    /// What chance starts from.
    pub seed: u64,
    pub(super) throttles: f64,
    pub(super) leftovers: f64,
    pub(super) errors: f64,
    pub(super) resets: f64,
    pub(super) lost_answers: f64,
    pub(super) cuts: f64,
    pub(super) hangs: f64,
    pub(super) missing: f64,
    pub(super) denied: f64,
    pub(super) queue_errors: f64,
    pub(super) queue_resets: f64,
    pub(super) panics: f64,
    pub(super) slow: Duration,
    pub(super) duplicates: f64,
    pub(super) late: f64,
    pub(super) expiries: f64,
    pub(super) lost_deletes: f64,
    pub(super) rates: Rates,
    pub(super) is_measured: bool,
}

/// Units a second. None: unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    /// Writes to a table.
    pub writes: Option<f64>,
    /// Reads of a table.
    pub reads: Option<f64>,
    /// Writes to one partition.
    pub partition_writes: Option<f64>,
    /// Reads of one partition.
    pub partition_reads: Option<f64>,
}

impl Rates {
    /// The rates for a table and for a partition.
    pub(super) fn of(&self, units: Units) -> (Option<f64>, Option<f64>) {
        match units {
            Units::Write => (self.writes, self.partition_writes),
            Units::Read => (self.reads, self.partition_reads),
        }
    }
}

/// The settings cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultsError {
    /// There is no such setting.
    #[error(
        "{0:?} is not a fault; there are all, throttles, leftovers, errors, resets, lost-answers, cuts, hangs, missing, denied, panics, queue-errors, queue-resets, slow, writes, reads, partition-writes, partition-reads, duplicates, late, expiries, lost-deletes, seed"
    )]
    Unknown(String),
    /// A value is not what it should be.
    #[error("{name}: expected {expected}, such as {name}={example}")]
    Value {
        /// The setting's name.
        name: String,
        /// What is expected.
        expected: &'static str,
        /// An example of it.
        example: &'static str,
    },
}

impl FromStr for Faults {
    type Err = FaultsError;

    fn from_str(text: &str) -> Result<Self, FaultsError> {
        let mut faults = Self::default();
        for setting in text.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            faults.set(name, value)?;
        }
        Ok(faults)
    }
}

impl Faults {
    /// The same for callers that ask what each call consumes: that is what it takes, whatever the size of its items,
    /// and a transaction that is refused for lack of capacity takes none. Otherwise it uses up what there was, which
    /// starves whoever sends nothing but transactions.
    pub(crate) fn measured(self) -> Self {
        Self { is_measured: true, ..self }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), FaultsError> {
        match name {
            "seed" => self.seed = number(name, value)?,
            "slow" => self.slow = duration(name, value)?,
            "writes" => self.rates.writes = Some(rate(name, value)?),
            "reads" => self.rates.reads = Some(rate(name, value)?),
            "partition-writes" => self.rates.partition_writes = Some(rate(name, value)?),
            "partition-reads" => self.rates.partition_reads = Some(rate(name, value)?),
            "all" => self.set_all(share(name, value)?),
            _ => *self.share_named(name)? = share(name, value)?,
        }
        Ok(())
    }

    fn set_all(&mut self, share: f64) {
        self.hangs = share / 10.0;
        for each in [
            &mut self.throttles,
            &mut self.leftovers,
            &mut self.errors,
            &mut self.resets,
            &mut self.lost_answers,
            &mut self.cuts,
            &mut self.queue_errors,
            &mut self.queue_resets,
            &mut self.duplicates,
            &mut self.late,
            &mut self.expiries,
            &mut self.lost_deletes,
        ] {
            *each = share;
        }
    }

    fn share_named(&mut self, name: &str) -> Result<&mut f64, FaultsError> {
        Ok(match name {
            "throttles" => &mut self.throttles,
            "leftovers" => &mut self.leftovers,
            "errors" => &mut self.errors,
            "resets" => &mut self.resets,
            "lost-answers" => &mut self.lost_answers,
            "cuts" => &mut self.cuts,
            "hangs" => &mut self.hangs,
            "missing" => &mut self.missing,
            "denied" => &mut self.denied,
            "queue-errors" => &mut self.queue_errors,
            "queue-resets" => &mut self.queue_resets,
            "panics" => &mut self.panics,
            "duplicates" => &mut self.duplicates,
            "late" => &mut self.late,
            "expiries" => &mut self.expiries,
            "lost-deletes" => &mut self.lost_deletes,
            _ => return Err(FaultsError::Unknown(name.to_owned())),
        })
    }
}

fn share(name: &str, value: &str) -> Result<f64, FaultsError> {
    let percent = value.strip_suffix('%').and_then(|digits| digits.parse::<f64>().ok());
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .map(|percent| percent / 100.0)
        .ok_or_else(|| wrong(name, "a share from 0% to 100%", "1%"))
}

fn rate(name: &str, value: &str) -> Result<f64, FaultsError> {
    let rate = value.parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate >= 1.0);
    rate.ok_or_else(|| wrong(name, "units a second, one or more", "4000"))
}

fn number(name: &str, value: &str) -> Result<u64, FaultsError> {
    value.parse().map_err(|_| wrong(name, "a whole number", "7"))
}

fn duration(name: &str, value: &str) -> Result<Duration, FaultsError> {
    let millis = value.strip_suffix("ms").and_then(|digits| digits.parse().ok());
    millis.map(Duration::from_millis).ok_or_else(|| wrong(name, "milliseconds", "50ms"))
}

fn wrong(name: &str, expected: &'static str, example: &'static str) -> FaultsError {
    FaultsError::Value { name: name.to_owned(), expected, example }
}

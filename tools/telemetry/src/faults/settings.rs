//! The settings: what goes wrong, and how often.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What goes wrong. By default, nothing.
///
/// Written as `name=value`, separated by commas; [`SETTINGS`] says what there is. `all=1%` stands for each that has a
/// share (but `missing`, `denied` and `panics`), with a tenth of it for hangs.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Faults {
    /// The seed of random choices.
    pub seed: u64,
    pub throttles: f64,
    pub leftovers: f64,
    pub errors: f64,
    pub resets: f64,
    pub lost_answers: f64,
    pub cuts: f64,
    pub hangs: f64,
    pub missing: f64,
    pub denied: f64,
    pub queue_denied: f64,
    pub queue_errors: f64,
    pub queue_resets: f64,
    pub panics: f64,
    pub table_limits: f64,
    pub table_resets: f64,
    pub table_creation: Duration,
    pub object_cuts: f64,
    pub object_flips: f64,
    pub keepers: f64,
    pub keeper_clock: Duration,
    pub slow: Duration,
    pub duplicates: f64,
    pub late: f64,
    pub expiries: f64,
    pub lost_deletes: f64,
    pub rates: Rates,
    pub is_measured: bool,
}

/// Units a second; `None` if unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rates {
    /// Writes to a table.
    pub writes: Option<f64>,
    /// Reads of a table.
    pub reads: Option<f64>,
    pub partition_writes: Option<f64>,
    pub partition_reads: Option<f64>,
}

/// A text cannot be read as settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultsError {
    /// There is no such setting.
    #[error("{name:?} is not a fault; there are all, {}", SETTINGS.map(|setting| setting.name).join(", "))]
    Unknown { name: String },
    /// A value is invalid.
    #[error("{name}: expected {expected}, such as {name}={example}")]
    Value {
        /// The setting's name.
        name: String,
        expected: &'static str,
        example: &'static str,
    },
}

#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// How it is written.
    pub name: &'static str,
    /// What goes wrong.
    pub meaning: &'static str,
    kind: Kind,
}

/// The kind of its value, and the place of the value in [`Faults`].
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A share of all cases, and the share that `all=100%` stands for.
    Share(fn(&mut Faults) -> &mut f64, f64),
    Rate(fn(&mut Faults) -> &mut Option<f64>),
    Time(fn(&mut Faults) -> &mut Duration),
    Seed,
}

/// How many settings there are.
pub(super) const NUMBER: usize = 30;
/// All settings.
pub const SETTINGS: [Setting; NUMBER] = [
    share("throttles", "a call is refused for lack of capacity", |f| &mut f.throttles, 1.0),
    share(
        "leftovers",
        "a batch is done in part and the rest given back: as unprocessed by a table, as failed by a queue or \
         the event bus",
        |f| &mut f.leftovers,
        1.0,
    ),
    share("errors", "a call is answered 500, and not done", |f| &mut f.errors, 1.0),
    share("resets", "the connection is reset before a call is done", |f| &mut f.resets, 1.0),
    share(
        "lost-answers",
        "the connection is reset after a call was done",
        |f| &mut f.lost_answers,
        1.0,
    ),
    share("cuts", "a call is done, and half of its answer arrives", |f| &mut f.cuts, 1.0),
    share("hangs", "a call is done, and never answered", |f| &mut f.hangs, 0.1),
    share("missing", "the table, the queue or the event bus is not there", |f| &mut f.missing, 0.0),
    share("denied", "access is denied, except to a queue", |f| &mut f.denied, 0.0),
    share(
        "queue-denied",
        "access to a queue is denied: what gives up loses its cause",
        |f| &mut f.queue_denied,
        0.0,
    ),
    share(
        "panics",
        "the handler panics in the middle of a call: its batch comes again, a reader is answered 500",
        |f| &mut f.panics,
        0.0,
    ),
    share(
        "queue-errors",
        "beside these, a call to a queue is answered 500",
        |f| &mut f.queue_errors,
        1.0,
    ),
    share(
        "queue-resets",
        "beside these, a call to a queue is reset, before it was done as often as after",
        |f| &mut f.queue_resets,
        1.0,
    ),
    share(
        "table-limits",
        "beside these, an operation on a table itself is refused: too many at once",
        |f| &mut f.table_limits,
        1.0,
    ),
    share(
        "table-resets",
        "beside these, an operation on a table itself is reset, before it was done as often as after",
        |f| &mut f.table_resets,
        1.0,
    ),
    time("table-creation", "a table is there only this long after it was asked for", |f| {
        &mut f.table_creation
    }),
    share(
        "object-cuts",
        "an object of the archive is stored without its end",
        |f| &mut f.object_cuts,
        0.0,
    ),
    share(
        "object-flips",
        "an object of the archive is stored with one bit flipped",
        |f| &mut f.object_flips,
        0.0,
    ),
    share("keepers", "two keepers of periods work at once", |f| &mut f.keepers, 1.0),
    time("keeper-clock", "the clock of the second keeper is wrong by this much, either way", |f| {
        &mut f.keeper_clock
    }),
    time("slow", "every call takes up to this much longer", |f| &mut f.slow),
    rate("writes", "write units a second that each table takes", |f| &mut f.rates.writes),
    rate("reads", "read units a second that each table takes", |f| &mut f.rates.reads),
    rate("partition-writes", "the same for the writes of each partition", |f| {
        &mut f.rates.partition_writes
    }),
    rate("partition-reads", "the same for the reads of each partition", |f| {
        &mut f.rates.partition_reads
    }),
    share(
        "duplicates",
        "a batch of messages, or of changes, is delivered twice at once; as many batches of changes are cut",
        |f| &mut f.duplicates,
        1.0,
    ),
    share(
        "late",
        "a batch is held back for up to two seconds, so that later ones overtake it",
        |f| &mut f.late,
        1.0,
    ),
    share(
        "expiries",
        "a message becomes visible again while its handler works",
        |f| &mut f.expiries,
        1.0,
    ),
    share(
        "lost-deletes",
        "an acknowledged message is not deleted; a batch of changes comes again",
        |f| &mut f.lost_deletes,
        1.0,
    ),
    Setting { name: "seed", meaning: "what chance starts from", kind: Kind::Seed },
];

const fn share(
    name: &'static str,
    meaning: &'static str,
    slot: fn(&mut Faults) -> &mut f64,
    in_all: f64,
) -> Setting {
    Setting { name, meaning, kind: Kind::Share(slot, in_all) }
}

const fn rate(
    name: &'static str,
    meaning: &'static str,
    slot: fn(&mut Faults) -> &mut Option<f64>,
) -> Setting {
    Setting { name, meaning, kind: Kind::Rate(slot) }
}

const fn time(
    name: &'static str,
    meaning: &'static str,
    slot: fn(&mut Faults) -> &mut Duration,
) -> Setting {
    Setting { name, meaning, kind: Kind::Time(slot) }
}

impl Setting {
    /// What kind of value it takes.
    pub fn expected(&self) -> &'static str {
        self.form().0
    }

    /// An example of its value.
    pub fn example(&self) -> &'static str {
        self.form().1
    }

    fn form(&self) -> (&'static str, &'static str) {
        match self.kind {
            Kind::Share(..) => ("a share from 0% to 100%", "1%"),
            Kind::Rate(_) => ("units a second, one or more", "4000"),
            Kind::Time(_) => ("milliseconds", "50ms"),
            Kind::Seed => ("a whole number", "7"),
        }
    }

    /// Reads a value into `faults`. `None` if the value is invalid.
    fn set(&self, faults: &mut Faults, value: &str) -> Option<()> {
        match self.kind {
            Kind::Share(slot, _) => *slot(faults) = to_share(value)?,
            Kind::Rate(slot) => *slot(faults) = Some(to_rate(value)?),
            Kind::Time(slot) => *slot(faults) = to_duration(value)?,
            Kind::Seed => faults.seed = value.parse().ok()?,
        }
        Some(())
    }

    /// The value in `faults`, as it is written; `None` if it makes nothing go wrong.
    fn value(&self, faults: &Faults) -> Option<String> {
        // Places are the same for reading and for writing.
        let mut faults = faults.clone();
        match self.kind {
            Kind::Share(slot, _) => Some(*slot(&mut faults)).filter(|it| *it > 0.0).map(percent),
            Kind::Rate(slot) => slot(&mut faults).map(|rate| rate.to_string()),
            Kind::Time(slot) => {
                Some(slot(&mut faults).as_millis()).filter(|it| *it > 0).map(|it| format!("{it}ms"))
            }
            Kind::Seed => Some(faults.seed).filter(|it| *it > 0).map(|it| it.to_string()),
        }
    }

    fn wrong(&self, name: &str) -> FaultsError {
        let (expected, example) = self.form();
        FaultsError::Value { name: name.to_owned(), expected, example }
    }
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

/// Writes the settings as they are read.
impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = self.settings().filter_map(|(setting, value)| {
            let value = value?;
            Some(format!("{}={value}", setting.name))
        });
        f.write_str(&settings.collect::<Vec<_>>().join(","))
    }
}

impl Faults {
    /// Each setting, with its value as it is written, if it has one.
    pub fn settings(&self) -> impl Iterator<Item = (&'static Setting, Option<String>)> {
        const ALL: &[Setting] = &SETTINGS;
        ALL.iter().map(|setting| (setting, setting.value(self)))
    }

    /// True if nothing goes wrong, whatever the seed.
    pub fn is_off(&self) -> bool {
        let (seed, is_measured) = (self.seed, self.is_measured);
        *self == Self { seed, is_measured, ..Self::default() }
    }

    /// The same, for callers that ask for the capacity that each call consumes. A call then takes that capacity, whatever the size of
    /// its items, and a transaction that is throttled takes none. Otherwise a throttled transaction uses up what there was, which
    /// starves a caller that sends only transactions.
    pub fn measured(self) -> Self {
        Self { is_measured: true, ..self }
    }

    /// Sets one setting, or all.
    ///
    /// # Errors
    /// [`FaultsError`] says what is expected.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), FaultsError> {
        if name == "all" {
            let share = to_share(value).ok_or_else(|| SETTINGS[0].wrong(name))?;
            self.set_all(share);
            return Ok(());
        }
        let setting = SETTINGS.iter().find(|setting| setting.name == name);
        let setting = setting.ok_or_else(|| FaultsError::Unknown { name: name.to_owned() })?;
        setting.set(self, value).ok_or_else(|| setting.wrong(name))
    }

    fn set_all(&mut self, share: f64) {
        for setting in SETTINGS {
            if let Kind::Share(slot, in_all) = setting.kind
                && in_all > 0.0
            {
                *slot(self) = share * in_all;
            }
        }
    }
}

fn to_share(value: &str) -> Option<f64> {
    let percent = value.strip_suffix('%')?.parse::<f64>().ok();
    percent.filter(|percent| (0.0..=100.0).contains(percent)).map(|percent| percent / 100.0)
}

/// A share in percent, rounded: a hundredth times a hundred is not always one.
fn percent(share: f64) -> String {
    let percent = (share * 1e11).round() / 1e9;
    format!("{percent}%")
}

fn to_rate(value: &str) -> Option<f64> {
    value.parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate >= 1.0)
}

fn to_duration(value: &str) -> Option<Duration> {
    value.strip_suffix("ms")?.parse().ok().map(Duration::from_millis)
}

//! How long things last, as a deployment says it.

use super::{Period, PeriodError, PeriodLength};
use crate::platform::runtime::env::{self, EnvError, Variables};
use crate::platform::values::Timestamp;

const DAY_MILLIS: i64 = 86_400_000;
/// A period is sealed this long after it closes: clocks of writers differ by less.
const SEALED_AFTER_MILLIS: i64 = 3_600_000;

/// A table is dropped no sooner than this after it was changed for the last time. By then DynamoDB says how many items there are, and its
/// stream, which keeps changes for a day, brings nothing any more.
pub(super) const FINAL_AFTER_MILLIS: i64 = DAY_MILLIS;

/// How events are kept. All writers, readers and keepers of a deployment have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSettings {
    pub length: PeriodLength,
    /// Days from the end of a period until it closes.
    pub lateness_days: u32,
    /// Days that a period is readable after its end. It is never dropped before a day after it is sealed.
    pub days: u32,
    /// Days that an archive is kept after the period's end; 0: permanently.
    pub archive_days: u32,
    /// Events from this instant on are taken.
    pub earliest: Timestamp,
}

/// The most days that events are kept anywhere: ten years.
const MOST_DAYS: u32 = 3_650;

impl EventSettings {
    /// Reads the variables of these names, which are some of [`env::EVENT_SETTINGS`]; where one says nothing, the
    /// [default](Self::default).
    ///
    /// # Errors
    /// [`EnvError::Invalid`] if a variable is no length of a period, or no number of days up to 3650.
    pub fn among(variables: &Variables, names: &[&'static str]) -> Result<Self, EnvError> {
        let value = |name| names.contains(&name).then(|| variables.optional(name)).flatten();
        Self::of_variables(value)
    }

    /// The same, of variables that are somewhere else.
    ///
    /// # Errors
    /// [`EnvError::Invalid`]
    pub fn of_variables(value: impl Fn(&'static str) -> Option<String>) -> Result<Self, EnvError> {
        let default = Self::default();
        let invalid = |name, problem| EnvError::Invalid { name, problem };
        let days = |name, default: u32, least| {
            let Some(text) = value(name) else { return Ok(default) };
            let days = text.parse().ok().filter(|days| (least..=MOST_DAYS).contains(days));
            let problem = || format!("expected {least} to {MOST_DAYS} days, got {text}");
            days.ok_or_else(|| invalid(name, problem()))
        };
        let length = value(env::EVENT_PERIOD).map(|text| text.parse());
        let length = length
            .transpose()
            .map_err(|e: PeriodError| invalid(env::EVENT_PERIOD, e.to_string()))?;
        Ok(Self {
            length: length.unwrap_or_default(),
            lateness_days: days(env::EVENT_LATENESS_DAYS, default.lateness_days, 0)?,
            days: days(env::EVENT_DAYS, default.days, 1)?,
            archive_days: days(env::EVENT_ARCHIVE_DAYS, default.archive_days, 0)?,
            ..default
        })
    }

    /// From when on events are taken where the clock is the system's: 2015-01-01, as for all commands.
    pub const EARLIEST: Timestamp = crate::platform::message::EARLIEST;
    /// The same where somebody has set the clock: 2000-01-01.
    pub const EARLIEST_BY_HAND: Timestamp = crate::platform::message::EARLIEST_BY_HAND;

    /// The period that an instant lies in.
    pub fn period_of(&self, at: Timestamp) -> Period {
        self.length.period_of(at)
    }

    /// The closed period that an instant lies in, if that no longer takes events.
    pub fn closed(&self, at: Timestamp, now: Timestamp) -> Option<Period> {
        Some(self.period_of(at)).filter(|period| self.closes_at(*period) <= now)
    }

    /// From this instant on no event of the period is taken.
    pub fn closes_at(&self, period: Period) -> Timestamp {
        period.to().plus_millis(i64::from(self.lateness_days) * DAY_MILLIS)
    }

    /// When it may be sealed: every writer has seen that it is closed.
    pub fn sealed_from(&self, period: Period) -> Timestamp {
        self.closes_at(period).plus_millis(SEALED_AFTER_MILLIS)
    }

    /// From when on the stream of a period's table has nothing left to bring: nothing is put once it is sealed, and DynamoDB keeps
    /// a stream for 24 hours.
    pub fn stream_over_from(&self, period: Period) -> Timestamp {
        self.sealed_from(period).plus_millis(FINAL_AFTER_MILLIS)
    }

    /// When its table may go, if its archive is verified.
    pub fn dropped_from(&self, period: Period) -> Timestamp {
        let readable = period.to().plus_millis(i64::from(self.days) * DAY_MILLIS);
        readable.max(self.stream_over_from(period))
    }

    /// When its archive may go, if it may at all.
    pub fn archived_until(&self, period: Period) -> Option<Timestamp> {
        let days = (self.archive_days > 0).then_some(i64::from(self.archive_days))?;
        Some(period.to().plus_millis(days * DAY_MILLIS))
    }
}

impl Default for EventSettings {
    fn default() -> Self {
        Self {
            length: PeriodLength::default(),
            lateness_days: 7,
            days: 35,
            archive_days: 400,
            earliest: Self::EARLIEST,
        }
    }
}

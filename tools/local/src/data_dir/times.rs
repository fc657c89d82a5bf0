//! The times that a data directory stores: when a stack last ran, how far a set clock has come, and how long the periods of events
//! are.

use std::fmt::Display;
use std::io::Write;
use std::str::FromStr;

use shared::history::events::PeriodLength;
use shared::platform::values::Timestamp;

use super::{DataDir, DataDirError};

/// When a stack last ran here.
const LAST_RAN: &str = "clock";
/// How far a clock has come that somebody has set.
const SET: &str = "clock-set";
/// How long the periods of events are.
const PERIOD: &str = "event-period";

impl DataDir {
    /// The time at which a stack last ran here, as [stored](Self::note_time).
    pub(crate) fn last_ran_at(&self) -> Option<Timestamp> {
        self.noted(LAST_RAN)
    }

    /// How far the clock has come that somebody has set here, if somebody has.
    pub(crate) fn set_clock(&self) -> Option<Timestamp> {
        self.noted(SET)
    }

    /// Stores the current time.
    ///
    /// # Errors
    /// [`DataDirError::Unwritable`]
    pub(crate) fn note_time(&self, now: Timestamp) -> Result<(), DataDirError> {
        self.note(LAST_RAN, now)
    }

    /// Stores how far the clock has come, which somebody has set.
    ///
    /// # Errors
    /// [`DataDirError::Unwritable`]
    pub(crate) fn note_set_clock(&self, now: Timestamp) -> Result<(), DataDirError> {
        self.note(SET, now)
    }

    /// How long the periods of events are, once that was decided.
    pub(crate) fn event_period(&self) -> Option<PeriodLength> {
        self.noted(PERIOD)
    }

    /// Stores how long the periods of events are.
    ///
    /// # Errors
    /// [`DataDirError::Unwritable`]
    pub(crate) fn note_event_period(&self, length: PeriodLength) -> Result<(), DataDirError> {
        self.note(PERIOD, length)
    }

    fn noted<T: FromStr>(&self, name: &str) -> Option<T> {
        let noted = String::from_utf8(self.directory.read(name).ok()??).ok()?;
        noted.trim().parse().ok()
    }

    fn note(&self, name: &str, what: impl Display) -> Result<(), DataDirError> {
        let path = self.directory.path().join(name);
        let mut next = self.directory.new_file()?;
        writeln!(next.file, "{what}")
            .map_err(|source| DataDirError::Unwritable { path, source })?;
        Ok(next.keep(name)?)
    }
}

//! The times that a data directory stores: when a stack last ran, how far a set clock has come, and how long the periods of events
//! are.

use std::fmt::Display;
use std::io::{Read, Write};
use std::str::FromStr;

use shared::events::PeriodLength;
use shared::values::Timestamp;

use super::{DataDir, DataDirError, private_file};

/// When a stack last ran here.
const LAST_RAN: &str = "clock";
/// How far a clock has come that somebody has set.
const SET: &str = "clock-set";
/// How long the periods of events are.
const PERIOD: &str = "event-period";

impl DataDir {
    /// The time at which a stack last ran here, as [stored](Self::note_time).
    #[must_use]
    pub(crate) fn last_ran_at(&self) -> Option<Timestamp> {
        self.noted(LAST_RAN)
    }

    /// How far the clock has come that somebody has set here, if somebody has.
    #[must_use]
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
    #[must_use]
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
        let mut noted = String::new();
        // To look is not to create it.
        let path = Some(self.path.join(name)).filter(|path| path.exists())?;
        private_file(&path).ok()?.read_to_string(&mut noted).ok()?;
        noted.trim().parse().ok()
    }

    fn note(&self, name: &str, what: impl Display) -> Result<(), DataDirError> {
        let (path, next) = (self.path.join(name), self.path.join(format!("{name}.next")));
        let unwritable = |source| DataDirError::Unwritable { path: path.clone(), source };
        let mut file = private_file(&next)?;
        file.set_len(0).map_err(unwritable)?;
        writeln!(file, "{what}").map_err(unwritable)?;
        std::fs::rename(&next, &path).map_err(unwritable)
    }
}

//! What a customer did, counted by name and by UTC day.

use std::collections::BTreeMap;

use crate::events::{Period, PeriodLength};
use crate::values::{EventName, Timestamp};

/// How often something happened, and when first and last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameTally {
    /// How often.
    pub count: u64,
    /// The earliest instant.
    pub first_at: Timestamp,
    /// The latest instant.
    pub last_at: Timestamp,
}

/// What a customer did.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CustomerSummary {
    names: BTreeMap<EventName, (NameTally, BTreeMap<Period, u64>)>,
}

impl CustomerSummary {
    /// How many events there were.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.names.values().map(|(tally, _)| tally.count).sum()
    }

    /// The earliest instant of an event.
    #[must_use]
    pub fn first_at(&self) -> Option<Timestamp> {
        self.names.values().map(|(tally, _)| tally.first_at).min()
    }

    /// The latest instant of an event.
    #[must_use]
    pub fn last_at(&self) -> Option<Timestamp> {
        self.names.values().map(|(tally, _)| tally.last_at).max()
    }

    /// What happened, by name.
    pub fn names(&self) -> impl Iterator<Item = (&EventName, NameTally)> {
        self.names.iter().map(|(name, (tally, _))| (name, *tally))
    }

    /// How often something happened on the UTC days from one to another, the second excluded.
    #[must_use]
    pub fn counted(&self, name: &EventName, from: Timestamp, to: Timestamp) -> u64 {
        let day = |at| PeriodLength::Day.period_of(at);
        let (from, to) = (day(from), day(to));
        let days = self.names.get(name).filter(|_| from < to);
        days.map_or(0, |(_, days)| days.range(from..to).map(|(_, count)| count).sum())
    }

    /// Counts an event.
    pub fn count(&mut self, name: &EventName, at: Timestamp) {
        let one = NameTally { count: 0, first_at: at, last_at: at };
        let (tally, days) = self.names.entry(name.clone()).or_insert((one, BTreeMap::new()));
        tally.count += 1;
        tally.first_at = tally.first_at.min(at);
        tally.last_at = tally.last_at.max(at);
        *days.entry(PeriodLength::Day.period_of(at)).or_default() += 1;
    }
}

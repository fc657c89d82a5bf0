//! The complete summary of a customer.

use std::collections::BTreeMap;

use super::tally::{Days, NameTally, NamedDays, day_of};
use crate::platform::values::{EventName, Timestamp};

/// The summary of a customer: its view with all blocks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CustomerSummary {
    pub(super) total: Option<NameTally>,
    pub(super) names: BTreeMap<EventName, NameTally>,
    pub(super) days: NamedDays,
}

impl CustomerSummary {
    pub fn events(&self) -> u64 {
        self.total.map_or(0, |total| total.count)
    }

    /// The earliest instant of an event.
    pub fn first_at(&self) -> Option<Timestamp> {
        self.total.map(|total| total.first_at)
    }

    /// The latest instant of an event.
    pub fn last_at(&self) -> Option<Timestamp> {
        self.total.map(|total| total.last_at)
    }

    pub fn names(&self) -> impl Iterator<Item = (&EventName, NameTally)> {
        self.names.iter().map(|(name, tally)| (name, *tally))
    }

    /// How often something happened from one UTC day to another, the second excluded. Of instants the days count that they are
    /// in.
    pub fn counted(&self, name: &EventName, from: Timestamp, to: Timestamp) -> u64 {
        self.days.get(name).map_or(0, |days| days.counted(day_of(from), day_of(to)))
    }

    /// The same of whatever happened.
    pub fn counted_all(&self, from: Timestamp, to: Timestamp) -> u64 {
        self.days.values().map(|days| days.counted(day_of(from), day_of(to))).sum()
    }

    /// What happened, by name; names of which all is removed as well, if it is as it is stored.
    pub fn tallies(&self) -> &BTreeMap<EventName, NameTally> {
        &self.names
    }

    /// The days of every name, those included that count less than nothing.
    pub fn days(&self) -> &NamedDays {
        &self.days
    }

    /// The same without what was removed before it was folded, or is removed.
    #[must_use]
    pub(super) fn shown(mut self) -> Self {
        self.total = self.total.filter(NameTally::is_something);
        self.names.retain(|_, tally| tally.is_something());
        self.days.values_mut().for_each(super::tally::Days::shown);
        self.days.retain(|_, days| !days.is_empty());
        self
    }

    /// The same without names and days that count nothing, or less.
    #[must_use]
    pub fn without_nothing(self) -> Self {
        self.shown()
    }

    /// Adds what was counted elsewhere.
    pub fn join(&mut self, other: &Self) {
        self.total = NameTally::sum(self.total.into_iter().chain(other.total));
        for (name, tally) in &other.names {
            self.add_tally(name, *tally);
        }
        for (name, days) in &other.days {
            self.days.entry(name.clone()).or_default().join(days);
        }
    }

    /// Adds events of some days, the first and the last of which were at these instants, if anybody knows.
    pub fn add_days(
        &mut self,
        name: &EventName,
        days: &Days,
        first_at: Option<Timestamp>,
        last_at: Option<Timestamp>,
    ) {
        let mut tally = NameTally::at_no_time(days.events());
        tally.first_at = first_at.unwrap_or(tally.first_at);
        tally.last_at = last_at.unwrap_or(tally.last_at);
        self.add_tally(name, tally);
        self.total = NameTally::sum(self.total.into_iter().chain([tally]));
        self.days.entry(name.clone()).or_default().join(days);
    }

    fn add_tally(&mut self, name: &EventName, tally: NameTally) {
        let sum = self.names.get(name).copied();
        let sum = NameTally::sum(sum.into_iter().chain([tally]));
        self.names.extend(sum.map(|sum| (name.clone(), sum)));
    }

    /// Counts an event: a recount, which no view has anything to do with.
    pub fn count(&mut self, name: &EventName, at: Timestamp) {
        let one = NameTally::one(at);
        self.total = NameTally::sum(self.total.into_iter().chain([one]));
        let tally = self.names.get(name).copied();
        self.names.extend(
            NameTally::sum(tally.into_iter().chain([one])).map(|tally| (name.clone(), tally)),
        );
        self.days.entry(name.clone()).or_default().add(day_of(at), 1);
    }
}

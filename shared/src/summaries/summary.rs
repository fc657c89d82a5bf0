//! What a customer did, all of it.

use std::collections::BTreeMap;

use super::tally::{NameTally, NamedDays, day_of};
use crate::values::{EventName, Timestamp};

/// What a customer did: the folded state, with all blocks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CustomerSummary {
    pub(super) total: Option<NameTally>,
    pub(super) names: BTreeMap<EventName, NameTally>,
    pub(super) days: NamedDays,
}

impl CustomerSummary {
    /// How many events there were.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.total.map_or(0, |total| total.count)
    }

    /// The earliest instant of an event.
    #[must_use]
    pub fn first_at(&self) -> Option<Timestamp> {
        self.total.map(|total| total.first_at)
    }

    /// The latest instant of an event.
    #[must_use]
    pub fn last_at(&self) -> Option<Timestamp> {
        self.total.map(|total| total.last_at)
    }

    /// What happened, by name.
    pub fn names(&self) -> impl Iterator<Item = (&EventName, NameTally)> {
        self.names.iter().map(|(name, tally)| (name, *tally))
    }

    /// How often something happened from one UTC day to another, the second excluded. Of instants the days count that they are
    /// in.
    #[must_use]
    pub fn counted(&self, name: &EventName, from: Timestamp, to: Timestamp) -> u64 {
        self.days.get(name).map_or(0, |days| days.counted(day_of(from), day_of(to)))
    }

    /// The same of whatever happened.
    #[must_use]
    pub fn counted_all(&self, from: Timestamp, to: Timestamp) -> u64 {
        self.days.values().map(|days| days.counted(day_of(from), day_of(to))).sum()
    }

    /// Counts an event: a recount, which no view has anything to do with.
    pub fn count(&mut self, name: &EventName, at: Timestamp) {
        let one = NameTally::of(at);
        self.total = NameTally::sum(self.total.into_iter().chain([one]));
        let tally = self.names.get(name).copied();
        self.names.extend(
            NameTally::sum(tally.into_iter().chain([one])).map(|tally| (name.clone(), tally)),
        );
        self.days.entry(name.clone()).or_default().add(day_of(at), 1);
    }
}

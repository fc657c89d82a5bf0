//! What is counted: how often, first and last, and how often on each UTC day.

use std::collections::BTreeMap;

use crate::platform::values::{EventName, Packer, Timestamp, Unpacker};

const DAY_MILLIS: i64 = 86_400_000;
/// The last millisecond of the year 9999.
const END_OF_TIME: i64 = 253_402_300_799_999;

/// How often something happened, and when first and last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameTally {
    pub count: u64,
    /// The earliest instant.
    pub first_at: Timestamp,
    /// The latest instant.
    pub last_at: Timestamp,
}

impl NameTally {
    pub fn one(at: Timestamp) -> Self {
        Self { count: 1, first_at: at, last_at: at }
    }

    /// So many fewer, wherever they were.
    pub(super) fn fewer(events: u64) -> Self {
        Self { count: events.wrapping_neg(), ..Self::at_no_time(0) }
    }

    /// So many of which nobody knows when they were: whatever is added says that.
    pub fn at_no_time(count: u64) -> Self {
        let [first_at, last_at] = [END_OF_TIME, 0].map(Timestamp::from_unix_millis);
        Self { count, first_at, last_at }
    }

    /// True if it counts something: not nothing, nor less than that, as where an event was removed before it was folded.
    pub fn is_something(&self) -> bool {
        is_something(self.count)
    }

    /// Adds what was counted elsewhere, modulo 2^64.
    pub fn join(&mut self, other: Self) {
        self.count = self.count.wrapping_add(other.count);
        self.first_at = self.first_at.min(other.first_at);
        self.last_at = self.last_at.max(other.last_at);
    }

    /// The sum of several; `None` if there are none.
    pub fn sum(tallies: impl IntoIterator<Item = Self>) -> Option<Self> {
        tallies.into_iter().reduce(|mut sum, one| {
            sum.join(one);
            sum
        })
    }

    pub(super) fn pack(&self, to: &mut Packer) {
        to.number(self.count);
        to.instant(self.first_at);
        to.instant(self.last_at);
    }

    pub(super) fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let (count, first_at, last_at) = (from.number()?, from.instant()?, from.instant()?);
        Some(Self { count, first_at, last_at })
    }
}

/// A UTC day, by its number since 1970-01-01.
pub type Day = u32;

/// The day of an instant.
pub fn day_of(at: Timestamp) -> Day {
    Day::try_from(at.unix_millis().div_euclid(DAY_MILLIS)).unwrap_or(0)
}

/// The first instant of a day.
pub fn start_of(day: Day) -> Timestamp {
    Timestamp::from_unix_millis(i64::from(day) * DAY_MILLIS)
}

/// How many events there were on each UTC day. Days without any are not in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Days(BTreeMap<Day, u64>);

impl Days {
    /// Adds events of a day, modulo 2^64.
    pub fn add(&mut self, day: Day, events: u64) {
        let sum = self.0.get(&day).copied().unwrap_or(0).wrapping_add(events);
        match sum {
            0 => drop(self.0.remove(&day)),
            _ => drop(self.0.insert(day, sum)),
        }
    }

    /// Takes away what is not there any more.
    pub fn subtract(&mut self, other: &Self) {
        other.iter().for_each(|(day, events)| self.add(day, events.wrapping_neg()));
    }

    /// How many events there are, modulo 2^64.
    pub fn events(&self) -> u64 {
        self.0.values().fold(0, |sum, events| sum.wrapping_add(*events))
    }

    #[must_use]
    pub fn filtered(&self, mut is_wanted: impl FnMut(Day) -> bool) -> Self {
        Self(self.iter().filter(|(day, _)| is_wanted(*day)).collect())
    }

    /// The same without days that count less than nothing.
    pub(super) fn shown(&mut self) {
        self.0.retain(|_, events| is_something(*events));
    }

    /// Adds what was counted elsewhere.
    pub fn join(&mut self, other: &Self) {
        other.iter().for_each(|(day, events)| self.add(day, events));
    }

    /// How many days there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The days, the earliest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Day, u64)> {
        self.0.iter().map(|(day, events)| (*day, *events))
    }

    /// The latest day.
    pub fn last(&self) -> Option<Day> {
        self.0.last_key_value().map(|(day, _)| *day)
    }

    /// How many events there were from one day to another, the second excluded.
    pub fn counted(&self, from: Day, to: Day) -> u64 {
        if from >= to {
            return 0;
        }
        self.0.range(from..to).fold(0, |sum, (_, events)| sum.wrapping_add(*events))
    }

    /// Takes out the days before this one.
    #[must_use]
    pub fn split_before(&mut self, day: Day) -> Self {
        let later = self.0.split_off(&day);
        Self(std::mem::replace(&mut self.0, later))
    }

    pub(super) fn pack(&self, to: &mut Packer) {
        to.number(self.0.len() as u64);
        let mut before = 0;
        for (day, events) in &self.0 {
            to.number(u64::from(day - before));
            to.number(*events);
            before = *day;
        }
    }

    pub(super) fn unpack(from: &mut Unpacker<'_>) -> Option<Self> {
        let (mut days, mut before) = (BTreeMap::new(), 0_u32);
        for _ in 0..from.number()? {
            before = before.checked_add(u32::try_from(from.number()?).ok()?)?;
            days.insert(before, from.number()?);
        }
        Some(Self(days))
    }
}

fn is_something(count: u64) -> bool {
    count.cast_signed() > 0
}

/// Days of several names, as a block has them.
pub type NamedDays = BTreeMap<EventName, Days>;

pub(super) fn pack_days(named: &NamedDays) -> Vec<u8> {
    let mut packer = Packer::default();
    for (name, days) in named {
        packer.text(name.as_str());
        days.pack(&mut packer);
    }
    packer.into_bytes()
}

pub(super) fn unpack_days(bytes: &[u8]) -> Option<NamedDays> {
    let (mut unpacker, mut named) = (Unpacker::new(bytes), NamedDays::new());
    while !unpacker.is_empty() {
        let name = EventName::new(unpacker.text()?).ok()?;
        named.insert(name, Days::unpack(&mut unpacker)?);
    }
    Some(named)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn days(of: &[(u32, u64)]) -> Days {
        let mut days = Days::default();
        of.iter().for_each(|(day, events)| days.add(*day, *events));
        days
    }

    proptest! {
        #[test]
        fn days_survive_being_stored(of in prop::collection::vec((0..60_000_u32, 1..1_000_000_u64), 0..40)) {
            let named = NamedDays::from([
                (EventName::new("login").expect("a name"), days(&of)),
                (EventName::new("sale").expect("a name"), Days::default()),
            ]);
            prop_assert_eq!(unpack_days(&pack_days(&named)), Some(named));
        }

        #[test]
        fn other_bytes_are_no_days(bytes in prop::collection::vec(any::<u8>(), 1..40)) {
            if let Some(named) = unpack_days(&bytes) {
                prop_assert!(unpack_days(&pack_days(&named)).is_some());
            }
        }

        #[test]
        fn a_split_loses_nothing(of in prop::collection::vec((0..50_u32, 1..9_u64), 0..40), at in 0..50_u32) {
            let whole = days(&of);
            let mut later = whole.clone();
            let earlier = later.split_before(at);
            prop_assert!(earlier.last().is_none_or(|last| last < at));
            prop_assert_eq!(later.counted(0, at), 0);
            prop_assert_eq!(earlier.counted(0, 99) + later.counted(0, 99), whole.counted(0, 99));
        }
    }

    #[test]
    fn a_day_is_one_in_utc() {
        let day = |text: &str| day_of(text.parse().expect("an instant"));
        assert_eq!(day("2026-11-20T23:59:59.999Z") + 1, day("2026-11-21T00:00:00Z"));
        assert_eq!(day("2000-01-01T00:00:00Z"), 10_957);
        assert_eq!(start_of(10_957).to_string(), "2000-01-01T00:00:00.000Z");
    }
}

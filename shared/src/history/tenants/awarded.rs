//! What a definition of a rule has given about a customer: a set of days on which periods begin, and where it is stored.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::alerts::id_of_rule;
use super::{LIFE, When};
use crate::history::events::{Customer, Period};
use crate::platform::dynamo::item::{Item, Row, number, text};
use crate::platform::dynamo::{Condition, DynamoError};
use crate::platform::values::{AlertId, RuleId, Timestamp};

const DAY_MILLIS: i64 = 86_400_000;
const UNSENT: &str = "unsent";
const UNTIL: &str = "until";
/// Attributes that a set has while alerts are sent.
pub(super) const SENDING: [&str; 2] = [UNSENT, UNTIL];

/// The days that periods begin on, counted from 1970.
pub(super) type PeriodDays = BTreeSet<u32>;

/// What a definition of a rule has given about a customer.
#[derive(Debug, Clone)]
pub(super) struct AwardedAlerts {
    /// The life of the customer's view.
    pub(super) life: u64,
    pub(super) at: Timestamp,
    pub(super) when: When,
    pub(super) days: PeriodDays,
    /// Days whose alerts may not be sent to the bus yet.
    pub(super) unsent: PeriodDays,
    /// The end of the lease of the decision that sends them.
    pub(super) until: i64,
    /// Raised by each write.
    pub(super) version: i64,
}

/// The order in which sets win: the life of the view, the instant and the text of the definition.
pub(super) type Rank = (u64, Timestamp, String);

impl AwardedAlerts {
    pub(super) fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let when = When::parse(row.text("says")?);
        let first = row.number("first")?;
        let days = |name| row.packed(name, "a set of days", |bytes| Some(unpack(bytes, first)));
        Ok(Self {
            life: row.count(LIFE)?,
            at: row.parsed("at", "an instant")?,
            when: when.ok_or_else(|| row.corrupt("says", "when a rule gives an alert"))?,
            days: days("days")?.unwrap_or_default(),
            unsent: days(UNSENT)?.unwrap_or_default(),
            until: sending_until(row)?.unwrap_or(0),
            version: row.number("version")?,
        })
    }

    pub(super) fn rank(&self) -> Rank {
        (self.life, self.at, self.when.to_string())
    }

    /// The alerts of all of its days.
    pub(super) fn alerts(&self, rule: &RuleId, customer: &Customer) -> Vec<AlertId> {
        let of = |day: &u32| id_of_rule(rule, self.at, &self.when, customer, self.period(*day));
        self.days.iter().map(of).collect()
    }

    /// The period that a day stands for.
    pub(super) fn period(&self, day: u32) -> Option<Period> {
        let When::Counted(counted) = &self.when else { return None };
        let start = Timestamp::from_unix_millis(i64::from(day) * DAY_MILLIS);
        counted.within.length().map(|length| length.period_of(start))
    }

    pub(super) fn attributes(&self) -> Item {
        let first = self.days.first().copied().unwrap_or_default();
        let packed = |days| AttributeValue::B(Blob::new(pack(days, first)));
        let mut item = Item::from([
            (LIFE.to_owned(), number(self.life)),
            ("at".to_owned(), text(self.at.to_string())),
            ("says".to_owned(), text(self.when.to_string())),
            ("first".to_owned(), number(first)),
            ("days".to_owned(), packed(&self.days)),
            ("version".to_owned(), number(self.version)),
        ]);
        if !self.unsent.is_empty() {
            item.insert(UNSENT.to_owned(), packed(&self.unsent));
            item.insert(UNTIL.to_owned(), number(self.until));
        }
        item
    }

    /// The condition that the set has not been written since this one, or none, was read.
    pub(super) fn unchanged(there: Option<&Self>) -> Condition<'static> {
        match there {
            None => Condition::new("attribute_not_exists(pk)"),
            Some(there) => Condition::new("version = :seen").value(":seen", number(there.version)),
        }
    }
}

/// The end of the lease of a decision that may still send alerts of this row to the bus, in unix
/// milliseconds.
///
/// # Errors
/// [`DynamoError::Corrupt`]
pub fn sending_until(row: &Row<'_>) -> Result<Option<i64>, DynamoError> {
    row.item.contains_key(UNTIL).then(|| row.number(UNTIL)).transpose()
}

fn pack(days: &PeriodDays, first: u32) -> Vec<u8> {
    let last = days.last().copied().unwrap_or(first);
    let mut bytes = vec![0_u8; (last - first) as usize / 8 + 1];
    for day in days.iter().map(|day| day - first) {
        bytes[day as usize / 8] |= 1 << (day % 8);
    }
    bytes
}

fn unpack(bytes: &[u8], first: i64) -> PeriodDays {
    let first = u32::try_from(first).unwrap_or(0);
    let bits = (first..).zip((0..bytes.len() * 8).map(|bit| bytes[bit / 8] >> (bit % 8) & 1));
    bits.filter(|(_, bit)| *bit == 1).map(|(day, _)| day).collect()
}

/// The day that stands for a period; of all time the first one.
pub(super) fn day_of(period: Option<Period>) -> u32 {
    let days = period.map_or(0, |period| period.from().unix_millis().div_euclid(DAY_MILLIS));
    u32::try_from(days).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_set_of_days_is_read_as_it_was_written(
            days in proptest::collection::btree_set(10_000_u32..24_000, 1..40),
        ) {
            let first = *days.first().expect("a day");
            let packed = pack(&days, first);
            prop_assert!(packed.len() <= 1 + 14_000 / 8);
            prop_assert_eq!(unpack(&packed, i64::from(first)), days);
        }
    }
}

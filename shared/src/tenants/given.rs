//! What a definition of a rule has given about a customer: a set of days on which periods begin, and where it is stored.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::alerts::id_of_rule;
use super::{RuleDefinition, When};
use crate::dynamo::item::{Item, Row, number, text};
use crate::dynamo::{Condition, DynamoError};
use crate::events::{Customer, Period};
use crate::values::{AlertId, RuleId, Timestamp};

const DAY_MILLIS: i64 = 86_400_000;

/// The days that periods begin on, counted from 1970.
pub(super) type Days = BTreeSet<u32>;

/// What a definition of a rule has given about a customer.
pub(super) struct Given {
    pub(super) at: Timestamp,
    pub(super) when: When,
    pub(super) days: Days,
}

impl Given {
    pub(super) fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let when = When::parse(row.text("says")?);
        let first = row.number("first")?;
        let days = row.packed("days", "a set of days", |bytes| Some(unpack(bytes, first)))?;
        Ok(Self {
            at: row.parsed("at", "an instant")?,
            when: when.ok_or_else(|| row.corrupt("says", "when a rule gives an alert"))?,
            days: days.unwrap_or_default(),
        })
    }

    /// Where its definition is in the order in which they win.
    pub(super) fn rank(&self) -> (Timestamp, String) {
        (self.at, self.when.to_string())
    }

    pub(super) fn alerts(&self, rule: &RuleId, customer: &Customer) -> Vec<AlertId> {
        let When::Counted(counted) = &self.when else { return Vec::new() };
        let start = |day: u32| Timestamp::from_unix_millis(i64::from(day) * DAY_MILLIS);
        let period = |day| counted.within.length().map(|length| length.period_of(start(day)));
        let of = |day: &u32| id_of_rule(rule, self.at, &self.when, customer, period(*day));
        self.days.iter().map(of).collect()
    }

    pub(super) fn attributes(&self) -> Item {
        let first = self.days.first().copied().unwrap_or_default();
        let days = AttributeValue::B(Blob::new(pack(&self.days, first)));
        Item::from([
            ("at".to_owned(), text(self.at.to_string())),
            ("says".to_owned(), text(self.when.to_string())),
            ("first".to_owned(), number(first)),
            ("days".to_owned(), days),
        ])
    }

    /// That nobody has written the set since this one, or none, was read.
    pub(super) fn unchanged(there: Option<&Self>) -> Condition<'static> {
        let Some(there) = there else { return Condition::new("attribute_not_exists(pk)") };
        let mut condition =
            Condition::new("#at = :at AND says = :says AND #first = :first AND #days = :days");
        for (name, value) in there.attributes() {
            condition = match name.as_str() {
                "at" => condition.name("#at", "at").value(":at", value),
                "says" => condition.value(":says", value),
                "first" => condition.name("#first", "first").value(":first", value),
                _ => condition.name("#days", "days").value(":days", value),
            };
        }
        condition
    }
}

/// Where a definition is in the order in which they win.
pub(super) fn rank_of(rule: &RuleDefinition) -> (Timestamp, String) {
    (rule.at, rule.when.to_string())
}

fn pack(days: &Days, first: u32) -> Vec<u8> {
    let last = days.last().copied().unwrap_or(first);
    let mut bytes = vec![0_u8; (last - first) as usize / 8 + 1];
    for day in days.iter().map(|day| day - first) {
        bytes[day as usize / 8] |= 1 << (day % 8);
    }
    bytes
}

fn unpack(bytes: &[u8], first: i64) -> Days {
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

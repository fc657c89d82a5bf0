//! The last decisions on a customer, one for each definition: one row, which is written only when something changes.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::definition::{DailyDefinition, period};
use crate::history::events::Customer;
use crate::history::summaries::{CustomerSummary, Day};
use crate::history::tenants::{Alert, LIFE};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{Item, Row, number};
use crate::platform::values::{AlertId, Packer, Timestamp, Unpacker};

/// The last decisions on a customer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Decisions {
    /// Zero if there is no row.
    pub(super) version: i64,
    /// The life of the customer's view.
    pub(super) life: u64,
    /// By the name of the definition in the row.
    by_definition: BTreeMap<String, Decision>,
}

/// The last change of whether a definition holds for the customer, and the day of that change.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Decision {
    /// The alert that it gives, or would. It tells the definition from others under the same name.
    alert_id: AlertId,
    holds: bool,
    day: Day,
    decided_at: Timestamp,
    events: u64,
}

impl Decision {
    fn is_of(&self, definition: &DailyDefinition, customer: &Customer) -> bool {
        self.alert_id == definition.alert_id(customer, self.day)
    }
}

impl Decisions {
    /// These decisions, or none if they follow from an earlier life of the customer's view. `None`
    /// if they follow from a later one.
    pub(super) fn in_life(self, life: u64) -> Option<Self> {
        match self.life.cmp(&life) {
            Ordering::Less => {
                Some(Self { version: self.version, life, by_definition: BTreeMap::new() })
            }
            Ordering::Equal => Some(self),
            Ordering::Greater => None,
        }
    }

    /// Decides for a day. Returns the new decisions, or `None` if nothing changes.
    ///
    /// A decision for this day or a later one stays, because each day is decided once. If something changes, older decisions that a
    /// definition has ceased to hold are dropped, and so are decisions of definitions that are not among these.
    pub(super) fn decide(
        &self,
        definitions: &[DailyDefinition],
        customer: &Customer,
        summary: &CustomerSummary,
        day: Day,
        now: Timestamp,
    ) -> Option<Self> {
        let (mut next, mut is_changed) = (BTreeMap::new(), false);
        for definition in definitions {
            let name = definition.source.to_string();
            let there = self.by_definition.get(&name);
            let there = there.filter(|there| there.is_of(definition, customer));
            let holds = definition.holds(summary, day);
            let decided = there.is_some_and(|there| there.day >= day);
            if decided || there.is_some_and(|there| there.holds) == holds {
                let kept = there.filter(|there| there.holds || there.day >= day);
                next.extend(kept.map(|kept| (name, kept.clone())));
                continue;
            }
            let (alert_id, events) = (definition.alert_id(customer, day), summary.events());
            let decision = Decision { alert_id, holds, day, decided_at: now, events };
            next.insert(name, decision);
            is_changed = true;
        }
        let version = self.version + 1;
        is_changed.then_some(Self { version, life: self.life, by_definition: next })
    }

    /// The alerts of a day: one for each definition that has begun to hold on it.
    pub(super) fn alerts(
        &self,
        definitions: &[DailyDefinition],
        customer: &Customer,
        day: Day,
    ) -> Vec<Alert> {
        let given = definitions.iter().filter_map(|definition| {
            let there = self.by_definition.get(&definition.source.to_string())?;
            let is_given = there.holds && there.day == day && there.is_of(definition, customer);
            let (at, events) = (there.decided_at, there.events);
            let of = (customer, self.life);
            is_given.then(|| Alert::of_day(definition, of, period(day), events, at))
        });
        given.collect()
    }

    /// The alerts of days after `told` by definitions that are not among these: where they are
    /// listed. The walk of such a day did not end, so they may not have been sent.
    pub(super) fn left_behind(
        &self,
        definitions: &[DailyDefinition],
        customer: &Customer,
        told: Day,
    ) -> Vec<(Timestamp, AlertId)> {
        let is_current = |decision: &Decision| {
            definitions.iter().any(|definition| decision.is_of(definition, customer))
        };
        let left = self.by_definition.values();
        let left = left.filter(|it| it.holds && it.day > told && !is_current(it));
        left.map(|it| (it.decided_at, it.alert_id.clone())).collect()
    }

    pub(super) fn attributes(&self) -> Item {
        let mut packer = Packer::default();
        for (name, decision) in &self.by_definition {
            let Decision { alert_id, holds, day, decided_at, events } = decision;
            packer.text(name);
            packer.text(alert_id.as_str());
            packer.number(u64::from(*holds));
            packer.number(u64::from(*day));
            packer.instant(*decided_at);
            packer.number(*events);
        }
        let decisions = AttributeValue::B(Blob::new(packer.into_bytes()));
        Item::from([
            ("version".to_owned(), number(self.version)),
            (LIFE.to_owned(), number(self.life)),
            ("decisions".to_owned(), decisions),
        ])
    }

    pub(super) fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let expected = "decisions by definition";
        let by_definition = row.packed("decisions", expected, unpack)?;
        let by_definition = by_definition.ok_or_else(|| row.corrupt("decisions", expected))?;
        Ok(Self { version: row.number("version")?, life: row.count(LIFE)?, by_definition })
    }
}

fn unpack(bytes: &[u8]) -> Option<BTreeMap<String, Decision>> {
    let (mut unpacker, mut found) = (Unpacker::new(bytes), BTreeMap::new());
    while !unpacker.is_empty() {
        let name = unpacker.text()?.to_owned();
        let alert_id = unpacker.text()?.parse().ok()?;
        let holds = match unpacker.number()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let day = Day::try_from(unpacker.number()?).ok()?;
        let (decided_at, events) = (unpacker.instant()?, unpacker.number()?);
        found.insert(name, Decision { alert_id, holds, day, decided_at, events });
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::history::summaries::start_of;
    use crate::history::tenants::{InForce, RuleDefinition, When};
    use crate::platform::values::EventName;

    const FIRST: Day = 20_000;

    fn silent(at: i64) -> DailyDefinition {
        let at = Timestamp::from_unix_millis(at);
        let rule_id = "gone".parse().expect("an id");
        let rule = RuleDefinition { rule_id, at, recorded_at: at, when: When::Silent(1) };
        let in_force = InForce { rules: vec![rule], scores: Vec::new() };
        DailyDefinition::among(in_force).pop().expect("a daily one")
    }

    fn customer() -> Customer {
        "acme#c-9".parse().expect("a customer")
    }

    proptest! {
        /// A day may be walked several times, and more events may be folded before each walk. It gives one alert.
        #[test]
        fn each_beginning_gives_one_alert(
            days in prop::collection::vec(prop::collection::vec(any::<bool>(), 1..4), 1..20),
        ) {
            let (name, one) = (EventName::new("e").expect("a name"), [silent(1)]);
            let (mut decisions, mut given, mut held) = (Decisions::default(), Vec::new(), false);
            let mut summary = CustomerSummary::default();
            summary.count(&name, start_of(FIRST - 9));
            for (day, walks) in (FIRST..).zip(days) {
                let begun = decisions.clone();
                for happens in walks {
                    if happens {
                        summary.count(&name, start_of(day));
                    }
                    let now = start_of(day + 1);
                    if let Some(next) = decisions.decide(&one, &customer(), &summary, day, now) {
                        prop_assert_eq!(next.version, decisions.version + 1);
                        decisions = next;
                    }
                    let alerts = decisions.alerts(&one, &customer(), day);
                    let is_new = alerts.first().is_some_and(|alert| Some(alert) != given.last());
                    given.extend(alerts.into_iter().filter(|_| is_new));
                }
                let holds = decisions.by_definition.values().any(|it| it.holds);
                if holds && !held {
                    prop_assert_eq!(given.last().map(Alert::when_name), Some(period(day).to_string()));
                }
                if holds == held && begun == decisions {
                    prop_assert_eq!(decisions.alerts(&one, &customer(), day), []);
                }
                held = holds;
            }
            let days: Vec<_> = given.iter().map(Alert::when_name).collect();
            prop_assert!(days.is_sorted_by(|one, next| one < next), "{:?}", days);
        }

        #[test]
        fn decisions_survive_being_stored(
            of in prop::collection::btree_map("rule#[a-z]{1,9}", (any::<u128>(), any::<bool>(), any::<u32>(), any::<u32>()), 0..9),
        ) {
            let by_definition = of.into_iter().map(|(name, (id, holds, day, events))| {
                let decided_at = Timestamp::from_unix_millis(i64::from(day));
                let (alert_id, events) = (AlertId::of_digest(id), u64::from(events));
                (name, Decision { alert_id, holds, day, decided_at, events })
            });
            let decisions = Decisions { version: 3, life: 1, by_definition: by_definition.collect() };
            let stored = decisions.attributes();
            let bytes = stored["decisions"].as_b().expect("bytes").as_ref().to_vec();
            prop_assert_eq!(unpack(&bytes), Some(decisions.by_definition));
        }
    }

    #[test]
    fn what_another_definition_has_decided_does_not_count() {
        let name = EventName::new("e").expect("a name");
        let mut summary = CustomerSummary::default();
        summary.count(&name, start_of(FIRST - 9));
        let (old, new) = ([silent(1)], [silent(2)]);
        let decide = |decisions: &Decisions, by: &[_], day| {
            decisions.decide(by, &customer(), &summary, day, start_of(day + 1))
        };
        let first = decide(&Decisions::default(), &old, FIRST).expect("it holds");
        assert_eq!(decide(&first, &old, FIRST + 1), None);
        let second = decide(&first, &new, FIRST + 1).expect("it holds for the new one");
        assert_eq!(second.alerts(&new, &customer(), FIRST + 1).len(), 1);
        assert_eq!(second.by_definition.len(), 1);
    }
}

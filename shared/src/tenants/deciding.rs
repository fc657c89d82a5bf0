//! The alerts that follow from the counts of a customer.
//!
//! The alerts of a rule are stored for each customer as a set of periods: a bit for each day, and for weeks and months a bit for their
//! first day. So a customer who reached the count in many periods costs one read, not a put for each period. The set belongs to one
//! definition, and another definition starts with an empty set. It is written after every [`SET_AFTER`] alerts, so an interrupted
//! decision does not start from the beginning when it is repeated.
//!
//! # Successive definitions
//!
//! The latest `at` wins permanently, so alerts of a superseded definition are never listed again. They are removed, also if decisions are
//! concurrent:
//!
//! * A set is only written over the version that its writer has read. A refused writer reads the current one. So no day of a set is lost,
//!   and no set is overwritten by one of an earlier definition.
//! * A decision that finds the set of an earlier definition removes the alerts of that set, and then writes its own set.
//! * A decision that finds the set of a later definition gives no alert. It removes its own alerts that are in no set yet.
//!
//! The command that redefines a rule decides on all customers, so it finds all sets. Alerts can only remain if a decision crashed or timed
//! out between its alerts and its set, and its definition was superseded before the retry: at most [`SET_AFTER`] for each customer that
//! was being decided. Writing the set first would cost one more write for every alert.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use futures::{StreamExt, TryStreamExt, stream};

use super::alerts::id_of_rule;
use super::given::{Days, Given, day_of, rank_of};
use super::{Alert, Alerts, CountRule, DecideError, Definitions, RuleDefinition, When, keys};
use crate::dynamo::item::{Item, text, truth};
use crate::dynamo::{Dynamo, DynamoError, Put, Update};
use crate::events::{Customer, Period};
use crate::ledger::Ledger;
use crate::outbound::Bus;
use crate::runtime::retry::Backoff;
use crate::summaries::CustomerSummary;
use crate::values::{AlertId, CustomerId, EventName, Origin, RuleId, TenantId, Timestamp};

/// Set in the row of a rule that has decided on all customers.
pub(super) const DECIDED: &str = "decided";
/// The number of alerts between two writes of a set.
const SET_AFTER: usize = 64;
/// Alerts that are removed concurrently.
const IN_FLIGHT: usize = 8;

/// Decides on the counts of customers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Rules {
    ledger: Ledger,
    bus: Bus,
}

impl Rules {
    /// By the rules in this ledger.
    #[must_use]
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone(), bus: Bus::off() }
    }

    /// The same, with the client of a piece of work.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self { ledger: self.ledger.over(dynamo), bus: self.bus.clone() }
    }

    /// The same, sending each alert to a bus.
    #[must_use]
    pub fn with_bus(self, bus: &Bus) -> Self {
        Self { bus: bus.clone(), ..self }
    }

    /// The current rules of a tenant that count events of one of these names.
    pub async fn counting(
        &self,
        tenant: &TenantId,
        names: &BTreeSet<EventName>,
    ) -> Result<Vec<RuleDefinition>, DynamoError> {
        let mut rules = Definitions::new(&self.ledger).of(tenant).await?.rules;
        rules.retain(|rule| rule.counts_one_of(names));
        Ok(rules)
    }

    /// Gives the alerts of one rule for the counts of a customer. Either the rule or the summary was written before the other was read.
    ///
    /// # Errors
    /// [`DecideError`]; some may have been given.
    pub async fn decide(
        &self,
        rule: &RuleDefinition,
        customer: &Customer,
        summary: &CustomerSummary,
        now: Timestamp,
    ) -> Result<(), DecideError> {
        let periods = Self::reached_by(rule, summary);
        if periods.is_empty() {
            return Ok(());
        }
        self.give(rule, customer, periods, now).await
    }

    /// The same for a new definition: alerts of an earlier one are removed, even if this one gives none.
    ///
    /// # Errors
    /// [`DecideError`]; some may have been given.
    pub async fn decide_again(
        &self,
        rule: &RuleDefinition,
        customer: &Customer,
        summary: &CustomerSummary,
        now: Timestamp,
    ) -> Result<(), DecideError> {
        self.give(rule, customer, Self::reached_by(rule, summary), now).await
    }

    /// Gives the alerts for these periods that are not given yet, and removes those of an earlier definition.
    async fn give(
        &self,
        rule: &RuleDefinition,
        customer: &Customer,
        periods: Vec<Option<Period>>,
        now: Timestamp,
    ) -> Result<(), DecideError> {
        let When::Counted(counted) = &rule.when else { return Ok(()) };
        let row = self.ledger.get(keys::decided(customer, &rule.rule_id)).await?;
        let mut there = row.map(|row| Given::read(&row)).transpose()?;
        match there.as_ref().map(|there| there.rank().cmp(&rank_of(rule))) {
            Some(Ordering::Greater) => return Ok(()),
            Some(Ordering::Less) => {
                there = self.remember(rule, customer, there, Days::new()).await?;
                if there.is_none() {
                    return Ok(());
                }
            }
            _ => {}
        }
        let is_due =
            |period: &_| there.as_ref().is_none_or(|set| !set.days.contains(&day_of(*period)));
        let due: Vec<_> = periods.into_iter().filter(is_due).collect();
        let alerts = Alerts::new(&self.ledger);
        for some in due.chunks(SET_AFTER) {
            let alert = |period: &_| Alert::of(rule, customer, *period, counted.count, now);
            let raised: Vec<_> = some.iter().map(alert).collect();
            // Before the set is written: after a crash in between, the alerts are sent again.
            alerts.raise(&self.bus, &customer.tenant_id, &raised).await?;
            let days = some.iter().map(|period| day_of(*period)).collect();
            there = self.remember(rule, customer, there, days).await?;
            if there.is_none() {
                let superseded = raised.into_iter().map(|alert| alert.alert_id).collect();
                self.remove(superseded, customer).await?;
                return Ok(());
            }
        }
        Ok(())
    }

    /// Adds days to the set of a definition about a customer. Replaces the set of an earlier definition and removes its alerts. Returns the
    /// new set; `None`, without a write, if there is the set of a later definition.
    async fn remember(
        &self,
        rule: &RuleDefinition,
        customer: &Customer,
        mut there: Option<Given>,
        days: Days,
    ) -> Result<Option<Given>, DynamoError> {
        let (deadline, mut backoff) = (self.ledger.table().deadline(), Backoff::default());
        loop {
            let order = there.as_ref().map(|there| there.rank().cmp(&rank_of(rule)));
            let before = match (&there, order) {
                (_, Some(Ordering::Greater)) => return Ok(None),
                (Some(earlier), Some(Ordering::Less)) => {
                    let superseded = earlier.alerts(&rule.rule_id, customer);
                    self.remove(superseded, customer).await?;
                    Days::new()
                }
                (Some(same), _) if same.days.is_superset(&days) => return Ok(there),
                (there, _) => there.as_ref().map(|same| same.days.clone()).unwrap_or_default(),
            };
            let next = Given { days: &before | &days, at: rule.at, when: rule.when.clone() };
            let key = keys::decided(customer, &rule.rule_id);
            let unchanged = Given::unchanged(there.as_ref());
            let put = self.ledger.replace(key, next.attributes(), &[], Some(unchanged)).await?;
            let Put::Refused(found) = put else { return Ok(Some(next)) };
            let found = Some(found).filter(|found| !found.is_empty());
            let found = found.map(|found| Given::read(&self.ledger.table().row(found)));
            there = found.transpose()?;
            backoff.wait(deadline).await?;
        }
    }

    async fn remove(
        &self,
        superseded: Vec<AlertId>,
        customer: &Customer,
    ) -> Result<(), DynamoError> {
        let alerts = Alerts::new(&self.ledger);
        let removed = superseded.into_iter().map(|alert| {
            let alerts = &alerts;
            async move { alerts.remove(&customer.tenant_id, &alert).await }
        });
        stream::iter(removed).buffer_unordered(IN_FLIGHT).try_collect().await
    }

    /// The periods in which the count of a rule was reached.
    fn reached_by(rule: &RuleDefinition, summary: &CustomerSummary) -> Vec<Option<Period>> {
        match &rule.when {
            When::Counted(counted) => reached(counted, summary),
            When::Silent(_) => Vec::new(),
        }
    }
}

impl Rules {
    /// The alerts of one rule for the counts of a customer, given or not.
    #[must_use]
    pub fn asked(
        rule: &RuleDefinition,
        customer: &Customer,
        summary: &CustomerSummary,
    ) -> Vec<AlertId> {
        let periods = Self::reached_by(rule, summary).into_iter();
        let RuleDefinition { rule_id, at, when, .. } = rule;
        periods.map(|period| id_of_rule(rule_id, *at, when, customer, period)).collect()
    }

    /// The rule in force under an id, if it counts and has not decided on all customers yet.
    pub async fn undecided(
        &self,
        tenant: &TenantId,
        rule: &RuleId,
    ) -> Result<Option<RuleDefinition>, DynamoError> {
        let row = self.ledger.get(keys::rule(tenant, rule)).await?;
        let Some(row) = row.filter(|row| !row.item.contains_key(DECIDED)) else { return Ok(None) };
        let in_force = RuleDefinition::read(&row)?;
        Ok(in_force.filter(|rule| matches!(rule.when, When::Counted(_))))
    }

    /// Notes that a rule has decided on all customers, unless it was redefined meanwhile. A redefinition removes the note.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been noted.
    pub async fn note_all_decided(
        &self,
        tenant: &TenantId,
        rule: &RuleDefinition,
    ) -> Result<(), DynamoError> {
        let update = Update {
            expression: "SET decided = :yes",
            condition: Some("#at = :at AND says = :says"),
            names: vec![("#at", "at")],
            values: vec![
                (":yes", truth(true)),
                (":at", text(rule.at.to_string())),
                (":says", text(rule.when.to_string())),
            ],
        };
        let key = keys::rule(tenant, &rule.rule_id).into_item();
        self.ledger.table().change(key, update).await?;
        Ok(())
    }

    /// The last customer, by id, on whom a new rule has decided, if that was noted under its message.
    pub async fn decided_up_to(
        &self,
        tenant: &TenantId,
        origin: &Origin,
    ) -> Result<Option<CustomerId>, DynamoError> {
        let row = self.ledger.get(keys::deciding(tenant, origin)).await?;
        row.map(|row| row.parsed("customer", "the id of a customer")).transpose()
    }

    /// Notes the last customer on whom a new rule has decided.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been noted.
    pub async fn note_decided(
        &self,
        tenant: &TenantId,
        origin: &Origin,
        customer: &CustomerId,
    ) -> Result<(), DynamoError> {
        let item = Item::from([("customer".to_owned(), text(customer.as_str()))]);
        let key = keys::deciding(tenant, origin);
        self.ledger.replace(key, item, &[], None).await.map(|_| ())
    }

    /// Removes the note, after all is decided.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be removed.
    pub async fn end_deciding(
        &self,
        tenant: &TenantId,
        origin: &Origin,
    ) -> Result<(), DynamoError> {
        self.ledger.delete(keys::deciding(tenant, origin)).await
    }
}

/// The periods in which a count was reached; all time is none.
fn reached(rule: &CountRule, summary: &CustomerSummary) -> Vec<Option<Period>> {
    let tally = summary.names().find(|(name, _)| **name == rule.event);
    let Some((_, tally)) = tally.filter(|(_, tally)| tally.count >= rule.count) else {
        return Vec::new();
    };
    match rule.within.length() {
        None => vec![None],
        Some(_) => {
            let all = rule.within.periods(tally.first_at, tally.last_at).into_iter();
            all.filter(|period| is_reached(rule, summary, *period)).map(Some).collect()
        }
    }
}

fn is_reached(rule: &CountRule, summary: &CustomerSummary, period: Period) -> bool {
    summary.counted(&rule.event, period.from(), period.to()) >= rule.count
}

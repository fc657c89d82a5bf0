//! The alerts that follow from the counts of a customer.
//!
//! The alerts of a rule are stored for each customer as a set of periods: a bit for each day, and for weeks and months a bit for their
//! first day. So a customer who reached the count in many periods costs one read, not a put for each period. The set belongs to one
//! definition, and another definition starts with an empty set.
//!
//! # What a decision follows from
//!
//! A decision holds a [`Snapshot`] of a customer for as long as its writes take, and an erasure may
//! empty the customer's view meanwhile. So alerts are put in one transaction with their set, on two
//! conditions:
//!
//! * *The view has the same life.* The erasure ends a life when it empties the view, and deletes
//!   alerts and sets of ended lives. After that moment no alert is put that follows from what was
//!   erased, so one scan finds all of them. A decision whose transaction is refused for that is
//!   [void](Decided::Void), and its caller reads a new snapshot.
//! * *The set is the one that was read.* So no day of a set is lost, no alert is put twice, and a
//!   decision that crashed has put all alerts of a transaction or none.
//!
//! Sets and alerts have the number of their life. The erasure deletes only those of an ended life.
//! So alerts of events that are sent after it stay, whatever it deletes next to them. A set of an
//! ended life counts as empty.
//!
//! A rule may be erased too, with its whole tenant. The erasure deletes rules before it empties
//! views, and a decision reads the life of a view before it reads rules. So a decision by a deleted
//! rule has a life that ends.
//!
//! # Successive definitions
//!
//! The latest `at` wins permanently, so alerts of a superseded definition are never listed again.
//! They are removed, also if decisions are concurrent: a decision that finds the set of an earlier
//! definition removes the alerts of that set, and then writes its own over it. A decision that
//! finds the set of a later definition gives no alert. The command that redefines a rule decides on
//! all customers, so it finds all sets.
//!
//! # The bus
//!
//! Alerts are sent to the bus after they are put. Until then the set names their days, with the end
//! of the sender's [lease](crate::platform::runtime::lease). After a crash the next decision sends them
//! again, and an erasure waits for the lease before it deletes the set.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt, TryStreamExt, stream};

use super::alerts::id_of_rule;
use super::awarded::{AwardedAlerts, PeriodDays, SENDING, day_of};
use super::{Alert, Alerts, CountRule, DecideError, Definitions, RuleDefinition, When, keys};
use crate::history::events::{Customer, Period};
use crate::history::summaries::{CustomerSummary, Snapshot, Summaries};
use crate::platform::dynamo::item::{Item, text, truth};
use crate::platform::dynamo::{Dynamo, DynamoError, Put, Update};
use crate::platform::ledger::Ledger;
use crate::platform::outbound::Bus;
use crate::platform::projection::Views;
use crate::platform::runtime::retry::Backoff;
use crate::platform::values::{
    AlertId, CustomerId, EventName, Origin, RuleId, TenantId, Timestamp,
};

/// Set in the row of a rule that has decided on all customers.
pub(super) const DECIDED: &str = "decided";
/// Alerts that are removed concurrently.
const IN_FLIGHT: usize = 8;

/// How a decision ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Decided {
    /// All alerts that the snapshot asks for are given.
    Done,
    /// An erasure has emptied the view since the snapshot was read: the decision has to be made
    /// again, by rules that are read after another snapshot.
    Void,
}

/// Decides on the counts of customers. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Rules {
    ledger: Ledger,
    summaries: Summaries,
    bus: Bus,
}

impl Rules {
    /// By the rules in this ledger, on the customers of these views.
    pub fn new(ledger: &Ledger, views: &Views) -> Self {
        Self { ledger: ledger.clone(), summaries: Summaries::new(views), bus: Bus::off() }
    }

    /// The same, with the client of a piece of work.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        let (ledger, summaries) = (self.ledger.over(dynamo), self.summaries.over(dynamo));
        Self { ledger, summaries, bus: self.bus.clone() }
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
        let mut rules = Definitions::new(&self.ledger).in_force(tenant).await?.rules;
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
        on: &Snapshot,
        now: Timestamp,
    ) -> Result<Decided, DecideError> {
        match Self::reached_by(rule, &on.summary).is_empty() {
            true => Ok(Decided::Done),
            false => self.decide_again(rule, on, now).await,
        }
    }

    /// The same for a new definition: alerts of an earlier one are removed, even if this one gives none.
    ///
    /// # Errors
    /// [`DecideError`]; some may have been given.
    pub async fn decide_again(
        &self,
        rule: &RuleDefinition,
        on: &Snapshot,
        now: Timestamp,
    ) -> Result<Decided, DecideError> {
        let periods = Self::reached_by(rule, &on.summary);
        let rank = (on.life, rule.at, rule.when.to_string());
        let (deadline, mut backoff) = (self.ledger.table().deadline(), Backoff::default());
        let mut there = self.given(rule, &on.customer).await?;
        let mut put_before = BTreeMap::new();
        // The version of the set that has the lease of this decision.
        let mut leased = None;
        loop {
            let until = self.ledger.table().dynamo().leases().until(deadline);
            let order = there.as_ref().map(|there| there.rank().cmp(&rank));
            let before = match (&there, order) {
                (Some(later), Some(Ordering::Greater)) => {
                    let is_void = later.life > on.life;
                    return Ok(if is_void { Decided::Void } else { Decided::Done });
                }
                (Some(earlier), Some(Ordering::Less)) => {
                    self.remove(earlier, rule, &on.customer).await?;
                    PeriodDays::new()
                }
                (Some(same), _) if !same.unsent.is_empty() && leased == Some(same.version) => {
                    there = self.send(rule, on, same).await?;
                    continue;
                }
                (there, _) => there.as_ref().map(|same| same.days.clone()).unwrap_or_default(),
            };
            // Alerts of another decision are sent under a lease of this one, because the other lease may be over.
            let unsent = there
                .as_ref()
                .filter(|same| order == Some(Ordering::Equal) && !same.unsent.is_empty());
            let is_due =
                |period: &&Option<Period>| unsent.is_none() && !before.contains(&day_of(**period));
            let due: Vec<_> = periods.iter().filter(is_due).take(self.most_together()).collect();
            if unsent.is_none() && due.is_empty() && order != Some(Ordering::Less) {
                return Ok(Decided::Done);
            }
            let days: PeriodDays = due.iter().map(|period| day_of(**period)).collect();
            let new_unsent = if self.bus.is_on() { days.clone() } else { PeriodDays::new() };
            let next = AwardedAlerts {
                life: on.life,
                at: rule.at,
                when: rule.when.clone(),
                days: &before | &days,
                unsent: unsent.map_or(new_unsent, |same| same.unsent.clone()),
                until,
                version: there.as_ref().map_or(0, |there| there.version) + 1,
            };
            let of =
                |period: &&Option<Period>| Alert::new(rule, (&on.customer, on.life), **period, now);
            let alerts: Vec<_> = due.iter().map(of).collect();
            let new = alerts.iter().filter(|alert| !put_before.contains_key(&alert.alert_id));
            match self.put(rule, on, there.as_ref(), &next, new).await {
                Ok(true) => {
                    leased = Some(next.version);
                    there = Some(next);
                    backoff.reset();
                    continue;
                }
                Err(failure) if !failure.is_retryable() => return Err(failure.into()),
                Ok(false) | Err(_) => {}
            }
            let seen = there.map(|there| there.version);
            there = self.given(rule, &on.customer).await?;
            if there.as_ref().map(|there| there.version) == seen {
                if self.summaries.life(&on.customer).await? != on.life {
                    return Ok(Decided::Void);
                }
                // A set that was lost does not lose its alerts.
                let ids: Vec<_> = alerts.into_iter().map(|alert| alert.alert_id).collect();
                let tenant = &on.customer.tenant_id;
                put_before = Alerts::new(&self.ledger).put_before(tenant, &ids, on.life).await?;
            }
            backoff.wait(deadline).await.map_err(DynamoError::from)?;
        }
    }

    async fn given(
        &self,
        rule: &RuleDefinition,
        customer: &Customer,
    ) -> Result<Option<AwardedAlerts>, DynamoError> {
        let row = self.ledger.get(keys::decided(customer, &rule.rule_id)).await?;
        row.map(|row| AwardedAlerts::read(&row)).transpose()
    }

    /// How many alerts are put in one transaction, beside the view and the set: each has a claim.
    fn most_together(&self) -> usize {
        let items = self.ledger.table().limits().max_transaction_items();
        (items.saturating_sub(2) / 2).max(1)
    }

    /// Puts alerts, and the set that has them over the one that was read. Returns false if the view
    /// has another life, the set has changed, or one of the alerts is there.
    async fn put(
        &self,
        rule: &RuleDefinition,
        on: &Snapshot,
        there: Option<&AwardedAlerts>,
        next: &AwardedAlerts,
        alerts: impl Iterator<Item = &Alert>,
    ) -> Result<bool, DynamoError> {
        let (table, customer) = (self.ledger.table(), &on.customer);
        let key = keys::decided(customer, &rule.rule_id).into_item();
        let unchanged = Some(AwardedAlerts::unchanged(there));
        let mut writes = vec![
            self.summaries.lives(customer, on.life)?,
            table.replacing(key, next.attributes(), &SENDING, unchanged)?,
        ];
        for alert in alerts {
            writes.extend(Alerts::new(&self.ledger).puts(&customer.tenant_id, alert)?);
        }
        let number = writes.len();
        let is_put = table.transact(writes).await?;
        if is_put {
            table.count_written(number);
        }
        Ok(is_put)
    }

    /// Sends the alerts that a set says are not sent, and notes that. Returns the set as it is
    /// then.
    async fn send(
        &self,
        rule: &RuleDefinition,
        on: &Snapshot,
        set: &AwardedAlerts,
    ) -> Result<Option<AwardedAlerts>, DecideError> {
        let (table, tenant) = (self.ledger.table(), &on.customer.tenant_id);
        let of = |day: &u32| Alert::new(rule, (&on.customer, on.life), set.period(*day), rule.at);
        let unsent: Vec<_> = set.unsent.iter().map(of).collect();
        let ids: Vec<_> = unsent.iter().map(|alert| alert.alert_id.clone()).collect();
        let put = Alerts::new(&self.ledger).put_before(tenant, &ids, on.life).await?;
        let events = unsent.into_iter().filter_map(|alert| {
            let decided_at = *put.get(&alert.alert_id)?;
            Some(Alert { decided_at, ..alert }.event(tenant))
        });
        self.bus.send(events.collect::<Result<_, _>>()?, table.deadline()).await?;
        let next =
            AwardedAlerts { unsent: PeriodDays::new(), version: set.version + 1, ..set.clone() };
        let key = keys::decided(&on.customer, &rule.rule_id);
        let unchanged = Some(AwardedAlerts::unchanged(Some(set)));
        let noted = self.ledger.replace(key, next.attributes(), &SENDING, unchanged).await?;
        match noted {
            Put::Done => Ok(Some(next)),
            Put::Refused(_) => Ok(self.given(rule, &on.customer).await?),
        }
    }

    /// Removes the alerts of a set that another takes the place of.
    async fn remove(
        &self,
        earlier: &AwardedAlerts,
        rule: &RuleDefinition,
        customer: &Customer,
    ) -> Result<(), DynamoError> {
        let alerts = Alerts::new(&self.ledger);
        let removed = earlier.alerts(&rule.rule_id, customer).into_iter().map(|alert| {
            let (alerts, tenant, life) = (&alerts, &customer.tenant_id, earlier.life);
            async move { alerts.remove(tenant, &alert, life).await }
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
            let count = |it: &Period| summary.counted(&rule.event, it.from(), it.to());
            all.filter(|period| count(period) >= rule.count).map(Some).collect()
        }
    }
}

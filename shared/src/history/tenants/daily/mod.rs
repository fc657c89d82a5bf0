//! Daily decisions, once for each UTC day: silence of a customer, and scores below a value.
//!
//! ```text
//! definition   rules and scores that are decided by day, and whether one holds
//! decisions    the last decisions on a customer: one row, written when something changes
//! progress     the progress of a tenant, and the day that is due
//! ```
//!
//! A day is decided two hours after its end ([`due`]), on the views of that time, for all customers who had an event by its end. The period
//! keeper walks them, tenant by tenant.
//!
//! # Which definitions are decided for a day
//!
//! Those that are in force during the walk, from the day of their recording on. A day is decided two hours after its end, so the walk sees
//! every definition that was recorded in it. A definition that was superseded or deleted before the walk is not decided, and the
//! decisions of an older definition do not count for its successor.
//!
//! Missed days are caught up in order, at most [`MOST_DAYS`]. Older days are skipped, and give no alerts.
//!
//! # Once for each day and customer
//!
//! The row of a customer has, for each definition, the day since which it holds, or on which it has ceased. It is written over the version
//! that was read, and an entry for a day or a later one is never decided again. So the first writer of "begun to hold" fixes the day, the
//! instant and the number of events. Only then is the alert put, at that instant, under an id that is a digest of definition, customer
//! and day. A walk that finds an entry for its own day puts the alert again, which changes nothing.
//!
//! A walk notes the customer to continue after once all before are decided and their alerts put, over the version of the register's row that
//! it has read. The end of a day is noted in the same way. So after a crash a walk continues from its last note, and of two concurrent
//! walks only one continues. A walk that was paused for more than a day may still decide its old day for a customer whose row was not
//! written since, and give that day's alert late, once.
//!
//! # Definitions that change during a walk
//!
//! A walk may die between the put of an alert and its sending, and the definition may be another before
//! the next walk. So before that walk writes over decisions, it sends the alerts of days after the last
//! walk that ended whose definitions are no longer in force, as far as they are listed. If no
//! definition is left, one walk is made without any; the register's row then says `idle`, and no more
//! are made until there is a definition again.
//!
//! # Which tenants
//!
//! A tenant is registered by the command that writes a daily definition, so it is known without a
//! scan, and stays registered: a row of 256 bytes for each tenant that ever had one. The definition
//! is written first. An erasure deletes the row first, so it leaves no definition of a tenant that
//! is not registered.
//!
//! # What bounds it
//!
//! A row has an entry for each daily definition of its tenant, at most 150 of 200 bytes. A page is 100 customers: one query of ids, one batch of views and one query of rows; a customer
//! whose view has blocks costs one more query, and one of whom something changes a put, and two for each alert.

mod decisions;
mod definition;
mod progress;

pub use decisions::Decisions;
pub use definition::DailyDefinition;
pub use progress::{DailyProgress, DueDay};

use std::collections::BTreeMap;

use super::{Alerts, DecideError, Definitions, keys};
use crate::history::events::Customer;
use crate::history::summaries::{CustomerView, Day, Snapshot, Summaries, day_of, start_of};
use crate::platform::dynamo::item::{Item, number, text, truth};
use crate::platform::dynamo::{Changed, Condition, Dynamo, DynamoError, Put, Query, Update};
use crate::platform::ledger::Ledger;
use crate::platform::outbound::Bus;
use crate::platform::values::{CustomerId, TenantId, Timestamp};

/// The delay between the end of a day and its decision, in milliseconds.
const DELAY_MILLIS: i64 = 2 * 3_600_000;
/// The most days that are caught up.
pub const MOST_DAYS: u32 = 35;
/// The number of retries of a decision after concurrent writes. Each of those was a decision for the same day.
const MOST_ROUNDS: usize = 8;

/// The instant from which on a day is decided.
pub fn due(day: Day) -> Timestamp {
    start_of(day + 1).plus_millis(DELAY_MILLIS)
}

/// The last day that is due by an instant.
pub fn last_due(now: Timestamp) -> Day {
    day_of(now.plus_millis(-DELAY_MILLIS)).saturating_sub(1)
}

/// The daily decisions. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Daily {
    ledger: Ledger,
    bus: Bus,
}

impl Daily {
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

    /// The same, sending alerts beside those of others.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self { ledger: self.ledger.clone(), bus: self.bus.apart() }
    }

    /// Registers a tenant from this day on, unless it is registered.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be registered.
    pub async fn register(&self, tenant: &TenantId, now: Timestamp) -> Result<(), DynamoError> {
        let item = Item::from([
            ("decided".to_owned(), number(day_of(now).saturating_sub(1))),
            ("idle".to_owned(), truth(true)),
            ("version".to_owned(), number(0)),
        ]);
        let absent = Condition::new("attribute_not_exists(pk)");
        self.ledger.put_if(keys::daily_tenant(tenant), item, absent).await?;
        Ok(())
    }

    /// Up to `limit` registered tenants after one of them, ordered by id. A row that cannot be read is an error in its place.
    ///
    /// # Errors
    /// [`DynamoError`]: none was read.
    pub async fn tenants(
        &self,
        after: Option<&TenantId>,
        limit: usize,
    ) -> Result<Vec<(TenantId, Result<DailyProgress, DynamoError>)>, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::daily_tenants()))],
            start: after.map(|tenant| keys::daily_tenant(tenant).into_item()),
            limit: i32::try_from(limit).ok(),
            ..Query::default()
        };
        let page = self.ledger.table().page(&query).await?;
        let rows = page.rows.iter();
        let read =
            rows.map(|row| Ok((row.parsed("sk", "the id of a tenant")?, DailyProgress::read(row))));
        read.collect()
    }

    /// The daily definitions of a tenant that are in force.
    pub async fn definitions(
        &self,
        tenant: &TenantId,
    ) -> Result<Vec<DailyDefinition>, DynamoError> {
        let in_force = Definitions::new(&self.ledger).in_force(tenant).await?;
        Ok(DailyDefinition::among(in_force))
    }

    /// Notes the progress of a tenant. Returns `None` if another walk has written meanwhile; that one continues.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be noted.
    pub async fn note(
        &self,
        progress: DailyProgress,
    ) -> Result<Option<DailyProgress>, DynamoError> {
        let next = DailyProgress { version: progress.version + 1, ..progress };
        let mut values = vec![
            (":decided", number(next.decided)),
            (":idle", truth(next.is_idle)),
            (":seen", number(next.version - 1)),
            (":version", number(next.version)),
        ];
        let expression = match &next.behind {
            Some((day, behind)) => {
                values.extend([(":day", number(*day)), (":behind", text(behind.as_str()))]);
                "SET decided = :decided, idle = :idle, version = :version, #day = :day, behind = :behind"
            }
            None => "SET decided = :decided, idle = :idle, version = :version REMOVE #day, behind",
        };
        let condition = Some("version = :seen");
        let update = Update { expression, condition, names: vec![("#day", "day")], values };
        let key = keys::daily_tenant(&next.tenant_id).into_item();
        Ok(match self.ledger.table().change(key, update).await? {
            Changed::Done(_) => Some(next),
            // A repeated update is refused because of its own first write.
            Changed::Refused(there) => {
                let there = DailyProgress::read(&self.ledger.table().row(there));
                Some(next).filter(|next| there.is_ok_and(|there| there == *next))
            }
        })
    }

    /// The decisions on customers of a tenant, from one to another, inclusive. A row that cannot be read is an error in its place.
    ///
    /// # Errors
    /// [`DynamoError`]: none was read.
    pub async fn decisions(
        &self,
        tenant: &TenantId,
        from: &CustomerId,
        to: &CustomerId,
    ) -> Result<BTreeMap<CustomerId, Result<Decisions, DynamoError>>, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk AND sk BETWEEN :from AND :to"),
            values: vec![
                (":pk", text(keys::daily(tenant))),
                (":from", text(from.as_str())),
                (":to", text(to.as_str())),
            ],
            ..Query::default()
        };
        let rows = self.ledger.table().all(query).await?;
        let read = rows
            .iter()
            .map(|row| Ok((row.parsed("sk", "the id of a customer")?, Decisions::read(row))));
        read.collect()
    }

    /// The summary of a view for the days that the definitions of a day need.
    pub async fn snapshot(
        summaries: &Summaries,
        customer: Customer,
        view: CustomerView,
        due: &DueDay,
    ) -> Result<Snapshot, DynamoError> {
        let (DueDay { day, definitions, .. }, life) = (due, view.life());
        if !view.has_blocks() {
            return Ok(Snapshot { customer, summary: view.into_summary(), life });
        }
        let without = view.clone().into_summary();
        let looking = definitions.iter().filter(|definition| !definition.is_plain(&without, *day));
        let summary = match looking.map(|definition| definition.first_day(*day)).min() {
            None => without,
            since => summaries.since(&customer, view, since).await?,
        };
        Ok(Snapshot { customer, summary, life })
    }

    /// Decides on a customer for a day now, and gives the alerts. `before` are the decisions as
    /// they were read; what a walk that did not end has left behind is sent before they are written
    /// over. Decides nothing if the customer was erased since the snapshot.
    ///
    /// # Errors
    /// [`DecideError`]; some may have been given. Deciding again completes it.
    pub async fn decide(
        &self,
        due: &DueDay,
        Snapshot { customer, summary, life }: &Snapshot,
        before: Decisions,
        now: Timestamp,
    ) -> Result<(), DecideError> {
        let DueDay { tenant_id: tenant, day, definitions, told, .. } = due;
        let Some(mut before) = before.in_life(*life) else { return Ok(()) };
        let alerts = Alerts::new(&self.ledger);
        for _ in 0..MOST_ROUNDS {
            for left in before.left_behind(definitions, customer, *told) {
                let listed = alerts.at(tenant, &left, *life).await?;
                alerts.tell(&self.bus, tenant, listed.as_slice()).await?;
            }
            let next = before.decide(definitions, customer, summary, *day, now);
            let Some(next) = next else { break };
            match self.write(customer, &next).await? {
                None => {
                    before = next;
                    break;
                }
                Some(there) => match there.in_life(*life) {
                    Some(there) => before = there,
                    None => return Ok(()),
                },
            }
        }
        let given = before.alerts(definitions, customer, *day);
        alerts.raise(&self.bus, tenant, &given).await
    }

    /// Writes decisions over the version before. Returns the current ones if the version differs.
    async fn write(
        &self,
        customer: &Customer,
        next: &Decisions,
    ) -> Result<Option<Decisions>, DynamoError> {
        let unchanged = match next.version - 1 {
            0 => Condition::new("attribute_not_exists(pk)"),
            seen => Condition::new("version = :seen").value(":seen", number(seen)),
        };
        let key = keys::daily_decisions(customer);
        let put = self.ledger.replace(key, next.attributes(), &[], Some(unchanged));
        Ok(match put.await? {
            Put::Done => None,
            // A customer who was erased meanwhile may have no row.
            Put::Refused(there) if there.is_empty() => Some(Decisions::default()),
            Put::Refused(there) => Some(Decisions::read(&self.ledger.table().row(there))?),
        })
    }

    /// The instant at which the next day becomes due, if any tenant has a daily definition.
    pub async fn next_due(&self, now: Timestamp) -> Result<Option<Timestamp>, DynamoError> {
        const PAGE: usize = 100;
        let mut after = None;
        loop {
            let tenants = self.tenants(after.as_ref(), PAGE).await?;
            for (tenant, _) in &tenants {
                match self.definitions(tenant).await {
                    Ok(definitions) if definitions.is_empty() => {}
                    Ok(_) => return Ok(Some(due(last_due(now) + 1))),
                    // These decide nothing.
                    Err(failure) if failure.is_refusal() => {}
                    Err(failure) => return Err(failure),
                }
            }
            let is_last = tenants.len() < PAGE;
            after = tenants.into_iter().next_back().map(|(tenant, _)| tenant);
            if is_last {
                return Ok(None);
            }
        }
    }
}

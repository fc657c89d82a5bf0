//! Recording an event: one conditional put.
//!
//! # Why no event is ever put twice
//!
//! The key of an event is made of its identity, and of the number of keys that its customer has in its period. As long as
//! everybody puts it under the same number, the condition finds what was put before.
//!
//! 1. *Who puts has read the number from a row that is made*, or has come further ([`Events::made`]). Nobody puts by a row that is
//!    planned, or without one.
//! 2. *The number in such a row never changes.* It is raised in rows that are planned alone, and every write of a row is conditional
//!    on the version that was read. Of a raise and the keeper's step to `made` that have read the same row, one is refused and
//!    reads again. A raise that finds the row made is none.
//! 3. *So all who ever put an event of a period do it by one number*, whenever they have read it, and what a process has kept of a
//!    made row is as good as the row.
//!
//! A put that was repeated after a timeout finds itself, with the same content. Under another number it would be another event.
//!
//! # Too late
//!
//! That is decided by the clock before anything else is done. A clock that is behind is caught by the table, which refuses puts
//! from when it is sealed: whether that is why, the period's row says. Any other refusal passes, and the event waits for that.

use std::collections::btree_map::Entry;

use super::{Customer, Event, Events, Period, PeriodRow, PeriodState, keys, periods};
use crate::platform::dynamo::item::{Item, text};
use crate::platform::dynamo::{Condition, DynamoError, Put};
use crate::platform::values::Timestamp;

/// The most keys of one customer: sixty-four thousand events a second.
pub const MOST_KEYS: u32 = 64;
/// How often a row is read that somebody else writes at the same time.
const TRIES: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventOutcome {
    /// It is in its table, now or since an earlier time.
    There,
    /// Another content is on record under its identity.
    Conflict,
    /// Its period is closed.
    TooLate,
}

impl Event {
    /// Its item, if its customer is spread over `keys` keys.
    pub fn item(&self, keys: u32) -> Item {
        let mut item = keys::event(&self.key, keys).into_item();
        item.insert("name".to_owned(), text(self.name.as_str()));
        item.insert("properties".to_owned(), text(self.properties.as_json()));
        item
    }

    /// Whether an item under its key has its content, byte for byte.
    fn is_in(&self, item: &Item) -> bool {
        let is = |name: &str, value: &str| {
            item.get(name).and_then(|found| found.as_s().ok()).is_some_and(|found| found == value)
        };
        is("name", self.name.as_str()) && is("properties", self.properties.as_json())
    }
}

impl Events {
    /// Records an event, unless its period is closed or another one is on record in its place.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be recorded. [`DynamoError::TableMissing`] while its table is not made.
    pub async fn record(&self, event: &Event, now: Timestamp) -> Result<EventOutcome, DynamoError> {
        let period = self.settings.period_of(event.key.at);
        if self.settings.closes_at(period) <= now {
            return Ok(EventOutcome::TooLate);
        }
        let row = self.made(period).await?;
        match self.put(event, &row).await {
            Ok(Put::Refused(item)) if !event.is_in(&item) => Ok(EventOutcome::Conflict),
            Ok(_) => Ok(EventOutcome::There),
            Err(refusal @ (DynamoError::Denied(_) | DynamoError::TableMissing(_))) => {
                let row = self.periods.row(period).await?;
                let is_sealed = row.is_some_and(|row| row.state >= PeriodState::Sealed);
                if is_sealed { Ok(EventOutcome::TooLate) } else { Err(refusal) }
            }
            Err(error) => Err(error),
        }
    }

    /// Whether an event is in its table, with this content or another.
    pub async fn recorded(&self, event: &Event) -> Result<Option<EventOutcome>, DynamoError> {
        let period = self.settings.period_of(event.key.at);
        let row = self.periods.row(period).await?;
        let Some(row) = row.filter(|row| row.state.has_table()) else { return Ok(None) };
        let key = keys::event(&event.key, row.keys_of(&event.key.customer));
        let table = self.tables.table(period);
        let found = table.get(key.into_item()).await?;
        Ok(found.map(|found| match event.is_in(&found.item) {
            true => EventOutcome::There,
            false => EventOutcome::Conflict,
        }))
    }

    async fn put(&self, event: &Event, row: &PeriodRow) -> Result<Put, DynamoError> {
        let customer = &event.key.customer;
        let (table, item) = (self.tables.table(row.period), event.item(row.keys_of(customer)));
        let absent = || Condition::new("attribute_not_exists(pk)");
        if let Some(put) = table.put_unless_hot(item.clone(), absent()).await? {
            return Ok(put);
        }
        // It is for later periods: whether it works is of no concern to this event.
        if let Err(error) = self.raise(customer, row).await {
            tracing::warn!(reason = error.reason(), "a busy customer has no more keys: {error}");
        }
        table.put_if(item, absent()).await
    }

    /// Gives a customer twice as many keys in the period after the next one as in this one, as long as that is planned.
    async fn raise(&self, customer: &Customer, row: &PeriodRow) -> Result<(), DynamoError> {
        let period = row.period.next().next();
        let wanted = row.keys_of(customer).saturating_mul(2).min(MOST_KEYS);
        let raised = (period, customer.clone());
        if self.known.raised.lock().get(&raised).is_some_and(|keys| *keys >= wanted) {
            return Ok(());
        }
        if self.raise_to(wanted, customer, period).await? {
            self.known.raised.lock().put(raised, wanted);
        }
        Ok(())
    }

    /// True if there is nothing left to do about it.
    async fn raise_to(
        &self,
        wanted: u32,
        customer: &Customer,
        period: Period,
    ) -> Result<bool, DynamoError> {
        for _ in 0..TRIES {
            let Some(mut row) = self.periods.row(period).await? else {
                return Ok(false);
            };
            let is_full = row.spread.len() >= periods::MOST_SPREAD;
            match row.spread.entry(customer.clone()) {
                _ if row.state != PeriodState::Planned => return Ok(true),
                Entry::Occupied(keys) if *keys.get() >= wanted => return Ok(true),
                Entry::Vacant(_) if is_full => return Ok(true),
                Entry::Occupied(mut keys) => drop(keys.insert(wanted)),
                Entry::Vacant(keys) => drop(keys.insert(wanted)),
            }
            if self.periods.replace(&row).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

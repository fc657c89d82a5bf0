//! A recount of events, from tables and archives: what customers of a tenant did, and what the witness of each period should say.

use std::collections::BTreeMap;
use std::pin::pin;

use futures::TryStreamExt;
use nagare_client::failure::Failure;
use serde::Deserialize;
use shared::history::events::{Archives, Event, Events, Period, PeriodRow, Tally, archive};
use shared::history::summaries::{CustomerSummary, Day, start_of};
use shared::platform::crypto::hash::sha256;
use shared::platform::dynamo::item::Row;
use shared::platform::objects::Objects;
use shared::platform::values::{CustomerId, EventName, Timestamp};

use super::events::unreadable;
use crate::event_scope::EventScope;
use crate::{Result, object_deadline, progress};

#[derive(Debug)]
pub(super) struct Recount {
    pub(super) events: Events,
    pub(super) archives: Archives,
    pub(super) objects: Objects,
}

/// What customers did, by id.
pub(super) type Counted = BTreeMap<CustomerId, CustomerSummary>;

#[derive(Debug, Default)]
pub(super) struct FoundEvents {
    /// Counted from tables, which may get more events.
    pub(super) tables: Counted,
    /// Counted from archives whose tables are gone.
    pub(super) archives: Counted,
    /// The tally of each period, over the events that are counted.
    pub(super) witnesses: BTreeMap<Period, Tally>,
    /// The objects that cannot be read, or differ from their rows.
    pub(super) damaged: Vec<String>,
}

/// The members of a line that are counted.
#[derive(Deserialize)]
struct Said {
    tenant_id: String,
    customer_id: CustomerId,
    name: EventName,
    at: Timestamp,
}

impl Recount {
    /// The rows of all periods, the earliest first.
    pub(super) async fn periods(&self) -> Result<Vec<PeriodRow>> {
        let mut rows = self.events.periods().newest_until(|_| false).await?;
        rows.reverse();
        Ok(rows)
    }

    /// Counts the events of a scope in tables and archives, for the customers that are wanted.
    pub(super) async fn all(
        &self,
        scope: &EventScope,
        is_wanted: impl Fn(&CustomerId) -> bool,
    ) -> Result<FoundEvents, Failure> {
        let mut found = FoundEvents::default();
        for row in self.periods().await? {
            if row.state.has_table() && self.table(&row, scope, &is_wanted, &mut found).await? {
                continue;
            }
            if row.tally.is_some() && !row.expired {
                self.archive(&row, scope, &is_wanted, &mut found).await?;
            }
        }
        Ok(found)
    }

    /// Counts the events of one customer in the tables.
    pub(super) async fn in_tables(&self, scope: &EventScope) -> Result<FoundEvents, Failure> {
        let mut found = FoundEvents::default();
        for row in self.periods().await?.into_iter().filter(|row| row.state.has_table()) {
            self.table(&row, scope, &|_| true, &mut found).await?;
        }
        Ok(found)
    }

    /// The tally of the events of a scope in the table of a period; `None` if the table is gone.
    pub(super) async fn tally(&self, row: &PeriodRow, scope: &EventScope) -> Result<Option<Tally>> {
        let mut tally = Tally::default();
        let is_there = self.each(row, scope, |event| tally.add(Tally::of_line(&event.line())));
        Ok(is_there.await?.then_some(tally))
    }

    /// False if the table is gone.
    async fn table(
        &self,
        row: &PeriodRow,
        scope: &EventScope,
        is_wanted: &impl Fn(&CustomerId) -> bool,
        found: &mut FoundEvents,
    ) -> Result<bool> {
        let (mut tally, tables) = (Tally::default(), &mut found.tables);
        let count = |event: Event| {
            if is_wanted(&event.key.customer.customer_id) {
                tally.add(Tally::of_line(&event.line()));
                let Event { key, name, .. } = event;
                tables.entry(key.customer.customer_id).or_default().count(&name, key.at);
            }
        };
        let is_there = self.each(row, scope, count).await?;
        if is_there {
            found.witnesses.insert(row.period, tally);
        }
        Ok(is_there)
    }

    /// Visits the events of a scope in the table of a period. Returns false if the table is gone.
    async fn each(
        &self,
        row: &PeriodRow,
        scope: &EventScope,
        mut each: impl FnMut(Event),
    ) -> Result<bool> {
        let page = async |rows: Vec<Row<'_>>| {
            // What is no event is counted nowhere.
            rows.iter().filter_map(|row| Event::read(row).ok()).for_each(&mut each);
            Ok(())
        };
        scope.in_table(self.events.tables(), row, "events in tables", page).await
    }

    async fn archive(
        &self,
        row: &PeriodRow,
        scope: &EventScope,
        is_wanted: &impl Fn(&CustomerId) -> bool,
        found: &mut FoundEvents,
    ) -> Result<(), Failure> {
        let bar = progress::counter("events in archives");
        let FoundEvents { archives, witnesses, damaged, .. } = found;
        let witness = witnesses.entry(row.period).or_default();
        let mut objects = pin!(scope.objects(&self.archives, row.period));
        while let Some(object) = objects.try_next().await? {
            let bytes = self.objects.get(&object.key(), object_deadline(object.size)).await;
            let bytes = bytes.map_err(unreadable)?;
            let Some(bytes) = bytes.filter(|bytes| sha256(bytes) == object.sha256) else {
                damaged.push(object.key());
                continue;
            };
            let count = |line: &str| {
                let Ok(said) = serde_json::from_str::<Said>(line) else { return };
                let Said { tenant_id, customer_id, name, at } = said;
                if scope.holds(&tenant_id, customer_id.as_str()) && is_wanted(&customer_id) {
                    witness.add(Tally::of_line(line));
                    archives.entry(customer_id).or_default().count(&name, at);
                }
            };
            match archive::read(&bytes, count) {
                Ok(_) => bar.inc(object.tally.events),
                Err(_) => damaged.push(object.key()),
            }
        }
        Ok(())
    }
}

/// True if only views know of a day: its events have expired.
pub(super) fn is_base(day: Day, periods: &[PeriodRow]) -> bool {
    let at = start_of(day);
    let mut of = periods.iter().filter(|row| row.period.from() <= at && at < row.period.to());
    let is_known = |row: &PeriodRow| row.state.has_table() || (row.tally.is_some() && !row.expired);
    !of.any(is_known)
}

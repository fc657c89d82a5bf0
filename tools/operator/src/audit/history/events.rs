//! Audits of events: each event that was taken is in the table of its period or in an archive that was verified, exactly once, and
//! where readers look for it.
//!
//! If the table of a period exists, its events are read. If a period is archived, its objects are read. The row of each object is
//! compared with the object's bytes. Where there are both a table and an archive, they are compared event by event. What is gone from
//! the tables is compared with what was noted when it went, because nothing else records it.
//!
//! A period that its keeper moves on meanwhile is compared again. An event that is recorded meanwhile is in the table, and nothing
//! else says anything of it yet.
//!
//! In memory are an identity and a digest for each event of one period, as far as they are of the tenant or customer that is audited.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use futures::TryStreamExt;
use nagare_client::failure::Failure;
use serde::Serialize;
use shared::history::events::archive::{self, Line};
use shared::history::events::{
    ArchivedObject, Archives, Event, Events, Period, PeriodRow, Tally, keys,
};
use shared::platform::crypto::hash::sha256;
use shared::platform::dynamo::item::{Key, Row};
use shared::platform::objects::{ObjectError, Objects};
use shared::platform::values::TenantId;

use crate::audit::Found;
use crate::event_scope::EventScope;
use crate::{Result, object_deadline, progress};

/// How often a period is compared, if its keeper moves it on meanwhile.
const TRIES: usize = 3;

/// How an event, or an object of an archive, differs from what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EventFault {
    /// An event is in the table, and not in its archive.
    Missing,
    /// An event is in the archive, and not in its table.
    Extra,
    /// An event says one thing in the table, and another in the archive.
    Stale,
    Twice,
    /// An event is where no reader looks for it.
    Misplaced,
    /// An object of the archive is missing, or differs from its row.
    Damaged,
    /// An object has a row under its period and none under its tenant, or the other way round.
    Unlisted,
    /// A table is missing, or is not the one that its period names.
    Table,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventDifference {
    pub tenant_id: TenantId,
    pub period: String,
    pub difference: EventFault,
    /// The event, or the object.
    pub of: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

#[derive(Debug)]
pub struct EventsAuditor {
    events: Events,
    archives: Archives,
    objects: Objects,
}

/// Digests of events, by customer, instant and id.
type Digests = BTreeMap<(String, String, String), u128>;

struct OfPeriod<'a> {
    scope: &'a EventScope,
    period: Period,
    differences: Vec<EventDifference>,
}

impl EventsAuditor {
    pub fn new(events: Events, archives: Archives, objects: Objects) -> Self {
        Self { events, archives, objects }
    }

    /// The differences between tables, archives and their rows.
    pub async fn differences(
        &self,
        scope: &EventScope,
    ) -> Result<Found<EventDifference, Period>, Failure> {
        let mut found = Found { differences: Vec::new(), mended: 0, busy: Vec::new() };
        let rows = self.events.periods().newest_until(|_| false).await?;
        for row in rows.into_iter().rev() {
            match self.settled(row.period, scope).await? {
                Some(differences) => found.differences.extend(differences),
                None => found.busy.push(row.period),
            }
        }
        Ok(found)
    }

    /// The differences of a period; `None` if its keeper has moved it on each time.
    async fn settled(
        &self,
        period: Period,
        scope: &EventScope,
    ) -> Result<Option<Vec<EventDifference>>, Failure> {
        for _ in 0..TRIES {
            let before = self.events.periods().row(period).await?;
            let Some(row) = before else { return Ok(Some(Vec::new())) };
            let differences = self.compare(&row, scope).await?;
            let after = self.events.periods().row(period).await?;
            if after.as_ref() == Some(&row) {
                return Ok(Some(differences));
            }
        }
        Ok(None)
    }

    async fn compare(
        &self,
        row: &PeriodRow,
        scope: &EventScope,
    ) -> Result<Vec<EventDifference>, Failure> {
        let mut found = OfPeriod { scope, period: row.period, differences: Vec::new() };
        let has_table = row.state.has_table();
        let table = if has_table { self.table(row, &mut found).await? } else { None };
        if row.tally.is_none() || row.expired {
            return Ok(found.differences);
        }
        let archive = self.archive(row, &mut found).await?;
        if let Some(table) = table {
            found.both(&table, &archive);
        }
        Ok(found.differences)
    }

    /// The events in the table; `None` if the table is gone.
    async fn table(&self, row: &PeriodRow, found: &mut OfPeriod<'_>) -> Result<Option<Digests>> {
        let (mut digests, scope) = (Digests::new(), found.scope);
        let add = async |rows: Vec<Row<'_>>| {
            for item in &rows {
                found.event_in_table(row, item, &mut digests)?;
            }
            Ok(())
        };
        if scope.in_table(self.events.tables(), row, "events in tables", add).await? {
            return Ok(Some(digests));
        }
        if !row.dropping {
            found.add(EventFault::Table, self.events.tables().name(row.period), "it is not there");
        }
        Ok(None)
    }

    async fn archive(&self, row: &PeriodRow, found: &mut OfPeriod<'_>) -> Result<Digests, Failure> {
        let (mut digests, bar) = (Digests::new(), progress::counter("events in archives"));
        for object in self.listed(row.period, found).await? {
            let key = object.key();
            match self.objects.get(&key, object_deadline(object.size)).await.map_err(unreadable)? {
                None => found.add(EventFault::Damaged, key, "it is not there"),
                Some(bytes) if sha256(&bytes) != object.sha256 => {
                    let other = "its SHA-256 is another one than was noted";
                    found.add(EventFault::Damaged, key, other);
                }
                Some(bytes) => {
                    found.object(&object, &bytes, &mut digests);
                    bar.inc(object.tally.events);
                }
            }
        }
        Ok(digests)
    }

    /// The objects of the tenant, by the rows of their period. An object that has a row under only one of period and tenant is a
    /// difference.
    async fn listed(
        &self,
        period: Period,
        found: &mut OfPeriod<'_>,
    ) -> Result<Vec<ArchivedObject>> {
        let tenant = &found.scope.tenant_id;
        let of_period = found.scope.objects(&self.archives, period);
        let of_period = of_period.map_ok(|object| (object.key(), object));
        let of_period: BTreeMap<_, _> = of_period.try_collect().await?;
        let mut of_tenant = self.of_tenant(tenant, period).await?;
        for (key, object) in &of_period {
            if of_tenant.remove(key).as_ref() != Some(object) {
                found.add(EventFault::Unlisted, key.clone(), "its tenant is told something else");
            }
        }
        for key in of_tenant.into_keys() {
            found.add(EventFault::Unlisted, key, "its period does not know it");
        }
        Ok(of_period.into_values().collect())
    }

    async fn of_tenant(
        &self,
        tenant: &TenantId,
        period: Period,
    ) -> Result<BTreeMap<String, ArchivedObject>> {
        // Above whatever is of the period.
        let mut behind = Some(format!("{period}$"));
        let mut objects = BTreeMap::new();
        while let Some(position) = behind.take() {
            let page = self.archives.of_tenant(tenant, Some(&position)).await?;
            let all = page.0.len();
            let theirs = page.0.into_iter().take_while(|object| object.period == period);
            let before = objects.len();
            objects.extend(theirs.map(|object| (object.key(), object)));
            behind = page.1.filter(|_| objects.len() - before == all);
        }
        Ok(objects)
    }
}

impl OfPeriod<'_> {
    fn add(&mut self, difference: EventFault, of: String, detail: impl Into<Option<&'static str>>) {
        let detail = detail.into().map(ToOwned::to_owned);
        let (tenant_id, period) = (self.scope.tenant_id.clone(), self.period.to_string());
        self.differences.push(EventDifference { tenant_id, period, difference, of, detail });
    }

    fn event_in_table(
        &mut self,
        row: &PeriodRow,
        item: &Row<'_>,
        digests: &mut Digests,
    ) -> Result<()> {
        let (key, event) = (Key::of(item)?, Event::read(item)?);
        let line = event.line();
        let customer = &event.key.customer;
        let is_within = self.period.from() <= event.key.at && event.key.at < self.period.to();
        if !is_within || keys::event(&event.key, row.keys_of(customer)) != key {
            self.add(EventFault::Misplaced, format!("{} {}", key.pk, key.sk), None);
        }
        self.count(&line, digests);
        Ok(())
    }

    fn object(&mut self, object: &ArchivedObject, bytes: &[u8], digests: &mut Digests) {
        let mut tally = Tally::default();
        let read = archive::read(bytes, |line| {
            tally.add(Tally::of_line(line));
            self.count(line, digests);
        });
        if read.is_err() || tally != object.tally {
            self.add(EventFault::Damaged, object.key(), "it has other events than were noted");
        }
    }

    /// Counts the event of a line, if it is one of those that are audited.
    fn count(&mut self, line: &str, digests: &mut Digests) {
        let Some(Line { tenant_id, customer_id, at, event_id }) = Line::parse(line) else {
            return self.add(EventFault::Misplaced, "a line".to_owned(), "it is none of an event");
        };
        if !self.scope.holds(tenant_id, customer_id) {
            return;
        }
        let key = [customer_id, at, event_id].map(ToOwned::to_owned).into();
        match digests.entry(key) {
            Entry::Vacant(entry) => drop(entry.insert(Tally::of_line(line).sum)),
            Entry::Occupied(entry) => {
                let named = named(entry.key());
                self.add(EventFault::Twice, named, None);
            }
        }
    }

    /// Table and archive have to hold the same.
    fn both(&mut self, table: &Digests, archive: &Digests) {
        for (key, digest) in table {
            match archive.get(key) {
                Some(archived) if archived == digest => {}
                Some(_) => self.add(EventFault::Stale, named(key), None),
                None => self.add(EventFault::Missing, named(key), None),
            }
        }
        for key in archive.keys().filter(|key| !table.contains_key(*key)) {
            self.add(EventFault::Extra, named(key), None);
        }
    }
}

pub(super) fn unreadable(error: ObjectError) -> Failure {
    Failure::Unreachable(format!("an archive cannot be read: {error}"))
}

fn named((customer, at, event): &(String, String, String)) -> String {
    format!("{customer} {at} {event}")
}

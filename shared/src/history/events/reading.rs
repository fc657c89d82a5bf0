//! Reading what a customer did, in the order of time: over the tables of periods, the nearest first.
//!
//! # What it costs
//!
//! The nearest table is read alone. Once a table had nothing more, the next [`TABLES`] are read at once, so a customer who is
//! silent for long costs few rounds of calls. Of a customer with several keys in a period each is read, and merged. What
//! one page reads ends with [`ROUNDS`] rounds of calls or [`UNITS`] read units, whichever comes first: no call asks for more
//! rows than there are units for, however large they are. Then the page is short, and says where to go on.
//!
//! # What is missing
//!
//! A table that is gone was dropped after the rows of periods were read. They are read again; what is dropped, or
//! verified and about to be, is in the archive, and passed. Any other table that is missing is an error.

use futures::future::join_all;

use super::{Customer, Events, Period, PeriodRow, PeriodState, keys};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::Row;
use crate::platform::ledger::Ledger;
use crate::platform::paging::{RowChunk, Slice, merged};
use crate::platform::values::{EventName, MAX_ID_LENGTH, Order, Payload, SortKey, Span, Timestamp};

/// Tables that are read at once.
pub const TABLES: usize = 8;
/// Rounds of calls for one page.
pub const ROUNDS: usize = 8;
/// Read units for one page.
pub const UNITS: usize = 200;
/// The most bytes of an event's item.
pub const MOST_BYTES: usize = 4_600;
/// Keys that are read at once, unless one table has more.
const KEYS: usize = 64;
/// What is left when nothing more is begun.
const RESERVE: usize = 16;
/// What one read unit reads, in bytes.
const UNIT: usize = 4_096;
/// A period that begins later than this has no events yet: no clock is that far ahead.
const AHEAD_MILLIS: i64 = 3_600_000;

/// An event as a page shows it. It stands at the sort key that an activity would have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedEvent {
    pub key: SortKey,
    pub name: EventName,
    pub properties: Payload,
}

/// What a customer did, as far as one page reads it.
#[derive(Debug)]
pub struct History {
    events: Events,
    customer: Customer,
    /// Those that are read, the newest first.
    rows: Vec<PeriodRow>,
    archived_before: Option<Timestamp>,
    rounds: usize,
    units: usize,
    /// Whether the next reading is of several tables.
    is_wide: bool,
}

/// What was read of one key.
enum FoundRows {
    RowChunk(RowChunk<ListedEvent>),
    /// The table is gone.
    Gone(Period),
}

impl Events {
    /// What a customer did.
    pub async fn history(
        &self,
        customer: Customer,
        now: Timestamp,
    ) -> Result<History, DynamoError> {
        let listed = self.listed(now).await?;
        let latest = now.plus_millis(AHEAD_MILLIS);
        let is_read = |row: &&PeriodRow| row.state.has_table() && row.period.from() <= latest;
        Ok(History {
            events: self.clone(),
            customer,
            rows: listed.iter().filter(is_read).cloned().collect(),
            archived_before: archived_before(&listed),
            rounds: 0,
            units: 0,
            is_wide: false,
        })
    }
}

fn archived_before(rows: &[PeriodRow]) -> Option<Timestamp> {
    let dropped = rows.iter().find(|row| row.state == PeriodState::Dropped);
    dropped.map(|row| row.period.to())
}

impl History {
    /// The end of the newest period that was dropped: what is older is in the archive.
    pub fn archived_before(&self) -> Option<Timestamp> {
        self.archived_before
    }

    /// The first instant that is read.
    pub fn from(&self) -> Timestamp {
        let first = self.rows.iter().map(|row| row.period.from()).min();
        first.or(self.archived_before).unwrap_or(Timestamp::FIRST)
    }

    /// False if nothing more is to be read for this page.
    pub fn may_go_on(&self) -> bool {
        let most = self.rows.iter().map(|row| self.keys_of(row)).max().unwrap_or(1);
        self.rounds < ROUNDS && self.units_left() >= RESERVE.max(2 * most)
    }

    /// Read units that the page has spent.
    pub fn units(&self) -> usize {
        self.units
    }

    /// Reads a slice of the events. If there may be more, it returns the key to continue from, even with fewer events than the limit.
    pub async fn read(&mut self, slice: Slice<'_>) -> Result<RowChunk<ListedEvent>, DynamoError> {
        let span = slice.span;
        loop {
            let ahead = self.ahead(span, slice.after);
            let chosen = self.chosen(&ahead).to_vec();
            let (found, gone) = self.round(&chosen, slice).await?;
            if !gone.is_empty() {
                self.pass(&gone).await?;
                continue;
            }
            self.is_wide = found.iter().all(|chunk| chunk.next.is_none());
            let mut whole = merged(found, span.order, |event| event.key.to_string());
            if whole.next.is_none() && ahead.len() > chosen.len() {
                whole.next = chosen.last().map(|last| end_of(last.period, span.order));
            }
            return Ok(whole);
        }
    }
}

impl History {
    fn keys_of(&self, row: &PeriodRow) -> usize {
        usize::try_from(row.keys_of(&self.customer)).unwrap_or(usize::MAX).max(1)
    }

    fn units_left(&self) -> usize {
        UNITS.saturating_sub(self.units)
    }

    /// The rows whose tables may have something of a span beyond a key, the nearest first.
    fn ahead(&self, span: Span, after: Option<&str>) -> Vec<PeriodRow> {
        let is_ahead = |row: &&PeriodRow| {
            let period = row.period;
            let is_in = period.to() > span.from && span.to.is_none_or(|to| period.from() < to);
            let end = end_of(period, span.order);
            is_in
                && after.is_none_or(|after| match span.order {
                    Order::Newest => end.as_str() < after,
                    Order::Oldest => end.as_str() > after,
                })
        };
        let mut ahead: Vec<_> = self.rows.iter().filter(is_ahead).cloned().collect();
        if span.order == Order::Oldest {
            ahead.reverse();
        }
        ahead
    }

    /// Those of them that are read at once.
    fn chosen<'r>(&self, ahead: &'r [PeriodRow]) -> &'r [PeriodRow] {
        let most = if self.is_wide { TABLES } else { 1 };
        let most_keys = KEYS.min(self.units_left() / 2);
        let (mut count, mut keys) = (0, 0);
        for row in ahead.iter().take(most) {
            keys += self.keys_of(row);
            if count > 0 && keys > most_keys {
                break;
            }
            count += 1;
        }
        &ahead[..count]
    }

    /// Reads each key of some tables once.
    async fn round(
        &mut self,
        rows: &[PeriodRow],
        slice: Slice<'_>,
    ) -> Result<(Vec<RowChunk<ListedEvent>>, Vec<Period>), DynamoError> {
        let calls: usize = rows.iter().map(|row| self.keys_of(row)).sum();
        let affordable = (self.units_left() * UNIT / MOST_BYTES / calls.max(1)).max(1);
        let calls = rows.iter().flat_map(|row| {
            let count = self.keys_of(row);
            // Of several keys each has about as much as the others.
            let limit = if count == 1 { slice.limit } else { slice.limit * 2 / count + 4 };
            let pks = keys::partitions(&self.customer, row.keys_of(&self.customer));
            pks.map(move |pk| (row.period, pk, Slice { limit: limit.min(affordable), ..slice }))
        });
        let calls = calls.map(|(period, pk, slice)| self.read_key(period, pk, slice));
        let (mut chunks, mut gone, mut units) = (Vec::new(), Vec::new(), 0);
        for found in join_all(calls).await {
            match found? {
                FoundRows::Gone(period) => gone.push(period),
                FoundRows::RowChunk(chunk) => {
                    let bytes: usize = chunk.rows.iter().map(ListedEvent::bytes).sum();
                    let keys = chunk.rows.len() * (self.customer.to_string().len() + 3);
                    units += (bytes + keys).div_ceil(UNIT).max(1);
                    chunks.push(chunk);
                }
            }
        }
        self.rounds += 1;
        self.units += units;
        Ok((chunks, gone))
    }

    async fn read_key(
        &self,
        period: Period,
        pk: String,
        slice: Slice<'_>,
    ) -> Result<FoundRows, DynamoError> {
        let span = slice.span;
        let to = span.to.map_or(period.to(), |to| to.min(period.to()));
        let within = Span { from: span.from.max(period.from()), to: Some(to), ..span };
        let table = Ledger::new(self.events.tables.table(period));
        let row = ListedEvent::read;
        match RowChunk::read(&table, &pk, Slice { span: within, ..slice }, row).await {
            Ok(chunk) => Ok(FoundRows::RowChunk(chunk)),
            Err(DynamoError::TableMissing(_)) => Ok(FoundRows::Gone(period)),
            Err(error) => Err(error),
        }
    }

    /// Reads the rows again, and goes on without the tables that are gone.
    async fn pass(&mut self, gone: &[Period]) -> Result<(), DynamoError> {
        let listed = self.events.list().await?;
        for period in gone {
            let row = listed.iter().find(|row| row.period == *period);
            let is_archived = row.is_none_or(|row| {
                matches!(row.state, PeriodState::Verified | PeriodState::Dropped)
            });
            if !is_archived {
                return Err(DynamoError::TableMissing(self.events.tables.name(*period)));
            }
        }
        self.rows.retain(|row| !gone.contains(&row.period));
        let newest = gone.iter().map(|period| period.to()).max();
        self.archived_before = self.archived_before.max(archived_before(&listed)).max(newest);
        Ok(())
    }
}

/// The key at which a period ends in an order: nothing of it lies beyond.
fn end_of(period: Period, order: Order) -> String {
    match order {
        // No id comes before this one, nor after the other.
        Order::Newest => format!("{}#-", period.from()),
        Order::Oldest => format!("{}#{}", period.to().plus_millis(-1), "z".repeat(MAX_ID_LENGTH)),
    }
}

impl ListedEvent {
    /// Reads an item of a period's table.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    fn read(row: &Row<'_>) -> Result<Option<Self>, DynamoError> {
        let key = row.text("sk")?;
        let key = key.parse::<SortKey>().map_err(|_| row.corrupt("sk", "an instant and an id"))?;
        let name = row.parsed("name", "the name of an event")?;
        let properties = Payload::stored(row.text("properties")?);
        let properties = properties.map_err(|_| row.corrupt("properties", "a JSON value"))?;
        Ok(Some(Self { key, name, properties }))
    }

    /// What its item weighs but for its partition key.
    fn bytes(&self) -> usize {
        const NAMES: usize = "pk".len() + "sk".len() + "name".len() + "properties".len();
        let (id, name) = (self.key.activity_id.as_str().len(), self.name.as_str().len());
        NAMES + 25 + id + name + self.properties.as_json().len()
    }
}

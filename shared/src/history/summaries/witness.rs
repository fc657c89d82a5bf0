//! The witness of a period: how many events of a tenant the stream has brought, and the sum of the digests of their lines, as
//! the archive adds them up. It has never read the table, nor the archive.

use std::collections::BTreeMap;

use futures::future::try_join_all;

use super::fold::{SummaryState, added};
use super::{PARTS, Summaries, keys};
use crate::history::events::{Event, Period, Tally};
use crate::platform::dynamo::item::{Item, Row, number, text};
use crate::platform::dynamo::{DynamoError, Query};
use crate::platform::projection::{Change, Fold, State, View};
use crate::platform::values::TenantId;

/// What the stream has brought, in one of its parts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct WitnessView {
    /// Events and their digests.
    pub tally: Tally,
}

/// Some tenants that have events in a period, by id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TenantPage {
    pub tenants: Vec<(TenantId, u64)>,
    /// Behind which tenant to go on, if there may be more.
    pub next: Option<TenantId>,
}

impl Summaries {
    /// Tenants that have events in a period, after one of them: a query for each part. One whose events were all erased takes a
    /// place of the page and is not on it.
    pub async fn tenants(
        &self,
        period: Period,
        after: Option<&TenantId>,
        limit: usize,
    ) -> Result<TenantPage, DynamoError> {
        // Who is among the first of all is among the first of each part. One more tells whether there are more.
        let most = i32::try_from(limit.saturating_add(1)).unwrap_or(i32::MAX);
        let parts = (0..PARTS).map(|part| self.part_of_tenants(period, part, after, most));
        let mut sums = BTreeMap::<TenantId, Tally>::new();
        for (tenant, tally) in try_join_all(parts).await?.into_iter().flatten() {
            sums.entry(tenant).or_default().add(tally);
        }
        let is_more = sums.len() > limit;
        let first: Vec<_> = sums.into_iter().take(limit).collect();
        let next = first.last().map(|(tenant, _)| tenant.clone()).filter(|_| is_more);
        let with_events = first.into_iter().filter_map(|(tenant, tally)| {
            (tally.events.cast_signed() > 0).then_some((tenant, tally.events))
        });
        Ok(TenantPage { tenants: with_events.collect(), next })
    }

    async fn part_of_tenants(
        &self,
        period: Period,
        part: u8,
        after: Option<&TenantId>,
        limit: i32,
    ) -> Result<Vec<(TenantId, Tally)>, DynamoError> {
        let mut query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::witnesses(&period, &part)))],
            limit: Some(limit),
            ..Query::default()
        };
        if let Some(after) = after {
            query.keys = Some("pk = :pk AND sk > :after");
            query.values.push((":after", text(after.to_string())));
        }
        let page = self.views.table().page(&query).await?;
        let read = |row: &Row<'_>| {
            let tenant = row.parsed("sk", "the id of a tenant")?;
            Ok((tenant, View::<WitnessView>::read_from(row)?.state.tally))
        };
        page.rows.iter().map(read).collect()
    }
}

impl State for WitnessView {
    const ATTRIBUTES: &'static [&'static str] = &["events", "bytes", "sum"];

    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let Some(sum) = row.optional_text("sum")? else { return Ok(Self::default()) };
        let sum = u128::from_str_radix(sum, 16);
        let sum = sum.map_err(|_| row.corrupt("sum", "128 bits in hex"))?;
        let [events, bytes] = [row.number("events")?, row.number("bytes")?].map(i64::cast_unsigned);
        Ok(Self { tally: Tally { events, bytes, sum } })
    }

    fn write(&self) -> Item {
        let mut item = self.tally.attributes();
        // A part from which more was taken than it has brought is less than nothing.
        item.insert("events".to_owned(), number(self.tally.events.cast_signed()));
        item.insert("bytes".to_owned(), number(self.tally.bytes.cast_signed()));
        item
    }
}

impl Fold for WitnessView {
    fn fold(&mut self, change: &Change, facts: &str) -> Result<(), DynamoError> {
        if let Some(item) = added(change) {
            let event = Event::read(&Row { table: facts, item: item.clone() })?;
            self.tally.add(Tally::of_line(&event.line()));
        }
        Ok(())
    }
}

impl SummaryState for WitnessView {
    fn is_nothing(&self) -> bool {
        self.tally == Tally::default()
    }
}

//! Summaries: what the customers of a tenant did, counted by customer, by name and by day.
//!
//! ```text
//! tally      what is counted
//! keys       where summaries are among the views
//! fold       what the views have in common
//! customer   the view of a customer, and its blocks
//! name       the view of a name of a tenant
//! witness    the view that an archive is compared with
//! summary    what a customer did, as it is read
//! removal    events are removed again
//! snapshot   a summary to decide on, and the condition that it still holds
//! ```
//!
//! An event is put once into the table of its period, and never changed ([`crate::history::events`]). The stream of that table carries it to the
//! history projector, which adds it to three views: that of its customer, that of its name, and the witness of its period.
//!
//! # Why each event is counted once
//!
//! 1. *A put of an event is one change.* Repetitions are refused by its key, so they are in no stream; what is too late or in conflict is
//!    put nowhere. Erasures are changes too, and are skipped: an erasure removes events from their views itself.
//! 2. *A change is folded once into each view*, by the marks of [`crate::platform::projection`]. Several tables are folded into one view, so a mark names
//!    its shard by stream and id: shards of two streams may have the same id, and locally always do.
//! 3. *Addition is commutative.* Counts and digests are added, and the first and the last instant are a minimum and a maximum. So in
//!    whatever order shards, tables and dead letters come, at rest a view equals a recount of all accepted events.
//!
//! The table of a batch decides the type of its changes, never their keys: a tenant may be called `likes`, and the key of an event begins
//! with its tenant.
//!
//! # Spreading
//!
//! A customer is one partition, as in the table of events: a thousand events of a customer in a second arrive in batches. But all events
//! of a tenant may have the same name. So a name has [`PARTS`] items. The shard of a change selects one, a batch writes it once, and
//! readers add them up. The witness of a tenant and a period is spread in the same way.
//!
//! # What bounds it
//!
//! The view of a customer has at most 64 names and 512 counts of days; the rest is in blocks, which [`customer`](CustomerView) explains.
//! All days are kept, whatever their age, because a rule that is defined later may ask for any of them. A customer has up to 11,000
//! names of 60 characters. An event of a further name is refused: its customer does not count it, and its name and its period do. A name
//! has the counts of 410 days.

mod customer;
mod fold;
pub mod keys;
mod name;
mod removal;
mod snapshot;
mod summary;
mod tally;
mod witness;

use futures::{StreamExt, TryStreamExt, stream};

use crate::history::events::{Customer, Period, Tally};
use crate::platform::dynamo::item::{Key, Row, text};
use crate::platform::dynamo::{BATCH_GET, Dynamo, DynamoError, IN_FLIGHT, Limits, Query};
use crate::platform::projection::{View, Views};
use crate::platform::values::{CustomerId, EventName, TenantId};

pub use customer::{CustomerView, NO_ROOM_FOR_A_NAME};
pub use fold::{SummaryState, name_of, views_of};
pub use keys::{PARTS, SummaryItem, SummaryView};
pub use name::{NameView, SHOWN_DAYS};
pub use removal::{MOST_NAMES, Removal, RemovalOutcome};
pub use snapshot::Snapshot;
pub use summary::CustomerSummary;
pub use tally::{Day, Days, NameTally, NamedDays, day_of, start_of};
pub use witness::{TenantPage, WitnessView};

/// The limits of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bounds {
    /// Names in the view of a customer.
    names: usize,
    /// Counts of a name on a day in it.
    days: usize,
    /// Bytes of a bucket of names.
    bucket_bytes: usize,
    /// Bytes of a block of days.
    block_bytes: usize,
}

impl Bounds {
    fn within(limits: &Limits) -> Self {
        Self {
            names: (limits.row_bytes / 1_024).max(1),
            days: (limits.row_bytes / 128).max(2),
            bucket_bytes: limits.row_bytes / 16 * 15,
            block_bytes: limits.block_bytes / 2,
        }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Self::within(&Limits::DYNAMODB)
    }
}

/// The summaries. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Summaries {
    views: Views,
}

/// A page of names of a tenant, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct NamePage {
    pub names: Vec<(EventName, NameView)>,
    /// The name to continue after, if there may be more.
    pub next: Option<EventName>,
}

impl Summaries {
    pub fn new(views: &Views) -> Self {
        Self { views: views.clone() }
    }

    /// The same, with the client of a piece of work.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self { views: self.views.over(dynamo) }
    }

    /// The complete summary of a customer; `None` if it is empty.
    pub async fn customer(
        &self,
        customer: &Customer,
    ) -> Result<Option<CustomerSummary>, DynamoError> {
        let key = SummaryView::Customer(customer.clone()).key();
        let view = self.views.read(key, View::<CustomerView>::read_from).await?;
        if !view.is_there() {
            return Ok(None);
        }
        let summary = self.whole(customer, view.state).await?;
        Ok(Some(summary).filter(|summary| summary.events() > 0))
    }

    /// The summary of a view with its blocks. The view was read before: its blocks exist by then, and stay.
    pub async fn whole(
        &self,
        customer: &Customer,
        view: CustomerView,
    ) -> Result<CustomerSummary, DynamoError> {
        if !view.has_blocks() {
            return Ok(view.into_summary());
        }
        let blocks = self.blocks(customer, keys::DAYS_OF).await?;
        view.with_blocks(&blocks)
    }

    /// The summary of a view with its names and the days from `since` on; without it only with the days of the view itself.
    pub async fn since(
        &self,
        customer: &Customer,
        view: CustomerView,
        since: Option<Day>,
    ) -> Result<CustomerSummary, DynamoError> {
        let from = match since {
            Some(since) if view.has_blocks() => keys::days_from(since),
            _ if view.has_other_names() => keys::NAMES_OF.to_owned(),
            _ => return Ok(view.into_summary()),
        };
        let blocks = self.blocks(customer, &from).await?;
        view.with_blocks(&blocks)
    }

    /// The blocks from a sort key on.
    async fn blocks(&self, customer: &Customer, from: &str) -> Result<Vec<Row<'_>>, DynamoError> {
        let pk = SummaryView::Customer(customer.clone()).key().pk;
        let query = Query {
            keys: Some("pk = :pk AND sk BETWEEN :from AND :to"),
            values: vec![
                (":pk", text(pk)),
                (":from", text(from)),
                (":to", text(format!("{}~", keys::NAMES_OF))),
            ],
            ..Query::default()
        };
        self.views.table().all(query).await
    }

    /// Customers of a tenant with a summary, by id, after one of them.
    pub async fn ids(
        &self,
        tenant: &TenantId,
        after: Option<&CustomerId>,
        limit: usize,
    ) -> Result<Vec<CustomerId>, DynamoError> {
        let mut query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::customers(tenant)))],
            limit: i32::try_from(limit).ok(),
            ..Query::default()
        };
        if let Some(after) = after {
            query.keys = Some("pk = :pk AND sk > :after");
            query.values.push((":after", text(after.to_string())));
        }
        let page = self.views.table().page(&query).await?;
        page.rows.iter().map(|row| row.parsed("sk", "the id of a customer")).collect()
    }

    /// The views of customers of a tenant, in the order of these ids, none of which is named twice.
    pub async fn views(
        &self,
        tenant: &TenantId,
        ids: &[CustomerId],
    ) -> Result<Vec<View<CustomerView>>, DynamoError> {
        self.each_view(tenant, ids).await?.into_iter().collect()
    }

    /// The same. A view that cannot be read is an error in its place.
    ///
    /// # Errors
    /// [`DynamoError`]: none was read.
    pub async fn each_view(
        &self,
        tenant: &TenantId,
        ids: &[CustomerId],
    ) -> Result<Vec<Result<View<CustomerView>, DynamoError>>, DynamoError> {
        let key = |customer_id: &CustomerId| {
            let customer = Customer { tenant_id: tenant.clone(), customer_id: customer_id.clone() };
            SummaryView::Customer(customer).key()
        };
        let keys: Vec<_> = ids.iter().map(key).collect();
        self.views.read_all(&keys, View::<CustomerView>::read_from).await
    }

    /// The complete summaries of customers of a tenant, by id, after one of them.
    pub async fn customers(
        &self,
        tenant: &TenantId,
        after: Option<&CustomerId>,
        limit: usize,
    ) -> Result<Vec<Snapshot>, DynamoError> {
        let ids = self.ids(tenant, after, limit).await?;
        let views = self.views(tenant, &ids).await?;
        let whole = ids.into_iter().zip(views).map(|(customer_id, view)| {
            let customer = Customer { tenant_id: tenant.clone(), customer_id };
            self.snapshot_of(customer, view)
        });
        stream::iter(whole).buffered(IN_FLIGHT).try_collect().await
    }

    /// The total of a name of a tenant; `None` if there is no event of it.
    pub async fn name(
        &self,
        tenant: &TenantId,
        name: &EventName,
    ) -> Result<Option<NameView>, DynamoError> {
        let key = |part| SummaryView::Name(tenant.clone(), name.clone(), part).key();
        let keys: Vec<Key> = (0..PARTS).map(key).collect();
        let read = View::<NameView>::read_from;
        let parts = self.views.read_all(&keys, read).await?;
        let mut sum = NameView::default();
        for part in parts {
            sum.join(&part?.state);
        }
        Ok(sum.shown())
    }

    /// Names of a tenant with their totals, after one of them.
    pub async fn names(
        &self,
        tenant: &TenantId,
        after: Option<&EventName>,
        limit: usize,
    ) -> Result<NamePage, DynamoError> {
        // Reads one more, to know whether there are more.
        let most = i32::try_from(limit.saturating_add(1)).unwrap_or(i32::MAX);
        let parts = (0..PARTS).map(|part| {
            let pk = keys::names(tenant, &part);
            self.part_of_names(pk, after, most)
        });
        let parts = futures::future::try_join_all(parts).await?;
        // A part with more names is unknown after its last one.
        let ends = parts.iter().filter(|(_, is_last)| !is_last);
        let end = ends.filter_map(|(names, _)| names.last().map(|(name, _)| name.clone())).min();
        let mut sums = std::collections::BTreeMap::<EventName, NameView>::new();
        for (name, view) in parts.into_iter().flat_map(|(names, _)| names) {
            if end.as_ref().is_none_or(|end| name <= *end) {
                sums.entry(name).or_default().join(&view);
            }
        }
        let is_more = sums.len() > limit;
        let names: Vec<_> = sums.into_iter().take(limit).collect();
        let next = names.last().map(|(name, _)| name.clone()).filter(|_| is_more);
        let shown = names.into_iter().filter_map(|(name, sum)| Some((name, sum.shown()?)));
        Ok(NamePage { names: shown.collect(), next })
    }

    /// Names in one part, and whether there are no more.
    async fn part_of_names(
        &self,
        pk: String,
        after: Option<&EventName>,
        limit: i32,
    ) -> Result<(Vec<(EventName, NameView)>, bool), DynamoError> {
        let mut query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(pk))],
            limit: Some(limit),
            ..Query::default()
        };
        if let Some(after) = after {
            query.keys = Some("pk = :pk AND sk > :after");
            query.values.push((":after", text(after.as_str())));
        }
        let page = self.views.table().page(&query).await?;
        let is_last = page.next.is_none();
        let read = |row: &Row<'_>| {
            let name = row.parsed("sk", "the name of an event")?;
            Ok((name, View::<NameView>::read_from(row)?.state))
        };
        let names: Result<Vec<_>, DynamoError> = page.rows.iter().map(read).collect();
        Ok((names?, is_last))
    }

    /// The witnesses of a period, of all tenants.
    pub async fn witness(&self, period: Period) -> Result<Tally, DynamoError> {
        let mut sum = Tally::default();
        for part in 0..PARTS {
            let query = Query {
                keys: Some("pk = :pk"),
                values: vec![(":pk", text(keys::witnesses(&period, &part)))],
                ..Query::default()
            };
            for row in self.views.table().all(query).await? {
                sum.add(View::<WitnessView>::read_from(&row)?.state.tally);
            }
        }
        Ok(sum)
    }

    /// The items at these keys.
    pub async fn needed(&self, keys: &[Key]) -> Result<Vec<Row<'_>>, DynamoError> {
        let mut found = Vec::with_capacity(keys.len());
        for some in keys.chunks(BATCH_GET) {
            let items = some.iter().cloned().map(Key::into_item).collect();
            found.extend(self.views.table().batch_get(items).await?);
        }
        Ok(found)
    }
}

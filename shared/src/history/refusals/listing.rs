//! Reads counts of refusals. Days that are no longer listed are left out, whether they have expired or not.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};

use super::{LISTED_DAYS, Refusals, RefusedEvent, SHARDS, keys};
use crate::history::events::{Period, PeriodLength};
use crate::history::tenants::keys as tenants;
use crate::platform::dynamo::item::{Row, text};
use crate::platform::dynamo::{DynamoError, IN_FLIGHT, Query};
use crate::platform::values::{RefusalReason, TenantId, Timestamp};

/// The refused events of a tenant on a UTC day, for one reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalsOfDay {
    pub day: Period,
    pub reason: RefusalReason,
    pub count: u64,
    /// Some of them, by customer, instant and id.
    pub examples: Vec<RefusedEvent>,
}

/// The refusals of one reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RefusalCount {
    pub refused: u64,
    /// Those of them that are counted only.
    pub without_letter: u64,
}

impl Refusals {
    /// The refusals of a tenant on the listed days, the newest day first, then by reason.
    pub async fn of_tenant(
        &self,
        tenant: &TenantId,
        now: Timestamp,
    ) -> Result<Vec<RefusalsOfDay>, DynamoError> {
        let from = first_day(now);
        let mut days = BTreeMap::<_, RefusalsOfDay>::new();
        let counts = (0..SHARDS).map(|shard| self.rows(tenants::refusals(tenant, &shard), from));
        let counts = stream::iter(counts).buffer_unordered(IN_FLIGHT).try_collect::<Vec<_>>();
        // Examples are written with their count, so each of them is counted by then.
        let examples = self.rows(tenants::refused_events(tenant), from).await?;
        for row in counts.await?.iter().flatten() {
            let (day, reason) = day_and_reason(row)?;
            let empty = RefusalsOfDay { day, reason, count: 0, examples: Vec::new() };
            let of_day = days.entry((std::cmp::Reverse(day.from()), reason)).or_insert(empty);
            of_day.count += row.count("refused")?;
        }
        for row in &examples {
            let (day, reason) = day_and_reason(row)?;
            if let Some(of_day) = days.get_mut(&(std::cmp::Reverse(day.from()), reason)) {
                of_day.examples.push(RefusedEvent::read(row)?);
            }
        }
        let mut days: Vec<_> = days.into_values().collect();
        for day in &mut days {
            day.examples.sort_by(|a, b| a.order().cmp(&b.order()));
        }
        Ok(days)
    }

    /// The refusals of the listed days, by reason.
    pub async fn all(
        &self,
        now: Timestamp,
    ) -> Result<BTreeMap<RefusalReason, RefusalCount>, DynamoError> {
        let first = first_day(now);
        let days = std::iter::successors(Some(first), |day| Some(day.next()));
        let days = days.take_while(|day| day.from() <= now);
        let partitions =
            days.flat_map(|day| (0..SHARDS).map(move |shard| keys::refusals_of(&day, &shard)));
        let rows = partitions.map(|pk| async move {
            let query = Query {
                keys: Some("pk = :pk"),
                values: vec![(":pk", text(pk))],
                ..Query::default()
            };
            self.ledger.table().all(query).await
        });
        let rows: Vec<_> = stream::iter(rows).buffer_unordered(IN_FLIGHT).try_collect().await?;
        let mut counts = BTreeMap::<_, RefusalCount>::new();
        for row in rows.iter().flatten() {
            let count = counts.entry(row.parsed("sk", "the reason of a refusal")?).or_default();
            count.refused += row.count("refused")?;
            count.without_letter += row.count("unkept")?;
        }
        Ok(counts)
    }

    /// The rows of a partition from a day on.
    async fn rows(&self, pk: String, from: Period) -> Result<Vec<Row<'_>>, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk AND sk >= :from"),
            values: vec![(":pk", text(pk)), (":from", text(from.to_string()))],
            ..Query::default()
        };
        self.ledger.table().all(query).await
    }
}

impl RefusedEvent {
    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        Ok(Self {
            customer_id: row.optional("customer", "an id")?,
            event_id: row.optional("event_id", "an id")?,
            at: row.optional("happened_at", "an instant")?,
            detail: row.text("detail")?.to_owned(),
        })
    }

    fn order(&self) -> (Option<&str>, Option<Timestamp>, Option<&str>) {
        let customer = self.customer_id.as_ref().map(|id| id.as_str());
        (customer, self.at, self.event_id.as_ref().map(|id| id.as_str()))
    }
}

fn first_day(now: Timestamp) -> Period {
    let before = i64::from(LISTED_DAYS - 1) * 86_400_000;
    PeriodLength::Day.period_of(now.plus_millis(-before))
}

/// The first two parts of a sort key.
fn day_and_reason(row: &Row<'_>) -> Result<(Period, RefusalReason), DynamoError> {
    let mut parts = row.text("sk")?.split('#');
    let day = parts.next().and_then(|day| day.parse().ok());
    let reason = parts.next().and_then(RefusalReason::parse);
    day.zip(reason).ok_or_else(|| row.corrupt("sk", "a day and the reason of a refusal"))
}

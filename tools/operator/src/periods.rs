//! What operators are shown of periods of events.

use futures::future::BoxFuture;
use serde::Serialize;
use shared::history::events::schedule;
use shared::history::events::{Events, PeriodRow};
use shared::platform::dynamo::DynamoError;
use shared::platform::values::Timestamp;

use super::Result;

/// The state of a period, and its next step.
#[derive(Debug, Clone, Serialize)]
pub struct PeriodReport {
    pub period: String,
    pub from: Timestamp,
    /// The first instant after it.
    pub to: Timestamp,
    pub state: String,
    /// Once the period is archived, the number of events in the archive. Before that, the number that the table reports of itself,
    /// which on AWS is up to six hours old; null if there is no table.
    pub events: Option<u64>,
    /// Once the period is archived, the bytes of its lines before compression. Before that, the bytes of the items in the table.
    pub bytes: Option<u64>,
    pub next: Option<String>,
    pub next_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispute: Option<String>,
}

impl PeriodReport {
    /// The reports of all periods, the newest first.
    pub fn all<'a>(events: &'a Events, now: Timestamp) -> BoxFuture<'a, Result<Vec<Self>>> {
        Box::pin(async move {
            let mut reports = Vec::new();
            for row in events.periods().newest_until(|_| false).await? {
                let size = size(events, &row).await?;
                let due = schedule::next(&row, &events.settings, now);
                reports.push(Self {
                    period: row.period.to_string(),
                    from: row.period.from(),
                    to: row.period.to(),
                    state: row.state.to_string(),
                    events: size.map(|(events, _)| events),
                    bytes: size.map(|(_, bytes)| bytes),
                    next: due.map(|due| format!("{:?}", due.step).to_lowercase()),
                    next_at: due.map(|due| due.at),
                    dispute: row.dispute,
                });
            }
            Ok(reports)
        })
    }
}

/// How many events a period has, and their bytes.
async fn size(events: &Events, row: &PeriodRow) -> Result<Option<(u64, u64)>> {
    if let Some(tally) = row.tally {
        return Ok(Some((tally.events, tally.bytes)));
    }
    if !row.state.has_table() {
        return Ok(None);
    }
    let table = events.tables().table(row.period);
    let describe = || table.client().describe_table().table_name(table.name()).send();
    let answer = match table.attempt(describe).await {
        // It was dropped meanwhile.
        Err(DynamoError::TableMissing(_)) => return Ok(None),
        answer => answer?,
    };
    let number = |number: Option<i64>| u64::try_from(number.unwrap_or(0)).unwrap_or(0);
    Ok(answer.table.map(|it| (number(it.item_count), number(it.table_size_bytes))))
}

//! What operators are shown of periods of events.

use serde::Serialize;
use shared::dynamo::DynamoError;
use shared::events::keeping::{self, Step};
use shared::events::{Events, PeriodRow};
use shared::values::Timestamp;

/// The state of a period, and its next step.
#[derive(Debug, Clone, Serialize)]
pub struct PeriodReport {
    /// Its name.
    pub period: String,
    /// Its first instant.
    pub from: Timestamp,
    /// The first instant after it.
    pub to: Timestamp,
    /// Its state.
    pub state: String,
    /// Once the period is archived, the number of events in the archive. Before that, the number that the table reports of itself,
    /// which on AWS is up to six hours old; null if there is no table.
    pub events: Option<u64>,
    /// Once the period is archived, the bytes of its lines before compression. Before that, the bytes of the items in the table.
    pub bytes: Option<u64>,
    /// The next step; null if there is none.
    pub next: Option<&'static str>,
    /// When the next step is due.
    pub next_at: Option<Timestamp>,
    /// Why it is disputed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dispute: Option<String>,
}

impl PeriodReport {
    /// The reports of all periods, the newest first.
    pub async fn all(events: &Events, now: Timestamp) -> Result<Vec<Self>, DynamoError> {
        let mut reports = Vec::new();
        for row in events.periods().newest_until(|_| false).await? {
            let size = size(events, &row).await?;
            let due = keeping::next(&row, &events.settings, now);
            reports.push(Self {
                period: row.period.to_string(),
                from: row.period.from(),
                to: row.period.to(),
                state: row.state.to_string(),
                events: size.map(|(events, _)| events),
                bytes: size.map(|(_, bytes)| bytes),
                next: due.map(|due| name_of(due.step)),
                next_at: due.map(|due| due.at),
                dispute: row.dispute,
            });
        }
        Ok(reports)
    }
}

/// How many events a period has, and their bytes.
async fn size(events: &Events, row: &PeriodRow) -> Result<Option<(u64, u64)>, DynamoError> {
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

fn name_of(step: Step) -> &'static str {
    match step {
        Step::Make => "make",
        Step::Begin => "begin",
        Step::End => "end",
        Step::Seal => "seal",
        Step::Archive => "archive",
        Step::Verify => "verify",
        Step::Drop => "drop",
        Step::Expire => "expire",
    }
}

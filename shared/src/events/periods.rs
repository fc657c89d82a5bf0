//! What is known of periods: one row of the ledger for each, moved on by the keeper under its version.
//!
//! ```text
//! planned ─▶ made ─▶ current ─▶ past ─▶ sealed ─▶ archived ─▶ verified ─▶ dropped
//!                                          └──────────┴───────────┴─────▶ disputed
//! ```
//!
//! One dispute heals: that the stream has brought other events than there are. What was missing may still come, as a dead letter that is
//! sent again; then the period is `verified` again. All others are for somebody to look at.
//!
//! A row is written only by who has read it (its `version` is the condition), so two keepers do each step once, and what
//! one of them has overlooked is refused. The one thing that others write into it is `spread`, while it is planned.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;

use super::{Customer, Period, StreamMapping, Tally, keys};
use crate::dynamo::item::{Item, Row, number, text, truth};
use crate::dynamo::{Condition, Dynamo, DynamoError, Put, Query};
use crate::ledger::{FORGET_AT, Ledger};
use crate::runtime::deadline::Deadline;
use crate::values::Timestamp;

/// The most customers of one period that have more than one key. It bounds the row at 48 KB.
pub const MOST_SPREAD: usize = 160;
/// Rows that one call reads.
const ROWS: i32 = 64;

/// How far a period has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PeriodState {
    /// It has no table yet. Customers can still be spread over more keys.
    Planned,
    /// Its table is there and takes events. Nothing of how it is laid out changes any more.
    Made,
    Current,
    /// It has ended, and takes what is late.
    Past,
    /// Nothing is taken any more: by the clock, and by the table's policy.
    Sealed,
    /// All of it is in archive objects.
    Archived,
    /// The objects were read back, and hold what the table holds.
    Verified,
    /// The table is gone.
    Dropped,
    /// Table and archive differ. Nothing goes on until somebody has looked.
    Disputed,
}

/// The table of a period, as it was when it was made: another one of the same name is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeTable {
    pub arn: String,
    /// When DynamoDB made it, in unix milliseconds.
    pub created_millis: i64,
}

/// The attributes that this version writes.
const ATTRIBUTES: [&str; 19] = [
    "pk",
    "sk",
    "state",
    "version",
    "arn",
    "created",
    "spread",
    "segments",
    "events",
    "bytes",
    "sum",
    "dropping",
    "expired",
    "dispute",
    "stream",
    "heals",
    "forgetting",
    "forgotten_at",
    FORGET_AT,
];

#[derive(Debug, Clone, PartialEq)]
pub struct PeriodRow {
    pub period: Period,
    pub state: PeriodState,
    pub version: u64,
    /// Its table, from `made` on.
    pub table: Option<MadeTable>,
    /// The customers that have more than one key, and how many. All others have one.
    pub spread: BTreeMap<Customer, u32>,
    /// In how many segments its table is archived, once that has begun; 0 before.
    pub segments: u32,
    /// What its archive holds, from `archived` on.
    pub tally: Option<Tally>,
    /// True from just before its table is dropped: whoever finds none knows where it went.
    pub dropping: bool,
    /// True once its archive was deleted.
    pub expired: bool,
    pub dispute: Option<String>,
    /// True if it is disputed for nothing but what the stream has brought: it is verified again once that is what the archive holds.
    pub heals: bool,
    pub stream: StreamMapping,
    /// True while somebody takes events out of it: the keeper leaves it alone.
    pub forgetting: bool,
    /// When that was last done. For a day the table may still say how many items it had before.
    pub forgotten_at: Option<Timestamp>,
    /// Attributes of a later version, which stay as they are.
    pub unknown: Item,
}

/// The rows. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Periods {
    ledger: Ledger,
}

impl Periods {
    #[must_use]
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }

    /// The same for another piece of work, whose usage counts there.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self { ledger: self.ledger.over(dynamo) }
    }

    /// The row of a period, if there is one.
    pub async fn row(
        &self,
        period: Period,
        deadline: Deadline,
    ) -> Result<Option<PeriodRow>, DynamoError> {
        let row = self.ledger.get(keys::period(period), deadline).await?;
        row.as_ref().map(PeriodRow::read).transpose()
    }

    /// Rows, the newest first, until one that `is_last`, which is among them, or there are no more.
    pub async fn newest_until(
        &self,
        is_last: impl Fn(&PeriodRow) -> bool,
        deadline: Deadline,
    ) -> Result<Vec<PeriodRow>, DynamoError> {
        let (mut rows, mut start) = (Vec::new(), None);
        loop {
            let query = Query {
                keys: Some("pk = :pk"),
                values: vec![(":pk", text(keys::PERIODS))],
                descending: true,
                start: start.take(),
                limit: Some(ROWS),
                ..Query::default()
            };
            let page = self.ledger.table().page(&query, deadline).await?;
            for row in &page.rows {
                rows.push(PeriodRow::read(row)?);
                if rows.last().is_some_and(&is_last) {
                    return Ok(rows);
                }
            }
            start = page.next;
            if start.is_none() {
                return Ok(rows);
            }
        }
    }

    /// Plans a period, unless there is a row already. Its customers have as many keys as in the period before it, as far as
    /// that is planned by then.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be planned.
    pub async fn plan(&self, period: Period, deadline: Deadline) -> Result<(), DynamoError> {
        let absent = Condition::new("attribute_not_exists(pk)");
        let before = self.row(period.previous(), deadline).await?;
        let spread = before.map(|row| row.spread).unwrap_or_default();
        let row = PeriodRow { spread, ..PeriodRow::planned(period) };
        self.ledger.put_if(keys::period(period), row.attributes(), absent, deadline).await?;
        Ok(())
    }

    /// Writes a row in place of the one it was made from. False if somebody else has written meanwhile, which a write that
    /// was repeated cannot tell from itself: read it again.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be written.
    pub async fn replace(&self, row: &PeriodRow, deadline: Deadline) -> Result<bool, DynamoError> {
        let next = PeriodRow { version: row.version + 1, ..row.clone() };
        let unchanged = Condition::new("version = :read").value(":read", number(row.version));
        let key = keys::period(row.period);
        let put = self.ledger.put_if(key, next.attributes(), unchanged, deadline).await?;
        Ok(put == Put::Done)
    }
}

impl PeriodRow {
    /// A period that was just planned.
    #[must_use]
    pub fn planned(period: Period) -> Self {
        Self {
            period,
            state: PeriodState::Planned,
            version: 1,
            table: None,
            spread: BTreeMap::new(),
            segments: 0,
            tally: None,
            dropping: false,
            expired: false,
            dispute: None,
            heals: false,
            stream: StreamMapping::Missing,
            forgetting: false,
            forgotten_at: None,
            unknown: Item::new(),
        }
    }

    /// Over how many keys the events of a customer are spread.
    #[must_use]
    pub fn keys_of(&self, customer: &Customer) -> u32 {
        self.spread.get(customer).copied().unwrap_or(1)
    }

    pub(super) fn attributes(&self) -> Item {
        let mut item = self.unknown.clone();
        item.extend([
            ("state".to_owned(), text(self.state.to_string())),
            ("version".to_owned(), number(self.version)),
        ]);
        if let Some(table) = &self.table {
            item.insert("arn".to_owned(), text(table.arn.as_str()));
            item.insert("created".to_owned(), number(table.created_millis));
        }
        if !self.spread.is_empty() {
            let keys = |(customer, keys): (&Customer, &u32)| (customer.to_string(), number(keys));
            let spread = self.spread.iter().map(keys).collect();
            item.insert("spread".to_owned(), AttributeValue::M(spread));
        }
        if self.segments > 0 {
            item.insert("segments".to_owned(), number(self.segments));
        }
        if let Some(tally) = &self.tally {
            item.extend(tally.attributes());
        }
        for (name, is_set) in [
            ("dropping", self.dropping),
            ("expired", self.expired),
            ("heals", self.heals),
            ("forgetting", self.forgetting),
        ] {
            if is_set {
                item.insert(name.to_owned(), truth(true));
            }
        }
        if let Some(dispute) = &self.dispute {
            item.insert("dispute".to_owned(), text(dispute.as_str()));
        }
        if let Some(stream) = self.stream.name() {
            item.insert("stream".to_owned(), text(stream));
        }
        if let Some(at) = self.forgotten_at {
            item.insert("forgotten_at".to_owned(), text(at.to_string()));
        }
        item
    }

    /// Reads a row of the ledger.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`] if it is none of a period.
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let table = match row.optional_text("arn")? {
            Some(arn) => {
                let created_millis = row.number("created")?;
                Some(MadeTable { arn: arn.to_owned(), created_millis })
            }
            None => None,
        };
        let unknown = row.item.iter().filter(|(name, _)| !ATTRIBUTES.contains(&name.as_str()));
        Ok(Self {
            unknown: unknown.map(|(name, value)| (name.clone(), value.clone())).collect(),
            period: row.parsed("sk", "the name of a period")?,
            state: row.parsed("state", "the state of a period")?,
            version: row.count("version")?,
            table,
            spread: spread(row)?,
            segments: segments(row)?,
            dropping: row.flag("dropping")?,
            expired: row.flag("expired")?,
            tally: Tally::read(row)?,
            dispute: row.optional_text("dispute")?.map(ToOwned::to_owned),
            heals: row.flag("heals")?,
            stream: StreamMapping::read(row)?,
            forgetting: row.flag("forgetting")?,
            forgotten_at: row
                .optional_text("forgotten_at")?
                .map(|at| at.parse().map_err(|_| row.corrupt("forgotten_at", "an instant")))
                .transpose()?,
        })
    }
}

fn segments(row: &Row<'_>) -> Result<u32, DynamoError> {
    if !row.item.contains_key("segments") {
        return Ok(0);
    }
    u32::try_from(row.count("segments")?)
        .map_err(|_| row.corrupt("segments", "a number of segments"))
}

fn spread(row: &Row<'_>) -> Result<BTreeMap<Customer, u32>, DynamoError> {
    let corrupt = || row.corrupt("spread", "numbers of keys by customer");
    let Some(value) = row.item.get("spread") else { return Ok(BTreeMap::new()) };
    let of_customer = |(name, keys): (&String, &AttributeValue)| {
        Some((name.parse().ok()?, keys.as_n().ok()?.parse().ok()?))
    };
    let map = value.as_m().map_err(|_| corrupt())?;
    map.iter().map(|entry| of_customer(entry).ok_or_else(corrupt)).collect()
}

/// The text is no state of a period.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected a state of a period")]
pub struct PeriodStateError;

const STATES: [(PeriodState, &str); 9] = [
    (PeriodState::Planned, "planned"),
    (PeriodState::Made, "made"),
    (PeriodState::Current, "current"),
    (PeriodState::Past, "past"),
    (PeriodState::Sealed, "sealed"),
    (PeriodState::Archived, "archived"),
    (PeriodState::Verified, "verified"),
    (PeriodState::Dropped, "dropped"),
    (PeriodState::Disputed, "disputed"),
];

impl PeriodState {
    /// True if its table is there, as far as the row knows.
    #[must_use]
    pub fn has_table(self) -> bool {
        !matches!(self, Self::Planned | Self::Dropped)
    }
}

impl fmt::Display for PeriodState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = STATES.iter().find(|(state, _)| state == self).map_or("", |(_, name)| name);
        f.write_str(name)
    }
}

impl FromStr for PeriodState {
    type Err = PeriodStateError;

    fn from_str(text: &str) -> Result<Self, PeriodStateError> {
        let found = STATES.iter().find(|(_, name)| *name == text);
        found.map(|(state, _)| *state).ok_or(PeriodStateError)
    }
}

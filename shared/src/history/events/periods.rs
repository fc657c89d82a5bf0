//! The rows of periods: one row of the ledger for each, which the keeper updates under its version.
//!
//! ```text
//! planned ─▶ made ─▶ current ─▶ past ─▶ sealed ─▶ archived ─▶ verified ─▶ dropped
//!                                          └──────────┴───────────┴─────▶ disputed
//! ```
//!
//! One kind of dispute heals: the stream has brought other events than there are. Missing events may still come, as a redriven dead letter;
//! then the period is `verified` again. An operator has to resolve all other disputes.
//!
//! A row is written on the condition of the `version` that was read, so of two keepers each step is done once, and a write based on an
//! older row is refused. Others only write `spread`, while the period is planned.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;

use super::{Customer, Period, Tally, keys};
use crate::platform::dynamo::item::{Item, Row, number, text, truth};
use crate::platform::dynamo::{Condition, Dynamo, DynamoError, Put, Query};
use crate::platform::ledger::{FORGET_AT, Ledger};
use crate::platform::values::Timestamp;

/// The most customers of one period with more than one key. It bounds the row to 48 KB.
pub const MOST_SPREAD: usize = 160;
/// Rows of one call.
const ROWS: i32 = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PeriodState {
    /// It has no table yet, and customers can still be spread over more keys.
    Planned,
    /// Its table exists and accepts events. Its layout is final.
    Made,
    Current,
    /// It has ended, and accepts late events.
    Past,
    /// It accepts no more events, by the clock and by the table's policy.
    Sealed,
    /// All its events are in archive objects.
    Archived,
    /// The objects were read back, and equal the table.
    Verified,
    /// The table is gone.
    Dropped,
    /// Table and archive differ. It waits for an operator.
    Disputed,
}

/// The identity of the table of a period. Another table of the same name does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeTable {
    pub arn: String,
    /// When DynamoDB made it, in unix milliseconds.
    pub created_millis: i64,
}

/// The attributes that this version writes.
const ATTRIBUTES: [&str; 20] = [
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
    "folded",
    "heals",
    "provisioned",
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
    /// The customers with more than one key, and how many. All others have one.
    pub spread: BTreeMap<Customer, u32>,
    /// The number of segments of its archive, once it has begun; 0 before.
    pub segments: u32,
    /// The tally of its archive, from `archived` on.
    pub tally: Option<Tally>,
    /// True from just before its table is dropped, to explain a missing table.
    pub dropping: bool,
    /// True once its archive was deleted.
    pub expired: bool,
    pub dispute: Option<String>,
    /// True if the dispute is only about the stream: it is verified again once the stream has brought everything in the archive.
    pub heals: bool,
    /// True once the stream has brought everything in the archive and is unmapped. It is mapped before the state is `made`.
    pub folded: bool,
    /// True from just before its table is provisioned until it is on demand again.
    pub provisioned: bool,
    /// True during an erasure: the keeper leaves the period alone.
    pub forgetting: bool,
    /// The last erasure. For a day the table may still have the item count from before.
    pub forgotten_at: Option<Timestamp>,
    /// Attributes of a later version, which are kept.
    pub unknown: Item,
}

/// The rows. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Periods {
    ledger: Ledger,
}

impl Periods {
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }

    /// The same, with the client of a piece of work.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self { ledger: self.ledger.over(dynamo) }
    }

    /// The row of a period, if there is one.
    pub async fn row(&self, period: Period) -> Result<Option<PeriodRow>, DynamoError> {
        let row = self.ledger.get(keys::period(&period)).await?;
        row.as_ref().map(PeriodRow::read).transpose()
    }

    /// Rows, newest first, up to and including one that `is_last`.
    pub async fn newest_until(
        &self,
        is_last: impl Fn(&PeriodRow) -> bool,
    ) -> Result<Vec<PeriodRow>, DynamoError> {
        let (mut rows, mut start) = (Vec::new(), None);
        loop {
            let query = Query {
                keys: Some("pk = :pk"),
                values: vec![(":pk", text(keys::periods()))],
                descending: true,
                start: start.take(),
                limit: Some(ROWS),
                ..Query::default()
            };
            let page = self.ledger.table().page(&query).await?;
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

    /// Plans a period, unless there is a row already. Customers have as many keys as in the period before it, if that is planned.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be planned.
    pub async fn plan(&self, period: Period) -> Result<(), DynamoError> {
        let absent = Condition::new("attribute_not_exists(pk)");
        let before = self.row(period.previous()).await?;
        let spread = before.map(|row| row.spread).unwrap_or_default();
        let row = PeriodRow { spread, ..PeriodRow::planned(period) };
        self.ledger.put_if(keys::period(&period), row.attributes(), absent).await?;
        Ok(())
    }

    /// Replaces the row that this one was made from. Returns false if somebody else has written meanwhile, or an attempt of this call whose
    /// response was lost: read the row again.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be written.
    pub async fn replace(&self, row: &PeriodRow) -> Result<bool, DynamoError> {
        let next = PeriodRow { version: row.version + 1, ..row.clone() };
        let unchanged = Condition::new("version = :read").value(":read", number(row.version));
        let key = keys::period(&row.period);
        let put = self.ledger.put_if(key, next.attributes(), unchanged).await?;
        Ok(put == Put::Done)
    }
}

impl PeriodRow {
    /// The row of a newly planned period.
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
            folded: false,
            provisioned: false,
            forgetting: false,
            forgotten_at: None,
            unknown: Item::new(),
        }
    }

    /// The number of keys that the events of a customer are spread over.
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
            ("folded", self.folded),
            ("heals", self.heals),
            ("provisioned", self.provisioned),
            ("forgetting", self.forgetting),
        ] {
            if is_set {
                item.insert(name.to_owned(), truth(true));
            }
        }
        if let Some(dispute) = &self.dispute {
            item.insert("dispute".to_owned(), text(dispute.as_str()));
        }
        if let Some(at) = self.forgotten_at {
            item.insert("forgotten_at".to_owned(), text(at.to_string()));
        }
        item
    }

    /// Reads a row of the ledger.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`] if it is not the row of a period.
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
            folded: row.flag("folded")?,
            provisioned: row.flag("provisioned")?,
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

/// The text is not the state of a period.
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
    /// True if its table exists, according to the row.
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

//! The table of views, and how changes are folded into one of them.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::{Change, HighWaterMarks, Shard};
use crate::dynamo::item::{Item, Key, Row, number};
use crate::dynamo::{Condition, Dynamo, DynamoError, Put, Table};
use crate::ledger::FORGET_AT;
use crate::runtime::deadline::Deadline;
use crate::values::Timestamp;

/// How far the view has come.
const MARKS: &str = "marks";
/// How often it was written: nobody else has written it as long as this stays the same.
const VERSION: &str = "version";

/// What a projection makes of changes.
pub trait Fold: Default {
    /// Reads what the view says.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    fn read(row: &Row<'_>) -> Result<Self, DynamoError>;

    /// Writes what it says: attributes other than those of this module.
    fn write(&self) -> Item;

    /// Goes on by one change.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]: a row that is not what the feature writes.
    fn fold(&mut self, change: &Change, facts: &str) -> Result<(), DynamoError>;
}

/// What became of some changes of one shard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folded {
    /// How many were not folded before.
    pub new: usize,
    /// How often the view was written by somebody else meanwhile.
    pub conflicts: usize,
}

/// The table of views. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Views(Table);

impl Views {
    /// The views in this table.
    #[must_use]
    pub fn new(table: Table) -> Self {
        Self(table)
    }

    /// The same for another piece of work, whose usage counts there.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self(self.0.over(dynamo))
    }

    /// The table.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.0
    }

    /// Folds changes of one shard, in their order, into one view. What it has folded already is passed.
    ///
    /// `facts` is the name of the table that the changes are of, for errors.
    ///
    /// # Errors
    /// [`DynamoError`]; they may be folded.
    pub async fn fold<F: Fold>(
        &self,
        key: Key,
        shard: Shard,
        changes: &[&Change],
        facts: &str,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<Folded, DynamoError> {
        let mut there = self.0.get(key.clone().into_item(), deadline).await?.map(|row| row.item);
        let mut conflicts = 0;
        loop {
            let seen = there.map(|item| Seen::<F>::read(&self.0.row(item))).transpose()?;
            let Seen { mut view, mut marks, version, forget_at } = seen.unwrap_or_default();
            let new = changes.iter().filter(|change| marks.is_new(shard, change.sequence));
            let new: Vec<_> = new.collect();
            let Some(last) = new.last() else { return Ok(Folded { new: 0, conflicts }) };
            new.iter().try_for_each(|change| view.fold(change, facts))?;
            marks.raise(shard, last.sequence, now);
            let mut item = key.clone().into_item();
            item.extend(view.write());
            item.insert(MARKS.to_owned(), AttributeValue::B(Blob::new(marks.to_bytes())));
            item.insert(VERSION.to_owned(), number(version + 1));
            // A view of what was erased goes at its time, whatever is folded into it until then.
            item.extend(forget_at.map(|at| (FORGET_AT.to_owned(), at)));
            let unchanged = match version {
                0 => Condition::new("attribute_not_exists(version)"),
                _ => Condition::new("version = :seen").value(":seen", number(version)),
            };
            match self.0.put_if(item, unchanged, deadline).await? {
                Put::Done => return Ok(Folded { new: new.len(), conflicts }),
                // By somebody else, or by an attempt of ours whose answer was lost: the marks tell.
                Put::Refused(other) => there = Some(other).filter(|item| !item.is_empty()),
            }
            conflicts += 1;
        }
    }
}

/// A view as it was read.
#[derive(Default)]
struct Seen<F> {
    view: F,
    marks: HighWaterMarks,
    version: i64,
    forget_at: Option<AttributeValue>,
}

impl<F: Fold> Seen<F> {
    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let marks = row.item.get(MARKS).and_then(|marks| marks.as_b().ok());
        let marks = marks.and_then(|bytes| HighWaterMarks::from_bytes(bytes.as_ref()));
        let marks = marks.ok_or_else(|| row.corrupt(MARKS, "the high-water marks of a view"))?;
        let forget_at = row.item.get(FORGET_AT).cloned();
        Ok(Self { view: F::read(row)?, marks, version: row.number(VERSION)?, forget_at })
    }
}

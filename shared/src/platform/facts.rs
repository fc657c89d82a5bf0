//! The facts: what commands state that views are [folded](crate::platform::projection) from, one row each.
//!
//! **Why not in the [ledger](crate::platform::ledger).** The stream of this table has only facts; the stream of the ledger would also have
//! every follow, publish and note of progress. The table is a source of truth like the ledger: it must not be lost, and the views
//! can be made again from it.

use crate::platform::dynamo::item::{Item, Key, Row};
use crate::platform::dynamo::{Condition, Dynamo, DynamoError, Put, Table};
use crate::platform::ledger::FORGET_AT;

/// The result of claiming an id. An id belongs to whatever is recorded first under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// This is on record, or was and is erased.
    Recorded,
    Taken,
}

/// The rows of a barrier: enough for a stream of 150 shards.
const BARRIER_ROWS: u64 = 4096;

/// The table of facts. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Facts {
    table: Table,
    pub(crate) barrier_rows: u64,
}

impl Facts {
    pub fn new(table: Table) -> Self {
        Self { table, barrier_rows: BARRIER_ROWS }
    }

    /// With so many rows in a [barrier](crate::platform::projection::Barrier), for a table whose shards are known to be few.
    #[must_use]
    pub fn with_barriers_of(self, barrier_rows: u64) -> Self {
        Self { barrier_rows, ..self }
    }

    /// The same table, with the client of a piece of work.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self { table: self.table.over(dynamo), ..*self }
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Records a row, unless there is one; then `is_same` tells whether it is the same. An erased row counts as the same.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn claim(
        &self,
        key: Key,
        says: Item,
        is_same: impl FnOnce(&Row<'_>) -> Result<bool, DynamoError>,
    ) -> Result<Claim, DynamoError> {
        let mut item = key.into_item();
        item.extend(says);
        let absent = Condition::new("attribute_not_exists(pk)");
        let Put::Refused(there) = self.table.put_if(item, absent).await? else {
            return Ok(Claim::Recorded);
        };
        let is_that = there.contains_key(FORGET_AT) || is_same(&self.table.row(there))?;
        Ok(if is_that { Claim::Recorded } else { Claim::Taken })
    }

    /// The row at a key, unless it was erased.
    pub async fn unerased(&self, key: Key) -> Result<Option<Row<'_>>, DynamoError> {
        let row = self.table.get(key.into_item()).await?;
        Ok(row.filter(|row| !row.item.contains_key(FORGET_AT)))
    }
}

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

/// The table of facts. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Facts(Table);

impl Facts {
    pub fn new(table: Table) -> Self {
        Self(table)
    }

    /// The same table, with the client of a piece of work.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self(self.0.over(dynamo))
    }

    pub fn table(&self) -> &Table {
        &self.0
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
        let Put::Refused(there) = self.0.put_if(item, absent).await? else {
            return Ok(Claim::Recorded);
        };
        let is_that = there.contains_key(FORGET_AT) || is_same(&self.0.row(there))?;
        Ok(if is_that { Claim::Recorded } else { Claim::Taken })
    }

    /// The row at a key, unless it was erased.
    pub async fn unerased(&self, key: Key) -> Result<Option<Row<'_>>, DynamoError> {
        let row = self.0.get(key.into_item()).await?;
        Ok(row.filter(|row| !row.item.contains_key(FORGET_AT)))
    }
}

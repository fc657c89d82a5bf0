//! The facts: what commands state that views are [folded](crate::projection) from, one row each.
//!
//! ```text
//! pk                   sk             what                                                     whose
//! likes#<viewer>       <activity>     whether the viewer likes it, and since when they first   likes
//!                                     did
//! activity#<activity>  owner          who published it, and whether it was deleted             activities
//! read#<viewer>        <activity>     how far the viewer has read the notifications of it      notifications
//! read#<viewer>        all#<message>  that a message has marked all of them as read; expires   notifications
//! poll#<poll>          poll           what was opened                                          polls
//! poll#<poll>          end#<actor>    when that actor ended it                                 polls
//! votes#<viewer>       <poll>         how the viewer voted, and when                           polls
//! battle#<battle>      battle         what was opened                                          battles
//! hit#<battle>#<hit>   hit            a hit                                                    battles
//! changed#<pk>         <sk>#<id>      a change of that row comes back                          projection
//! barrier#<id>#<n>     barrier        nothing: that it is folded says how far views are;       projection
//!                                     expires
//! ```
//!
//! **Why a table beside the [ledger](crate::ledger).** Its stream carries facts and nothing else; that of the ledger
//! would carry every follow, publish and note of progress as well. It is as much a source of truth: it must not
//! be lost, and its views can be made again from it.

use crate::dynamo::item::{Item, Key, Row};
use crate::dynamo::{Condition, Dynamo, DynamoError, Put, Table};
use crate::ledger::FORGET_AT;
use crate::runtime::deadline::Deadline;

/// Whose an id is that belongs to the first who records something under it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// This is on record, or what was erased since.
    Recorded,
    /// Something else is.
    Taken,
}

/// The table of facts. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Facts(Table);

impl Facts {
    /// The facts in this table.
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

    /// Records a row, unless there is one: then `is_same` tells whether that says the same. One that was erased says
    /// nothing that could differ.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn claim(
        &self,
        key: Key,
        says: Item,
        is_same: impl FnOnce(&Row<'_>) -> Result<bool, DynamoError>,
        deadline: Deadline,
    ) -> Result<Claim, DynamoError> {
        let mut item = key.into_item();
        item.extend(says);
        let absent = Condition::new("attribute_not_exists(pk)");
        let Put::Refused(there) = self.0.put_if(item, absent, deadline).await? else {
            return Ok(Claim::Recorded);
        };
        let is_that = there.contains_key(FORGET_AT) || is_same(&self.0.row(there))?;
        Ok(if is_that { Claim::Recorded } else { Claim::Taken })
    }

    /// The row at a key, unless it was erased.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn unerased(
        &self,
        key: Key,
        deadline: Deadline,
    ) -> Result<Option<Row<'_>>, DynamoError> {
        let row = self.0.get(key.into_item(), deadline).await?;
        Ok(row.filter(|row| !row.item.contains_key(FORGET_AT)))
    }
}

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

use crate::dynamo::{Dynamo, Table};

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
}

//! Timelines: one entry for each activity of each actor that a viewer follows.
//!
//! ```text
//! entry       entries as they are written
//! purge       deletes one actor's entries from one timeline
//! reading     reads entries
//! reconciling makes a timeline agree with an edge
//! returning   completes the timeline of an idle viewer who returns
//! hydration   what the ledger says about entries, which decides whether they are shown
//! ```

pub(crate) mod entry;
mod hydration;
mod purge;
mod reading;
mod reconciling;
mod returning;

pub use entry::EntryWrite;
pub use hydration::{Hydration, VisibilitySnapshot};
pub use purge::Purge;
pub use reading::{EntryRow, entry_key, entry_row};
pub use reconciling::{Pair, Reconciler, StepEnd};

use crate::platform::dynamo::{Dynamo, DynamoError, PacedTable, Table, Written};
use crate::platform::ledger::Ledger;
use crate::platform::runtime::deadline::Deadline;
use crate::platform::values::ViewerId;

/// The timelines, and the ledger that says what belongs there. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Timelines {
    table: PacedTable,
    ledger: Ledger,
}

impl Timelines {
    pub fn new(table: PacedTable, ledger: &Ledger) -> Self {
        Self { table, ledger: ledger.clone() }
    }

    /// The same timelines, with the client of a piece of work and takes turns with others.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self { table: self.table.over(dynamo), ledger: self.ledger.over(dynamo) }
    }

    /// The same timelines, for calls with another deadline.
    #[must_use]
    pub fn until(&self, deadline: Deadline) -> Self {
        let table = self.table.until(deadline);
        Self { ledger: self.ledger.over(table.table().dynamo()), table }
    }

    /// The same timelines, for bulk writes, which give way to others.
    #[must_use]
    pub fn in_bulk(&self) -> Self {
        Self { table: self.table.in_bulk(), ledger: self.ledger.clone() }
    }

    /// The same timelines, for many entries of one viewer: writes keep the pace of that viewer's partition.
    #[must_use]
    pub fn for_viewer(&self, viewer: &ViewerId) -> Self {
        Self { table: self.table.for_partition(viewer.as_str()), ledger: self.ledger.clone() }
    }

    pub fn table(&self) -> &Table {
        self.table.table()
    }

    /// Writes entries in order, 25 a call, several calls at once. From `begin_until` on no further call is
    /// begun; those that have begun are completed by `deadline`. Returns before `begin_until` only if all is
    /// written.
    ///
    /// Running out of capacity is not an error: the [`Written`] is then not complete.
    ///
    /// # Errors
    /// [`DynamoError`]: some of the entries may not be written. Writing all of them again is right.
    pub async fn write<'a>(
        &self,
        writes: impl IntoIterator<Item = EntryWrite<'a>>,
        begin_until: Deadline,
    ) -> Result<Written, DynamoError> {
        self.table.write(writes, begin_until).await
    }
}

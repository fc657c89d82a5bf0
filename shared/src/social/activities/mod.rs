//! Activities: what actors publish, edit and delete.
//!
//! ```text
//! command      activity.published, activity.updated, activity.deleted
//! record       how they merge, whatever order they arrive in
//! keys         the keys of claims, records and outboxes in the ledger
//! store        claims and records, changed by any number of writers at once
//! outbox       what each actor published, in timeline order
//! kinds        what each actor published, by kind
//! pages        pages of outboxes and of kinds
//! relisting    repairs outboxes and kinds for audits
//! owner        who published what, as a fact that others are folded with
//! changes      the change log, as readers use it
//! appending    the change log, as writers append to it
//! record_cache records that a reader need not read again
//! ```

mod appending;
pub mod changes;
mod command;
pub mod keys;
mod kinds;
mod outbox;
pub mod owner;
mod pages;
mod record;
mod record_cache;
mod relisting;
mod store;

pub use appending::ChangeLog;
pub use command::{ActivityUpdate, Delete, Publish};
pub use keys::ActivityItem;
pub use outbox::{OUTBOX_PAGE, OutboxPage, OutboxRow};
pub use record::{ActivityChange, ActivityKey, ActivityRecord, Edit, Published};
pub use record_cache::{LogReading, RecordCache};
pub use relisting::Unlisted;
pub use store::{ActivityClaim, Merged, read_record};

use crate::platform::ledger::Ledger;
use crate::platform::runtime::hold::Hold;

/// The activities of a ledger. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Activities {
    ledger: Ledger,
    /// The log that edits and deletes are appended to.
    log: ChangeLog,
    /// The hold before an activity leaves the list of its old kind.
    hold: Hold,
}

impl Activities {
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone(), log: ChangeLog::default(), hold: Hold::default() }
    }

    /// Uses the change log of a process, so that simultaneous changes are appended together.
    #[must_use]
    pub fn with_change_log(self, log: &ChangeLog) -> Self {
        Self { log: log.clone(), ..self }
    }

    /// Uses another [hold] before an activity leaves the list of its old kind.
    ///
    /// [hold]: crate::platform::runtime::hold
    #[must_use]
    pub fn with_hold(self, hold: Hold) -> Self {
        Self { hold, ..self }
    }
}

//! Activities: what actors publish, edit and delete.
//!
//! ```text
//! command   activity.published, activity.updated, activity.deleted
//! record    how they merge, whatever order they arrive in
//! keys      where claims, records and outboxes are in the ledger
//! store     claims and records, changed by any number of writers at once
//! outbox    what each actor published, in timeline order
//! kinds     the same by kind
//! pages     both, read by pages
//! relisting what is missing in them, for an audit
//! owner     who published what, as a fact that others are folded with
//! changes   which records were changed a moment ago, as readers see it
//! appending the same as writers append to it
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
pub(crate) use command::subject;
pub use command::{Delete, Publish, Update};
pub use keys::ActivityItem;
pub use outbox::{OUTBOX_PAGE, OutboxPage, OutboxRow};
pub use record::{ActivityKey, ActivityRecord, Change, Edit, Published};
pub use record_cache::{LogReading, RecordCache};
pub use relisting::Unlisted;
pub use store::{Claim, Merged, read_record};

use crate::ledger::Ledger;
use crate::runtime::hold::Hold;

/// What is known of activities. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Activities {
    ledger: Ledger,
    /// What edits and deletes are appended to.
    log: ChangeLog,
    /// Before what has changed its kind leaves a list.
    hold: Hold,
}

impl Activities {
    /// Those in this ledger.
    #[must_use]
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone(), log: ChangeLog::default(), hold: Hold::default() }
    }

    /// The same, with the change log of a process, so that what happens in it at once is appended together.
    #[must_use]
    pub fn with_change_log(self, log: &ChangeLog) -> Self {
        Self { log: log.clone(), ..self }
    }

    /// The same, and another [hold] before what has changed its kind leaves a list.
    ///
    /// [hold]: crate::runtime::hold
    #[must_use]
    pub fn with_hold(self, hold: Hold) -> Self {
        Self { hold, ..self }
    }
}

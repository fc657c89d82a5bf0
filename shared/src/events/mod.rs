//! Event history: what the customers of tenants do, recorded once, read in the order of time, archived, and dropped.
//!
//! ```text
//! command    event.recorded, events.recorded
//! event      an event, its identity, and the line of an archive that says it
//! period     how time is cut
//! settings   how long things last
//! stream_mapping whether the stream of a table is mapped
//! archive    the format of archive objects
//! keeping    what becomes of a period, and when
//! keys       where events, periods and archives are
//! periods    what is known of each period
//! archived   an object of an archive, as the ledger knows it
//! tally      number, bytes and sum of many events
//! archives   what is known of archive objects, and how far they have come
//! manifest   the files that list the objects of a period
//! exchanging an object is replaced by what is left of it
//! keepers    which keepers are at work
//! tables     the tables, one for each period
//! period_cache what a process knows of periods
//! recording  one conditional put an event
//! reading    what a customer did, over the tables of periods
//! ```
//!
//! # Once
//!
//! An event is put where nothing is, at a key that is made of its identity. So the first that is processed stays, a repetition
//! finds itself, and another content under the same identity is found out, for as long as the table is there. Before its table
//! goes nothing is taken for it any more: lateness is looked at before anything else, by the clock, and a table that
//! is sealed refuses puts by its policy. So there is no window in which a repetition would count twice.
//!
//! # Where it is
//!
//! An event that was taken is in the table of its period until the archive of that was verified, and from then on in the archive.
//! Readers read tables alone. The table of a period is made before the period begins and goes `EventDays` after it ended.
//!
//! # What bounds it
//!
//! An item is an event. A row of a period is written by the keeper a dozen times, and has at most [`MOST_SPREAD`](periods::MOST_SPREAD)
//! customers in it.

pub mod archive;
mod archived;
pub mod archives;
mod command;
mod event;
mod exchanging;
mod keepers;
pub mod keeping;
pub mod keys;
pub mod manifest;
mod period;
mod period_cache;
pub mod periods;
mod reading;
mod recording;
mod settings;
mod stream_mapping;
mod tables;
mod tally;

use std::sync::Arc;

use period_cache::PeriodCache;

use crate::dynamo::Dynamo;
use crate::ledger::Ledger;

pub use archived::ArchivedObject;
pub use archives::Archives;
pub use command::{EventRecorded, EventsRecorded, MOST_EVENTS, SentEvent};
pub use event::{Customer, CustomerError, Event, EventKey};
pub use keepers::{KeeperLease, Keepers};
pub use period::{Period, PeriodError, PeriodLength};
pub use periods::{MadeTable, PeriodRow, PeriodState, Periods};
pub use reading::{History, ListedEvent, MOST_BYTES, ROUNDS, TABLES, UNITS};
pub use recording::{MOST_KEYS, Recorded};
pub use settings::EventSettings;
pub use stream_mapping::StreamMapping;
pub use tables::{EventTables, Seal};
pub use tally::Tally;

/// The history of events. Cheap to clone; clones share what is known of periods.
#[derive(Debug, Clone)]
pub struct Events {
    pub settings: EventSettings,
    tables: EventTables,
    periods: Periods,
    known: Arc<PeriodCache>,
}

impl Events {
    /// The events in these tables, whose periods are in this ledger.
    #[must_use]
    pub fn new(settings: EventSettings, tables: &EventTables, ledger: &Ledger) -> Self {
        let (tables, periods) = (tables.clone(), Periods::new(ledger));
        Self { settings, tables, periods, known: Arc::default() }
    }

    /// The same for another piece of work, whose usage counts there.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self {
            tables: self.tables.over(dynamo),
            periods: self.periods.over(dynamo),
            ..self.clone()
        }
    }

    #[must_use]
    pub fn tables(&self) -> &EventTables {
        &self.tables
    }

    /// What is known of periods.
    #[must_use]
    pub fn periods(&self) -> &Periods {
        &self.periods
    }
}

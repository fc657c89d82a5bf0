//! Event history: what the customers of tenants do, recorded once, read in the order of time, archived, and dropped.
//!
//! ```text
//! command    event.recorded, events.recorded
//! event      an event, its identity, and its line in an archive
//! period     periods of time
//! settings   how long tables and archives last
//! archive    the format of archive objects
//! schedule   the steps of a period, and when they are due
//! capacity   the provisioned capacity of the current period's table
//! keys       the keys of events, periods and archives
//! periods    the rows of periods
//! archived   the row of an object of an archive
//! tally      number, bytes and sum of digests of events
//! archives   the rows of archives, and their progress
//! manifest   the files that list the objects of a period
//! exchanging replaces an object by an edition without some events
//! leases     leases of running keepers
//! tables     the tables, one for each period
//! period_cache a cache of the rows of periods
//! recording  one conditional put an event
//! reading    what a customer did, over the tables of periods
//! ```
//!
//! # Once
//!
//! An event is put where nothing is, at a key that is made of its identity. So the first one to be processed stays, a repetition is
//! recognised, and different content under the same identity is detected, as long as the table exists. Long before its table is dropped,
//! no event is accepted for it: lateness is checked first, by the clock, and a sealed table denies puts by its policy. So a repetition
//! never counts twice.
//!
//! # Storage
//!
//! An accepted event is in the table of its period until the archive is verified, and then in the archive. Readers only read tables. The
//! table of a period is made before the period begins, and dropped `EventDays` after it ended.
//!
//! # Bounds
//!
//! An item is one event. The keeper writes the row of a period a dozen times, and it has at most [`MOST_SPREAD`](periods::MOST_SPREAD)
//! customers.

pub mod archive;
mod archived;
pub mod archives;
pub mod capacity;
mod command;
mod event;
mod exchanging;
pub mod keys;
mod leases;
pub mod manifest;
mod period;
mod period_cache;
pub mod periods;
mod reading;
mod recording;
pub mod schedule;
mod settings;
mod tables;
mod tally;

use std::sync::Arc;

use period_cache::PeriodCache;

use crate::platform::dynamo::Dynamo;
use crate::platform::ledger::Ledger;

pub use archived::ArchivedObject;
pub use archives::Archives;
pub use command::{EventRecorded, EventsRecorded, MOST_EVENTS, SentEvent};
pub use event::{Customer, CustomerError, Event, EventKey};
pub use leases::{KeeperLease, Keepers};
pub use period::{Period, PeriodError, PeriodLength};
pub use periods::{MadeTable, PeriodRow, PeriodState, Periods};
pub use reading::{History, ListedEvent, MOST_BYTES, ROUNDS, TABLES, UNITS};
pub use recording::{EventOutcome, MOST_KEYS};
pub use settings::EventSettings;
pub use tables::{EventTables, TableSeal};
pub use tally::Tally;

/// The history of events. Cheap to clone; clones share the cache of periods.
#[derive(Debug, Clone)]
pub struct Events {
    pub settings: EventSettings,
    tables: EventTables,
    periods: Periods,
    known: Arc<PeriodCache>,
}

impl Events {
    /// The events in these tables, whose periods are in this ledger.
    pub fn new(settings: EventSettings, tables: &EventTables, ledger: &Ledger) -> Self {
        let (tables, periods) = (tables.clone(), Periods::new(ledger));
        Self { settings, tables, periods, known: Arc::default() }
    }

    /// The same, with the client of a piece of work.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self {
            tables: self.tables.over(dynamo),
            periods: self.periods.over(dynamo),
            ..self.clone()
        }
    }

    pub fn tables(&self) -> &EventTables {
        &self.tables
    }

    /// The rows of periods.
    pub fn periods(&self) -> &Periods {
        &self.periods
    }
}

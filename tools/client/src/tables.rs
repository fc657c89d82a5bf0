//! All tables, over one client.

use aws_sdk_dynamodb::Client;
use shared::history::events::{EventSettings, EventTables, Events};
use shared::platform::dead_letters::DeadLetters;
use shared::platform::dynamo::{Dynamo, IN_FLIGHT, PacedTable};
use shared::platform::facts::Facts;
use shared::platform::ledger::Ledger;
use shared::platform::projection::Views;
use shared::platform::runtime::env;
use shared::social::timelines::Timelines;

/// The names of the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableNames {
    /// Entries, by viewer: derived and rebuildable.
    pub timelines: String,
    /// Follows, activities and outboxes: the source of truth.
    pub ledger: String,
    /// Facts: what views are folded from.
    pub facts: String,
    /// What is folded from facts.
    pub views: String,
    /// Commands that gave up.
    pub dead_letters: String,
    /// The prefix of the names of the tables of events.
    pub events: String,
}

impl TableNames {
    /// The variables by which functions are told of them.
    #[must_use]
    pub fn variables(self) -> [(&'static str, String); 6] {
        [
            (env::TIMELINES_TABLE, self.timelines),
            (env::LEDGER_TABLE, self.ledger),
            (env::FACTS_TABLE, self.facts),
            (env::VIEWS_TABLE, self.views),
            (env::DEAD_LETTERS_TABLE, self.dead_letters),
            (env::EVENTS_TABLE_PREFIX, self.events),
        ]
    }
}

/// The tables, over one client. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Tables {
    /// The client.
    pub dynamo: Dynamo,
    /// The source of truth.
    pub ledger: Ledger,
    /// What views are folded from.
    pub facts: Facts,
    /// What is folded from facts.
    pub views: Views,
    /// The timelines.
    pub timelines: Timelines,
    /// Commands that gave up.
    pub dead_letters: DeadLetters,
    /// What customers of tenants did.
    pub events: Events,
}

impl Tables {
    /// The tables of these names.
    pub fn new(client: Client, names: &TableNames) -> Self {
        Self::with_in_flight(client, names, IN_FLIGHT)
    }

    /// Tables of a client that has other limits or leases.
    pub fn with_dynamo(dynamo: Dynamo, names: &TableNames) -> Self {
        Self::over(dynamo, names, IN_FLIGHT)
    }

    /// Like [`Tables::new`], with at most this many write calls in flight.
    pub fn with_in_flight(client: Client, names: &TableNames, in_flight: usize) -> Self {
        Self::over(Dynamo::new(client), names, in_flight)
    }

    fn over(dynamo: Dynamo, names: &TableNames, in_flight: usize) -> Self {
        let ledger = Ledger::new(dynamo.table(&names.ledger));
        let facts = Facts::new(dynamo.table(&names.facts));
        let views = Views::new(dynamo.table(&names.views));
        let entries = PacedTable::with_in_flight(dynamo.table(&names.timelines), in_flight);
        let timelines = Timelines::new(entries, &ledger);
        let dead_letters = DeadLetters::new(dynamo.table(&names.dead_letters));
        let events = EventTables::new(&dynamo, &names.events);
        let events = Events::new(EventSettings::default(), &events, &ledger);
        Self { dynamo, ledger, facts, views, timelines, dead_letters, events }
    }

    /// The same, with other settings of events.
    #[must_use]
    pub fn keeping(mut self, settings: EventSettings) -> Self {
        self.events.settings = settings;
        self
    }
}

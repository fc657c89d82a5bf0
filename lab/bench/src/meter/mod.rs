//! What calls consume and how many are refused, measured at two edges of the throttle.
//!
//! ```text
//! refusals    what the caller is told: throttled, or in conflict with another transaction
//!   throttle  the local stack's own (`--faults`)
//! consumption what the tables report of each write that reached them
//!   engine
//! ```

mod consumption;
mod refusals;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use tokio::time::Instant;

use consumption::Consumption;
use refusals::Refusals;

/// What was measured. Cheap to clone: clones share it.
#[derive(Debug, Clone, Default)]
pub(super) struct Meter(Arc<Mutex<Measured>>);

/// What was measured so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Measured {
    /// Write units of calls that succeeded, by table.
    pub(super) units: BTreeMap<String, f64>,
    /// Calls that a condition refused: duplicates, most of all.
    pub(super) refused: u64,
    /// The write units of these: the least that DynamoDB charges for them.
    pub(super) refused_units: f64,
    /// Calls that were throttled.
    pub(super) throttled: u64,
    /// Transactions that met another one at the same item.
    pub(super) conflicts: u64,
    /// When a row of the facts was first put, by its partition key and its instant.
    pub(super) facts: HashMap<Fact, Instant>,
    /// Facts that are stored: each once, however often its command is delivered.
    pub(super) stored: usize,
    /// When the burst of the tables was used up, and how many were stored then.
    pub(super) burst: Option<(Instant, usize)>,
}

/// Names a change of a fact.
pub(super) type Fact = (String, String);

impl Measured {
    /// The write units of all tables.
    pub(super) fn all_units(&self) -> f64 {
        self.units.values().sum()
    }

    /// Those of the table that took most.
    pub(super) fn busiest(&self) -> f64 {
        self.units.values().copied().fold(0.0, f64::max)
    }
}

impl Meter {
    /// What was measured so far.
    pub(super) fn read(&self) -> Measured {
        self.lock().clone()
    }

    /// When rows of the facts were first put.
    pub(super) fn put_at(&self, facts: &[Fact]) -> Vec<Instant> {
        let measured = self.lock();
        facts.iter().filter_map(|fact| measured.facts.get(fact).copied()).collect()
    }

    /// Forgets what was measured.
    pub(super) fn reset(&self) {
        *self.lock() = Measured::default();
    }

    /// Something is stored.
    pub(super) fn store(&self) {
        self.lock().stored += 1;
    }

    /// A connector that notes what each write consumes.
    pub(super) fn below(&self, inside: SharedHttpConnector, facts: String) -> SharedHttpConnector {
        SharedHttpConnector::new(Consumption { inside, facts, meter: self.clone() })
    }

    /// A connector that notes what is refused.
    pub(super) fn above(&self, inside: SharedHttpConnector) -> SharedHttpConnector {
        SharedHttpConnector::new(Refusals { inside, meter: self.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, Measured> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

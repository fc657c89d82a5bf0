//! The tables of periods, one for each.

use std::sync::Arc;

use super::Period;
use crate::dynamo::{Dynamo, Table};

/// The tables of periods. Cheap to clone.
#[derive(Debug, Clone)]
pub struct EventTables {
    dynamo: Dynamo,
    prefix: Arc<str>,
}

impl EventTables {
    /// Those whose names begin with this.
    #[must_use]
    pub fn new(dynamo: &Dynamo, prefix: &str) -> Self {
        Self { dynamo: dynamo.clone(), prefix: prefix.into() }
    }

    /// The same for another piece of work, whose usage counts there.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self { dynamo: dynamo.clone(), prefix: Arc::clone(&self.prefix) }
    }

    /// The table of a period, whether it is there or not.
    #[must_use]
    pub fn table(&self, period: Period) -> Table {
        self.dynamo.table(&self.name(period))
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self, period: Period) -> String {
        format!("{}{period}", self.prefix)
    }

    /// The period whose table is called so, if it is one of these.
    #[must_use]
    pub fn period_of(&self, name: &str) -> Option<Period> {
        name.strip_prefix(&*self.prefix)?.parse().ok()
    }
}

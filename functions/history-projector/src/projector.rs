//! The state of the history projector, and how it is built from the environment.

use function_stream::Projection;
use shared::history::events::EventTables;
use shared::history::refusals::Refusals;
use shared::history::tenants::Rules;
use shared::platform::environment::Environment;
use shared::platform::ledger::Ledger;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::env::EnvError;

use crate::env;

/// The history projector. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Projector {
    pub projection: Projection,
    /// The tables of periods.
    pub tables: EventTables,
    /// Decides on the counts of customers, and raises alerts.
    pub rules: Rules,
    /// Counts events that a view refuses.
    pub refusals: Refusals,
}

impl Projector {
    /// Builds a projector from the environment of its function.
    pub fn from_env(environment: &Environment) -> Result<Self, EnvError> {
        let (projection, dynamo) = (Projection::from_env(environment)?, &environment.dynamo);
        let ledger = Ledger::new(environment.table(env::LEDGER_TABLE)?);
        let prefix = environment.variables.required(env::EVENTS_TABLE_PREFIX)?;
        Ok(Self {
            tables: EventTables::new(dynamo, &prefix),
            rules: Rules::new(&ledger, &projection.views).with_bus(&projection.bus),
            refusals: Refusals::new(&ledger),
            projection,
        })
    }

    /// The same projector, whose tables know the deadline of one batch.
    pub(crate) fn for_work(&self, deadline: Deadline) -> Self {
        let dynamo = &self.projection.views.table().dynamo().for_work(deadline);
        Self {
            projection: self.projection.over(dynamo),
            tables: self.tables.over(dynamo),
            rules: self.rules.over(dynamo),
            refusals: self.refusals.over(dynamo),
        }
    }
}

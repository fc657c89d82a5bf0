//! The state of the reader, and how it is built from the environment.

use function_http::reader;
use function_http::reader::Requests;
use shared::history::events::{EventSettings, EventTables, Events};
use shared::platform::environment::Environment;
use shared::platform::ledger::Ledger;
use shared::platform::objects::Objects;
use shared::platform::projection::Views;
use shared::platform::runtime::env::EnvError;

use crate::env;

/// The reader. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Reader {
    pub ledger: Ledger,
    pub views: Views,
    pub events: Events,
    /// The archives of events, if there are any.
    pub objects: Option<Objects>,
    pub requests: Requests,
}

/// One request to an existing path.
pub(crate) type Context<'a> = reader::Context<'a, Reader>;

impl Reader {
    /// Builds a reader from the environment of its function.
    pub fn from_env(environment: &Environment) -> Result<Self, EnvError> {
        let Environment { variables, dynamo, .. } = environment;
        let ledger = Ledger::new(environment.table(env::LEDGER_TABLE)?);
        let tables = EventTables::new(dynamo, &variables.required(env::EVENTS_TABLE_PREFIX)?);
        let settings = EventSettings::among(variables, &env::EVENT_SETTINGS)?;
        Ok(Self {
            events: Events::new(settings, &tables, &ledger),
            ledger,
            views: Views::new(environment.table(env::VIEWS_TABLE)?),
            objects: Some(environment.objects(env::ARCHIVE_BUCKET)?),
            requests: Requests::from_env(environment)?,
        })
    }
}

//! The state of the reader, and how it is built from the environment.

use std::sync::Arc;

use function_http::reader;
use function_http::reader::Requests;
use shared::platform::dynamo::PacedTable;
use shared::platform::environment::Environment;
use shared::platform::facts::Facts;
use shared::platform::ledger::Ledger;
use shared::platform::projection::Views;
use shared::platform::runtime::env::EnvError;
use shared::platform::runtime::hold::Hold;
use shared::platform::values::Retention;
use shared::social::activities::RecordCache;
use shared::social::follows::IdleViewers;
use shared::social::likes::LikeCountCache;
use shared::social::timelines::Timelines;

use crate::env;

/// The reader. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Reader {
    /// The source of truth.
    pub ledger: Ledger,
    pub facts: Facts,
    pub views: Views,
    pub timelines: Timelines,
    /// The cache of records. Readers that share it are one process.
    pub records: Arc<RecordCache>,
    /// The cache of counts of likes, likewise.
    pub counts: Arc<LikeCountCache>,
    /// The time within which the reads of a page are of one moment. The same as the writers' hold.
    pub hold: Hold,
    /// The seconds for which caches may keep answers that are the same for everybody; 0: not at all.
    pub public_cache_seconds: u8,
    pub retention: Retention,
    /// When a viewer is idle.
    pub idle_viewers: IdleViewers,
    pub requests: Requests,
}

/// One request to an existing path.
pub(crate) type Context<'a> = reader::Context<'a, Reader>;

impl Reader {
    /// Builds a reader from the environment of its function.
    pub fn from_env(environment: &Environment) -> Result<Self, EnvError> {
        let variables = &environment.variables;
        let ledger = Ledger::new(environment.table(env::LEDGER_TABLE)?);
        let timelines = PacedTable::new(environment.table(env::TIMELINES_TABLE)?);
        Ok(Self {
            timelines: Timelines::new(timelines, &ledger),
            ledger,
            facts: Facts::new(environment.table(env::FACTS_TABLE)?),
            views: Views::new(environment.table(env::VIEWS_TABLE)?),
            records: Arc::default(),
            counts: Arc::default(),
            hold: Hold::default(),
            public_cache_seconds: variables.parsed_or(env::PUBLIC_CACHE_SECONDS, 0)?,
            retention: variables.days(env::RETENTION_DAYS)?,
            idle_viewers: variables.parsed_or(env::IDLE_DAYS, IdleViewers::off())?,
            requests: Requests::from_env(environment)?,
        })
    }
}

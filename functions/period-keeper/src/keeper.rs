//! The state of the keeper, and how it is built from the environment.

use std::fmt::Debug;

use shared::history::events::capacity::Billing;
use shared::history::events::{Archives, EventSettings, EventTables, Keepers, Periods};
use shared::history::summaries::Summaries;
use shared::history::tenants::Daily;
use shared::platform::environment::Environment;
use shared::platform::ledger::Ledger;
use shared::platform::objects::Objects;
use shared::platform::outbound::Bus;
use shared::platform::projection::Views;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::env::{CLOUDWATCH_ENDPOINT, EnvError, LAMBDA_ENDPOINT};
use shared::platform::runtime::metrics::Metrics;

use crate::cloud_watch::CloudWatch;
use crate::env;
use crate::mappings::Mappings;

/// The keeper. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Keeper {
    pub periods: Periods,
    pub archives: Archives,
    pub keepers: Keepers,
    pub tables: EventTables,
    pub objects: Objects,
    /// How streams are mapped to the history projector.
    pub mappings: Mappings,
    /// Where usage is measured, if the table of the current period is to be provisioned.
    pub cloud_watch: Option<CloudWatch>,
    /// Decides daily rules, and raises alerts.
    pub daily: Daily,
    pub bus: Bus,
    /// The summaries of the history projector: days are decided on them, and drops compare with them.
    pub summaries: Summaries,
    /// How long things last.
    pub settings: EventSettings,
    pub limits: KeeperLimits,
    /// Where ticks are counted.
    pub metrics: Metrics,
    pub clock: Clock,
}

/// The limits of parallel work.
#[derive(Debug, Clone, Copy)]
pub struct KeeperLimits {
    /// The bytes of memory of a chunk. The event that reaches this is its last.
    pub chunk_bytes: usize,
    /// The bytes of a table that are one segment. A larger table has more segments.
    pub segment_bytes: u64,
    /// The segments of a table that are archived at once, each with a chunk in memory.
    pub segments_at_once: usize,
    /// The most items of one page of a scan; with `None`, a page is 1 MiB.
    pub page_items: Option<i32>,
}

impl Default for KeeperLimits {
    fn default() -> Self {
        Self {
            chunk_bytes: 64 << 20,
            segment_bytes: 4 << 30,
            segments_at_once: 4,
            page_items: None,
        }
    }
}

impl Keeper {
    /// Builds a keeper from the environment of its function.
    pub fn from_env(environment: &Environment) -> Result<Self, EnvError> {
        let Environment { variables, dynamo, metrics, clock, .. } = environment;
        let ledger = Ledger::new(environment.table(env::LEDGER_TABLE)?);
        let bus = environment.bus(env::EVENT_BUS_NAME);
        let cloud_watch = match variables.parsed_or(env::EVENT_CAPACITY, Billing::OnDemand)? {
            Billing::OnDemand => None,
            Billing::Provisioned => {
                let queue = variables.required(env::QUEUE_ARN)?;
                Some(CloudWatch::new(&environment.services_at(CLOUDWATCH_ENDPOINT), &queue))
            }
        };
        Ok(Self {
            periods: Periods::new(&ledger),
            archives: Archives::new(&ledger),
            keepers: Keepers::new(&ledger),
            tables: EventTables::new(dynamo, &variables.required(env::EVENTS_TABLE_PREFIX)?),
            objects: environment.objects(env::ARCHIVE_BUCKET)?,
            cloud_watch,
            daily: Daily::new(&ledger).with_bus(&bus),
            bus,
            summaries: Summaries::new(&Views::new(environment.table(env::VIEWS_TABLE)?)),
            settings: EventSettings::among(variables, &env::EVENT_SETTINGS)?,
            mappings: Mappings::new(
                &environment.services_at(LAMBDA_ENDPOINT),
                variables.required_parsed(env::STREAM_MAPPING)?,
            ),
            limits: KeeperLimits::default(),
            metrics: metrics.clone(),
            clock: clock.clone(),
        })
    }

    /// The same keeper, whose tables know the deadline of a piece of its work.
    pub(crate) fn until(&self, deadline: Deadline) -> Self {
        let dynamo = &self.tables.dynamo().until(deadline);
        Self {
            periods: self.periods.over(dynamo),
            archives: self.archives.over(dynamo),
            keepers: self.keepers.over(dynamo),
            tables: self.tables.over(dynamo),
            daily: self.daily.over(dynamo),
            summaries: self.summaries.over(dynamo),
            ..self.clone()
        }
    }

    pub(crate) fn deadline(&self) -> Deadline {
        self.tables.dynamo().deadline()
    }
}

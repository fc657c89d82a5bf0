//! The keeper of periods: makes their tables, seals, archives and drops them.
//!
//! ```text
//! tick          every quarter of an hour: everything that is due and fits the deadline
//!   steps/
//!     table     makes, seals and drops it
//!     archive   puts its events into objects, with a manifest
//!     verify    reads the objects back
//!     expire    deletes the objects
//!     stream    maps its stream to the history projector, compares, and unmaps it
//!     capacity  provisions the table of the current period
//!   mappings    the calls of Lambda
//!   cloud_watch the call of CloudWatch
//!   service     errors of both
//!   daily       daily decisions of tenants
//!   metrics     the metrics of a tick
//! ```
//!
//! [`shared::history::events::schedule`] decides what is due. Each step may die anywhere, be repeated, and run in two keepers at once: it does
//! idempotent work, and then updates the row of the period, or of its progress, under the version that it has read.
//!
//! # Why no event is lost
//!
//! An event that was accepted is at every moment in its table, or in an archive that was read back:
//!
//! 1. *A table that takes events is ours.* It is made before the row says so, and the row has its ARN and its instant. An existing
//!    table is only used if it is what would have been made.
//! 2. *The archive has every put.* Writers refuse late events by their clocks, an hour before the table is sealed; then its policy
//!    denies puts. Only after that it is scanned, consistently.
//! 3. *All keepers make the same chunk.* Its end is noted before its first object is put, and only over the version that was read. So
//!    two keepers, or a crashed keeper and its successor, put the same bytes under the same key, and the progress after a chunk is
//!    written after all its objects and their rows. It adds to the tally what was scanned, once.
//! 4. *An archive is what was scanned.* Every object with a row is read back from the bucket. The digests of the objects, and the number
//!    and the sum of the digests of their lines, have to be those of the scan. Any difference is a dispute.
//! 5. *A table is only dropped if three witnesses agree.* Before the row says `verified`, no call deletes a table. Then the table has to
//!    have the ARN and instant in the row, and as many items as the archive has events; and its stream has to have brought the history projector
//!    as many, with the same sum of digests. The drop is noted before it begins. A table that is gone without such a note is a dispute,
//!    not a drop.
//!
//! A dispute stops everything for that period, and its table stays protected against deletion. One kind heals: if only the stream
//! differs, each tick compares again. Missing events may come as a dead letter that is sent again, or by a replay.
//!
//! # Why the stream brings everything
//!
//! The stream of a table is mapped to the history projector before the row says `made`, and nothing is put before that. Lambda begins with the
//! oldest change, so it may begin later, within the day that a stream keeps changes. It is unmapped once it has brought everything in
//! the archive, which is then final. A mapping need not be noted before it is made: Lambda allows at most one of a stream to a function,
//! and lists it (`mappings`). A keeper that was frozen may make a mapping that another has just deleted: it brings nothing that was not
//! folded, and is deleted before the table is dropped.
//!
//! The table is dropped a day after its last change at the earliest: by then the stream is empty, and the number of items is final.
//!
//! # Erasures
//!
//! The erasure of a tenant or a customer marks the row of a period, and waits for keepers that may not have seen the mark ([`Keepers`]).
//! Keepers leave a marked period alone.
//!
//! # Bounds
//!
//! It has four chunks of a table, or one object, in memory: 64 MiB each, and their compressed form. Before that, days are decided on
//! pages of a hundred customers, of four tenants at once, in half of the time. Rows of periods are read as a whole: a hundred bytes each,
//! except for periods with customers that are spread.

mod cloud_watch;
mod daily;
pub mod env;
mod mappings;
mod metrics;
mod service;
mod steps;

use std::fmt::Debug;
use std::time::Duration;

use futures::future::BoxFuture;
use shared::history::events::capacity::Billing;
use shared::history::events::manifest::ManifestError;
use shared::history::events::schedule::{self, Step};
use shared::history::events::{
    Archives, EventSettings, EventTables, Keepers, PeriodRow, PeriodState, Periods,
};
use shared::history::summaries::Summaries;
use shared::history::tenants::Daily;
use shared::platform::dynamo::DynamoError;
use shared::platform::environment::Environment;
use shared::platform::ledger::Ledger;
use shared::platform::objects::{ObjectError, Objects};
use shared::platform::outbound::Bus;
use shared::platform::projection::Views;
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::{Deadline, DeadlineExceeded};
use shared::platform::runtime::env::{CLOUDWATCH_ENDPOINT, EnvError, LAMBDA_ENDPOINT};
use shared::platform::runtime::metrics::Metrics;
use shared::platform::values::Timestamp;
use tracing::{error, info, warn};

pub use self::cloud_watch::CloudWatch;
pub use self::mappings::{MappingRequest, MappingRequestError, Mappings};
use self::metrics::Tick;
pub use self::metrics::metric_names;
pub use self::service::ServiceError;
use self::steps::Outcome;

/// How long a tick tries to set the capacity of one table: everything else waits for that.
const PROVISIONING: Duration = Duration::from_secs(30);

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

/// How a tick ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ticked {
    /// Steps that were done, and days that were decided.
    pub done: u64,
    /// Steps that failed. The next tick tries them again.
    pub failed: u64,
    /// True if something is due that was not done: it failed, waits for AWS, or did not fit the deadline.
    pub more_due: bool,
}

/// A step was not done.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error("Lambda {0}")]
    Lambda(ServiceError),
    #[error("CloudWatch {0}")]
    CloudWatch(ServiceError),
    #[error(transparent)]
    DeadlineExceeded(#[from] DeadlineExceeded),
}

impl From<ManifestError> for KeeperError {
    fn from(error: ManifestError) -> Self {
        match error {
            ManifestError::Dynamo(error) => error.into(),
            ManifestError::Object(error) => error.into(),
        }
    }
}

impl KeeperError {
    /// True if the only problem was time.
    #[must_use]
    pub fn is_out_of_time(&self) -> bool {
        matches!(
            self,
            Self::DeadlineExceeded(_)
                | Self::Dynamo(DynamoError::DeadlineExceeded(_))
                | Self::Object(ObjectError::DeadlineExceeded(_))
                | Self::Lambda(ServiceError::DeadlineExceeded(_))
                | Self::CloudWatch(ServiceError::DeadlineExceeded(_))
        )
    }
}

impl Ticked {
    /// Counts the result of a step. Returns the new row of the period, if it goes on.
    fn count(
        &mut self,
        row: &PeriodRow,
        what: &dyn Debug,
        ended: Result<Outcome, KeeperError>,
    ) -> Option<PeriodRow> {
        let period = row.period;
        match ended {
            Ok(Outcome::Moved(moved)) => {
                info!(%period, state = %moved.state, step = ?what, "a period was moved on");
                self.done += 1;
                return Some(moved);
            }
            Ok(Outcome::Unchanged) => {}
            Ok(Outcome::Waiting) => self.more_due = true,
            Err(failure) => {
                self.more_due = true;
                if failure.is_out_of_time() {
                    info!(%period, step = ?what, "the next tick goes on");
                } else {
                    self.failed += 1;
                    warn!(%period, step = ?what, "not done: {failure}");
                }
            }
        }
        None
    }
}

impl Keeper {
    /// As its environment says.
    ///
    /// # Errors
    /// [`EnvError`] names the variable.
    pub fn of(environment: &Environment) -> Result<Self, EnvError> {
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
        let mapping = variables.required_parsed(env::STREAM_MAPPING)?;
        Ok(Self {
            periods: Periods::new(&ledger),
            archives: Archives::new(&ledger),
            keepers: Keepers::new(&ledger),
            tables: EventTables::new(dynamo, &variables.required(env::EVENTS_TABLE_PREFIX)?),
            objects: environment.objects(env::ARCHIVE_BUCKET)?,
            mappings: Mappings::new(&environment.services_at(LAMBDA_ENDPOINT), mapping),
            cloud_watch,
            daily: Daily::new(&ledger).with_bus(&bus),
            bus,
            summaries: Summaries::new(&Views::new(environment.table(env::VIEWS_TABLE)?)),
            settings: EventSettings::among(variables, &env::EVENT_SETTINGS)?,
            limits: KeeperLimits::default(),
            metrics: metrics.clone(),
            clock: clock.clone(),
        })
    }

    /// Does what is due now and fits the deadline. Failures are logged and counted, and block no other period.
    ///
    /// Boxed, so that it is compiled here once and not in every program that awaits it.
    ///
    /// # Errors
    /// [`KeeperError`]: it is unknown what is due.
    pub fn tick(&self, deadline: Deadline) -> BoxFuture<'_, Result<Ticked, KeeperError>> {
        Box::pin(async move {
            let keeper = self.until(deadline);
            let at_work = keeper.keepers.begin().await?;
            let ticked = keeper.tick_at_work().await;
            // If that fails, erasures wait for this keeper a little longer.
            let _ = keeper.keepers.end(at_work).await;
            ticked
        })
    }

    /// The same keeper, whose tables know the deadline of a piece of its work.
    fn until(&self, deadline: Deadline) -> Self {
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

    fn deadline(&self) -> Deadline {
        self.tables.dynamo().deadline()
    }

    fn tick_at_work(&self) -> BoxFuture<'_, Result<Ticked, KeeperError>> {
        Box::pin(async move {
            let now = self.clock.now();
            let (mut tick, mut ticked) = (Tick::default(), Ticked::default());
            let mut rows = self.periods.newest_until(|_| false).await?;
            // Before all that takes long: somebody may be waiting for it.
            for row in &mut rows {
                self.provision(row, now, &mut ticked).await;
            }
            self.decide_days(now, &mut tick, &mut ticked).await;
            for period in schedule::planned(&self.settings, now) {
                if rows.iter().any(|row| row.period == period) {
                    continue;
                }
                if let Some(other) = schedule::overlapping(period, &rows) {
                    error!(%period, of = %other.period, "not planned: a period of another length overlaps it");
                    tick.disputed_periods += 1;
                    continue;
                }
                self.periods.plan(period).await?;
                rows.extend(self.periods.row(period).await?);
            }
            rows.sort_by_key(|row| row.period.from());
            for row in rows {
                let row = self.keep(row, now, &mut ticked).await;
                tick.see(&row, &self.settings, now);
            }
            tick.keeper_steps += ticked.done;
            tick.failed_steps += ticked.failed;
            tick.outbound_refused = self.bus.take_refused().into();
            self.metrics.record(&tick, now);
            Ok(ticked)
        })
    }

    /// Has a period's table the capacity that it needs now.
    async fn provision(&self, row: &mut PeriodRow, now: Timestamp, ticked: &mut Ticked) {
        let keeper = self.until(self.deadline().within(PROVISIONING));
        loop {
            let ended = keeper.set_capacity(row, now).await;
            match ticked.count(row, &"set the capacity", ended) {
                Some(moved) => *row = moved,
                None => return,
            }
        }
    }

    /// Does what is due for a period. Returns its new row.
    async fn keep(&self, mut row: PeriodRow, now: Timestamp, ticked: &mut Ticked) -> PeriodRow {
        while let Some(care) = schedule::stream_care(&row) {
            let ended = self.care_for_stream(care, &row).await;
            match ticked.count(&row, &care, ended) {
                Some(moved) => row = moved,
                None => break,
            }
        }
        while let Some(due) = schedule::next(&row, &self.settings, now) {
            if due.at > now {
                break;
            }
            let ended = self.step(due.step, &row).await;
            match ticked.count(&row, &due.step, ended) {
                Some(moved) => row = moved,
                None => break,
            }
        }
        row
    }

    async fn step(&self, step: Step, row: &PeriodRow) -> Result<Outcome, KeeperError> {
        if self.deadline().has_passed() {
            return Err(DeadlineExceeded.into());
        }
        let to = |state| PeriodRow { state, ..row.clone() };
        match step {
            Step::Make => self.make(row).await,
            Step::Begin => self.moved(to(PeriodState::Current)).await,
            Step::End => self.moved(to(PeriodState::Past)).await,
            Step::Seal => self.seal(row).await,
            Step::Archive => self.archive(row).await,
            Step::Verify => self.verify(row).await,
            Step::Drop => self.drop_table(row).await,
            Step::Expire => self.expire(row).await,
        }
    }

    /// Writes a row, or reads the row that somebody else has written meanwhile.
    async fn moved(&self, row: PeriodRow) -> Result<Outcome, KeeperError> {
        if self.periods.replace(&row).await? {
            let version = row.version + 1;
            return Ok(Outcome::Moved(PeriodRow { version, ..row }));
        }
        let now = self.periods.row(row.period).await?;
        Ok(now.map_or(Outcome::Waiting, Outcome::Moved))
    }

    /// Stops everything for a period, until an operator has resolved it.
    async fn dispute(&self, row: &PeriodRow, why: String) -> Result<Outcome, KeeperError> {
        self.disputed(PeriodRow { dispute: Some(why), heals: false, ..row.clone() }).await
    }

    /// Stops everything for a period, until its stream has brought everything in its archive.
    async fn dispute_until_folded(
        &self,
        row: &PeriodRow,
        why: String,
    ) -> Result<Outcome, KeeperError> {
        self.disputed(PeriodRow { dispute: Some(why), heals: true, ..row.clone() }).await
    }

    async fn disputed(&self, row: PeriodRow) -> Result<Outcome, KeeperError> {
        let disputed = PeriodRow { state: PeriodState::Disputed, ..row };
        let outcome = self.moved(disputed).await?;
        // Not if another keeper was ahead and caused the difference.
        if let Outcome::Moved(PeriodRow { period, dispute: Some(why), .. }) = &outcome {
            error!(%period, "disputed: {why}");
        }
        Ok(outcome)
    }
}

//! The keeper of periods: makes their tables, seals, archives and drops them.
//!
//! ```text
//! tick          every quarter of an hour: all that is due and fits the deadline
//!   steps/
//!     table     made, sealed, dropped
//!     archive   its events put into objects, and a manifest of these
//!     verify    the objects read back
//!     expire    the objects deleted
//!     stream    its stream mapped to the projector, compared, unmapped
//!   mappings    how Lambda is asked for that
//!   daily       what tenants want decided by day
//!   metrics     what is counted of a tick
//! ```
//!
//! What is due is said by [`shared::events::keeping`]. Each step may die anywhere, be done twice, and be done by two keepers
//! beside each other: it does what may be done again, and then moves the row of the period, or of what it has come to, on
//! under the version that it has read.
//!
//! # Why no event is lost
//!
//! An event that was taken is in its table, or in an archive that was read back, at every moment:
//!
//! 1. *A table that takes events is ours, and nobody else's.* It is made before the row says so, and the row notes its ARN and when it
//!    was made. One that is there already is taken only if it is what would have been made.
//! 2. *Nothing is put that the archive has not seen.* Writers refuse what is late by their clocks, an hour before the table is
//!    sealed; and then its policy denies puts. Only after that it is scanned, consistently.
//! 3. *A chunk is the same for everybody who makes it.* Its end is noted before its first object is put, and only over the version that was
//!    read. So two keepers, or one that died and its successor, put the same bytes under the same key, and the progress behind a chunk is
//!    written after all its objects and their rows. What it adds to the tally is what was scanned, once.
//! 4. *An archive is what was scanned.* Every object that has a row is read back from the bucket. The digests of the objects and the number and
//!    sum of the digests of their lines have to be those of the scan. Whatever differs ends in a dispute.
//! 5. *Only what three witnesses agree on is dropped.* Before the row says `verified` no call deletes a table. Then the table has to be the one
//!    whose ARN and instant the row has, with as many items as the archive has events; and its stream has to have brought the projector as
//!    many, with the same sum of their digests. That its drop has begun is noted before it. A table that is gone without such a note is a dispute,
//!    not a drop.
//!
//! A dispute stops everything for that period, and its table stays protected against deletion. One heals: where nothing differs but what the
//! stream has brought, each tick compares again. What was missing may come as a dead letter that is sent again, or by a replay.
//!
//! # Why the stream brings all
//!
//! The stream of a table is mapped to the projector before the row says `made`, and nothing is put before that. Lambda begins with the oldest
//! change, so it does not matter how much later it begins, within the day that a stream keeps changes. It is unmapped once it has brought
//! what the archive holds, to which nothing is added any more. Nothing notes a mapping before it is made: Lambda knows of at most one of a stream
//! to a function, and lists it (`mappings`). A keeper that stood still may make one that another has just deleted: it brings
//! nothing that was not folded, and is deleted before the table is dropped.
//!
//! The table is dropped a day after its last change at the earliest: by then the stream has nothing left, and the number of items is final.
//!
//! # Who takes events out of it
//!
//! Whoever erases a tenant or a customer marks the row of a period, and waits for the keepers that may not have seen that
//! ([`Keepers`]). A period that is marked is left alone.
//!
//! # What bounds it
//!
//! It holds four chunks of a table, or one object, in memory: 64 MiB each and what that compresses to. Before, days are decided on pages of a hundred
//! customers, in half of the time. Rows of periods are read as a whole: a hundred
//! bytes each, but for those that customers are spread in.

mod daily;
pub mod env;
mod mappings;
mod metrics;
mod steps;

use std::fmt::Debug;

use futures::future::BoxFuture;
use shared::dynamo::DynamoError;
use shared::events::keeping::{self, Step};
use shared::events::manifest::ManifestError;
use shared::events::{
    Archives, EventSettings, EventTables, Keepers, PeriodRow, PeriodState, Periods,
};
use shared::objects::{ObjectError, Objects};
use shared::outbound::Bus;
use shared::runtime::clock::Clock;
use shared::runtime::deadline::{Deadline, DeadlineExceeded};
use shared::runtime::metrics::Metrics;
use shared::summaries::Summaries;
use shared::tenants::Daily;
use shared::values::Timestamp;
use tracing::{error, info, warn};

pub use self::mappings::{MappingError, MappingRequest, MappingRequestError, Mappings};
use self::metrics::Tick;
pub use self::metrics::metric_names;
use self::steps::Outcome;

/// What the keeper works with. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Keeper {
    /// What is known of periods.
    pub periods: Periods,
    /// What is known of archives.
    pub archives: Archives,
    /// Who else is at work.
    pub keepers: Keepers,
    /// The tables of periods.
    pub tables: EventTables,
    /// Where archives are.
    pub objects: Objects,
    /// How streams are mapped to the projector.
    pub mappings: Mappings,
    /// What is decided by day, and tells of alerts.
    pub daily: Daily,
    /// What other systems are told by.
    pub bus: Bus,
    /// What the projector made of events: days are decided on it, and drops compare with it.
    pub summaries: Summaries,
    /// How long things last.
    pub settings: EventSettings,
    /// How much is done at once.
    pub sizes: Sizes,
    /// Where ticks are counted.
    pub metrics: Metrics,
    /// What time it is.
    pub clock: Clock,
}

/// How much is done at once.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    /// The bytes of memory that a chunk may take. The event that reaches this is its last.
    pub chunk_bytes: usize,
    /// The bytes of a table that are one segment. A larger table has more segments.
    pub segment_bytes: u64,
    /// The segments of a table that are archived at once, each with a chunk in memory.
    pub segments_at_once: usize,
    /// The most items of one page of a scan; where there is none, a page is 1 MiB.
    pub page_items: Option<i32>,
}

impl Default for Sizes {
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
    /// Those that failed. The next tick tries them again.
    pub failed: u64,
    /// True if something is due that was not done: it failed, waits for AWS, or did not fit the deadline.
    pub more_due: bool,
}

/// A step was not done.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// A table.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// An object.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// The mapping of a stream.
    #[error(transparent)]
    Mapping(#[from] MappingError),
    /// The time is up.
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
    /// True if nothing went wrong but that the time was up.
    #[must_use]
    pub fn is_out_of_time(&self) -> bool {
        matches!(
            self,
            Self::DeadlineExceeded(_)
                | Self::Dynamo(DynamoError::DeadlineExceeded(_))
                | Self::Object(ObjectError::DeadlineExceeded(_))
                | Self::Mapping(MappingError::DeadlineExceeded(_))
        )
    }
}

impl Ticked {
    /// Counts how something ended that was done with a period. Returns what its row has become, if it goes on.
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
    /// Does what is due now and fits the deadline. What fails is logged and counted, and holds up no other period.
    ///
    /// In a box, so that all of it is compiled here and not again in every program that awaits it.
    ///
    /// # Errors
    /// [`KeeperError`]: it is not even known what is due.
    pub fn tick(&self, deadline: Deadline) -> BoxFuture<'_, Result<Ticked, KeeperError>> {
        Box::pin(async move {
            let at_work = self.keepers.begin(deadline).await?;
            let ticked = self.tick_at_work(deadline).await;
            // Where that fails it is waited for a little longer.
            let _ = self.keepers.end(at_work, deadline).await;
            ticked
        })
    }

    fn tick_at_work(&self, deadline: Deadline) -> BoxFuture<'_, Result<Ticked, KeeperError>> {
        Box::pin(async move {
            let now = self.clock.now();
            let (mut tick, mut ticked) = (Tick::default(), Ticked::default());
            self.decide_days(now, deadline, &mut tick, &mut ticked).await;
            let mut rows = self.periods.newest_until(|_| false, deadline).await?;
            for period in keeping::planned(&self.settings, now) {
                if rows.iter().any(|row| row.period == period) {
                    continue;
                }
                if let Some(other) = keeping::overlapping(period, &rows) {
                    error!(%period, of = %other.period, "not planned: a period of another length overlaps it");
                    tick.disputed_periods += 1;
                    continue;
                }
                self.periods.plan(period, deadline).await?;
                rows.extend(self.periods.row(period, deadline).await?);
            }
            rows.sort_by_key(|row| row.period.from());
            for row in rows {
                let row = self.keep(row, now, deadline, &mut ticked).await;
                tick.see(&row, &self.settings, now);
            }
            tick.keeper_steps += ticked.done;
            tick.failed_steps += ticked.failed;
            tick.outbound_refused = self.bus.take_refused().into();
            self.metrics.record(&tick, now);
            Ok(ticked)
        })
    }

    /// Does what is due for a period. Returns what its row has become.
    async fn keep(
        &self,
        mut row: PeriodRow,
        now: Timestamp,
        deadline: Deadline,
        ticked: &mut Ticked,
    ) -> PeriodRow {
        while let Some(care) = keeping::stream_care(&row) {
            let ended = self.care_for_stream(care, &row, deadline).await;
            match ticked.count(&row, &care, ended) {
                Some(moved) => row = moved,
                None => break,
            }
        }
        while let Some(due) = keeping::next(&row, &self.settings, now) {
            if due.at > now {
                break;
            }
            let ended = self.step(due.step, &row, deadline).await;
            match ticked.count(&row, &due.step, ended) {
                Some(moved) => row = moved,
                None => break,
            }
        }
        row
    }

    async fn step(
        &self,
        step: Step,
        row: &PeriodRow,
        deadline: Deadline,
    ) -> Result<Outcome, KeeperError> {
        if deadline.has_passed() {
            return Err(DeadlineExceeded.into());
        }
        let to = |state| PeriodRow { state, ..row.clone() };
        match step {
            Step::Make => self.make(row, deadline).await,
            Step::Begin => self.moved(to(PeriodState::Current), deadline).await,
            Step::End => self.moved(to(PeriodState::Past), deadline).await,
            Step::Seal => self.seal(row, deadline).await,
            Step::Archive => self.archive(row, deadline).await,
            Step::Verify => self.verify(row, deadline).await,
            Step::Drop => self.drop_table(row, deadline).await,
            Step::Expire => self.expire(row, deadline).await,
        }
    }

    /// Writes what a row has become, or reads what somebody else has made of it meanwhile.
    async fn moved(&self, row: PeriodRow, deadline: Deadline) -> Result<Outcome, KeeperError> {
        if self.periods.replace(&row, deadline).await? {
            let version = row.version + 1;
            return Ok(Outcome::Moved(PeriodRow { version, ..row }));
        }
        let now = self.periods.row(row.period, deadline).await?;
        Ok(now.map_or(Outcome::Waiting, Outcome::Moved))
    }

    /// Stops everything for a period, until somebody has looked.
    async fn dispute(
        &self,
        row: &PeriodRow,
        why: String,
        deadline: Deadline,
    ) -> Result<Outcome, KeeperError> {
        self.disputed(PeriodRow { dispute: Some(why), heals: false, ..row.clone() }, deadline).await
    }

    /// Stops everything for a period, until its stream has brought what its archive holds.
    async fn dispute_until_folded(
        &self,
        row: &PeriodRow,
        why: String,
        deadline: Deadline,
    ) -> Result<Outcome, KeeperError> {
        self.disputed(PeriodRow { dispute: Some(why), heals: true, ..row.clone() }, deadline).await
    }

    async fn disputed(&self, row: PeriodRow, deadline: Deadline) -> Result<Outcome, KeeperError> {
        let disputed = PeriodRow { state: PeriodState::Disputed, ..row };
        let outcome = self.moved(disputed, deadline).await?;
        // Not if somebody else was ahead, and what was seen was their doing.
        if let Outcome::Moved(PeriodRow { period, dispute: Some(why), .. }) = &outcome {
            error!(%period, "disputed: {why}");
        }
        Ok(outcome)
    }
}

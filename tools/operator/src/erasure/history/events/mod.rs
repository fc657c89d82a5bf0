//! Erasure of events: all of a tenant, or those of one of its customers.
//!
//! ```text
//! mark       marks the row of each period that may have some: its keeper leaves it alone from then on
//! wait       waits for keepers that may not have seen the marks
//! table      deletes the events; a sealed table goes on refusing puts meanwhile
//! archive    puts objects without the events, each exchanged together with its row
//! unmark     puts the manifest again, and removes the mark from the row
//! ```
//!
//! Each of these steps may be repeated, so a run that died is completed by the next one, which finds the marks. At every moment the
//! objects of an archive are those that its rows describe ([`Archives::exchange`]), and each event that is not erased is in its table
//! or in the archive.
//!
//! A period whose archive is being made is left for later: the end of a chunk is the key of an event, and two keepers have to find
//! the same end. The keeper is done with it within minutes. A disputed period is left for later too, because somebody has to look at
//! it first.
//!
//! The keeper seals a table before it notes that. If it dies in between, or finds a mark, the table refuses deletes although its period
//! still takes events by its row. Then the mark is removed, so that the keeper completes the step, and the run fails.
//!
//! Events that are sent after the erasure are recorded. The row of a period says over how many keys a busy customer is spread, and
//! that never changes once the period is made. So the ids of such customers stay in these rows until the tables are dropped.
//!
//! What is folded from events is lowered in the transactions that delete them ([`shared::history::summaries::Removal`]). An event that is only
//! in a table lowers all three of its views. The events of an object lower the witness of their period, together with the object's
//! row. The module `summaries` takes out what else views count of them.

mod archived;
mod counted;

use futures::{StreamExt, TryStreamExt, stream};
use nagare_client::failure::Failure;
use shared::history::events::manifest::ManifestError;
use shared::history::events::{
    Archives, Events, Keepers, Period, PeriodRow, PeriodState, TableSeal, keys,
};
use shared::history::summaries::Summaries;
use shared::platform::dynamo::DynamoError;
use shared::platform::dynamo::item::{Key, Row, text};
use shared::platform::ledger::Ledger;
use shared::platform::objects::{ObjectError, Objects};
use shared::platform::projection::Views;
use shared::platform::runtime::clock::Clock;
use shared::platform::values::Timestamp;

use crate::Result;
use crate::event_scope::EventScope;
use crate::scan::{filtered, partition, scan};

/// Events that are deleted at once.
const AT_ONCE: usize = 16;

#[derive(Debug, Default)]
pub struct ErasedEvents {
    pub in_tables: u64,
    pub in_archives: u64,
    /// Objects that were replaced by objects without such events.
    pub objects_rewritten: u64,
    /// Objects that were deleted, because they had nothing else.
    pub objects_deleted: u64,
    /// Periods that could not be examined yet.
    pub waiting: Vec<Period>,
    /// Periods that take events, or will. Of all other periods that were examined, none has such events any more.
    pub open: Vec<Period>,
    /// The end of the last period that was examined. Later ones were planned meanwhile, and take events.
    pub examined_until: Option<Timestamp>,
}

impl ErasedEvents {
    /// Adds the numbers of a later run. The lists of periods become those of the later run.
    pub fn add(&mut self, later: Self) {
        *self = Self {
            in_tables: self.in_tables + later.in_tables,
            in_archives: self.in_archives + later.in_archives,
            objects_rewritten: self.objects_rewritten + later.objects_rewritten,
            objects_deleted: self.objects_deleted + later.objects_deleted,
            ..later
        };
    }
}

/// Events were not erased, or not completely. Running it again completes it.
#[derive(Debug, thiserror::Error)]
pub enum EventErasureError {
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    #[error("an archive cannot be rewritten: {0}")]
    Object(#[from] ObjectError),
    /// An object is not what was noted of it.
    #[error(
        "{0} is not what was noted of it: see `nagare events verify`, and nothing of it is rewritten"
    )]
    Damaged(String),
    /// Views count what is gone from the tables.
    #[error(
        "{0} views count events that are not folded yet, that keep coming, or that never were there: see whether the projector runs, have \
         whoever sends them stop, and run this again; if that does not help, `nagare audit --tenant` says what differs"
    )]
    NotFolded(u64),
    /// A table that takes events by its row denies deletes.
    #[error(
        "the table of {0} refuses deletes: {1}; if its keeper was interrupted while it sealed the table, run this again after the \
         next tick, and otherwise a permission is missing"
    )]
    Refuses(Period, String),
    /// Another erasure of these events is running.
    #[error(
        "somebody else erases events of {0} at the same time: run this again when they are done"
    )]
    Overtaken(Period),
}

impl From<ManifestError> for EventErasureError {
    fn from(error: ManifestError) -> Self {
        match error {
            ManifestError::Dynamo(error) => error.into(),
            ManifestError::Object(error) => error.into(),
        }
    }
}

impl From<EventErasureError> for Failure {
    fn from(error: EventErasureError) -> Self {
        match error {
            EventErasureError::Dynamo(error) => error.into(),
            EventErasureError::Object(error) => Self::Unreachable(error.to_string()),
            EventErasureError::Damaged(_)
            | EventErasureError::NotFolded(_)
            | EventErasureError::Refuses(..)
            | EventErasureError::Overtaken(_) => Self::No(error.to_string()),
        }
    }
}

/// Whose events to erase, and where.
#[derive(Debug)]
pub struct EventErasure {
    pub scope: EventScope,
    pub events: Events,
    pub archives: Archives,
    pub objects: Objects,
    pub keepers: Keepers,
    /// The views that count the events.
    pub summaries: Summaries,
    /// The ledger, which also has what clients have seen of histories.
    pub ledger: Ledger,
    /// What time it is in the stack.
    pub clock: Clock,
}

impl EventErasure {
    /// An erasure of events of this scope, in these tables and objects.
    pub fn new(
        scope: EventScope,
        events: Events,
        (ledger, views): (&Ledger, &Views),
        objects: Objects,
        clock: Clock,
    ) -> Self {
        Self {
            scope,
            events,
            archives: Archives::new(ledger),
            objects,
            keepers: Keepers::new(ledger),
            summaries: Summaries::new(views),
            ledger: ledger.clone(),
            clock,
        }
    }

    pub async fn run(&self) -> Result<ErasedEvents, EventErasureError> {
        let mut erased = ErasedEvents::default();
        let mut marked = Vec::new();
        for row in self.events.periods().newest_until(|_| false).await? {
            erased.examined_until = erased.examined_until.max(Some(row.period.to()));
            marked.extend(self.mark(row.period, &mut erased).await?);
        }
        self.keepers.wait().await?;
        let mut refused = None;
        for row in marked {
            match self.period(row, &mut erased).await {
                Err(failure @ EventErasureError::Refuses(..)) => refused = Some(failure),
                ended => ended?,
            }
        }
        self.forget_seen().await?;
        refused.map_or(Ok(erased), Err)
    }

    /// Marks a period that may have such events. Returns its row, if there is something to do.
    async fn mark(
        &self,
        period: Period,
        erased: &mut ErasedEvents,
    ) -> Result<Option<PeriodRow>, EventErasureError> {
        loop {
            let Some(row) = self.events.periods().row(period).await? else {
                return Ok(None);
            };
            let mut next = PeriodRow { forgetting: true, ..row.clone() };
            match row.state {
                PeriodState::Planned => {
                    erased.open.push(period);
                    if !self.forget_spread(&mut next) {
                        return Ok(None);
                    }
                    // Nobody is kept from making it.
                    next.forgetting = false;
                }
                PeriodState::Sealed | PeriodState::Archived | PeriodState::Disputed => {
                    erased.waiting.push(period);
                    return Ok(None);
                }
                PeriodState::Dropped if row.expired => return Ok(None),
                PeriodState::Dropped if !row.forgetting && !self.has_objects(period).await? => {
                    return Ok(None);
                }
                PeriodState::Made | PeriodState::Current | PeriodState::Past => {
                    erased.open.push(period);
                }
                PeriodState::Verified | PeriodState::Dropped => {}
            }
            // Also where it is marked: whoever has done that and still lives finds that it was overtaken.
            if self.events.periods().replace(&next).await? {
                let version = row.version + 1;
                return Ok(next.forgetting.then_some(PeriodRow { version, ..next }));
            }
        }
    }

    /// Removes customers from the list of those with more than one key. Returns false if none of them was in it.
    fn forget_spread(&self, row: &mut PeriodRow) -> bool {
        let before = row.spread.len();
        row.spread.retain(|customer, _| !self.scope.has(customer));
        row.spread.len() < before
    }

    async fn has_objects(&self, period: Period) -> Result<bool> {
        let above = format!("{period}$");
        let tenant = &self.scope.tenant_id;
        let (objects, _) = self.archives.of_tenant(tenant, Some(&above)).await?;
        Ok(objects.first().is_some_and(|object| object.period == period))
    }

    /// Erases the events of a marked period, and removes the mark.
    async fn period(
        &self,
        mut row: PeriodRow,
        erased: &mut ErasedEvents,
    ) -> Result<(), EventErasureError> {
        let mut is_there = row.state != PeriodState::Dropped;
        let arn = row.table.as_ref().map(|made| made.arn.clone()).unwrap_or_default();
        let is_sealed = row.state == PeriodState::Verified;
        if is_there {
            if is_sealed {
                is_there = self.seal(&row, &arn, TableSeal::Puts).await?;
            }
            erased.in_tables += match row.tally {
                Some(_) => self.table(&row).await?,
                None => match self.counted_table(&row).await {
                    Ok(number) => number,
                    Err(DynamoError::Denied(why)) if row.state == PeriodState::Past => {
                        let period = row.period;
                        self.unmark(row).await?;
                        return Err(EventErasureError::Refuses(period, why));
                    }
                    Err(failure) => return Err(failure.into()),
                },
            };
        }
        if row.tally.is_some() {
            row = self.archive(row, erased).await?;
        }
        if is_there && is_sealed {
            self.seal(&row, &arn, TableSeal::All).await?;
        }
        let forgotten_at = Some(self.clock.now());
        self.unmark(PeriodRow { forgotten_at, ..row }).await
    }

    async fn unmark(&self, row: PeriodRow) -> Result<(), EventErasureError> {
        let period = row.period;
        match self.events.periods().replace(&PeriodRow { forgetting: false, ..row }).await? {
            true => Ok(()),
            false => Err(EventErasureError::Overtaken(period)),
        }
    }

    /// False if the table is gone.
    async fn seal(&self, row: &PeriodRow, arn: &str, seal: TableSeal) -> Result<bool> {
        match self.events.tables().seal((row.period, arn), seal).await {
            Ok(()) => Ok(true),
            Err(DynamoError::TableMissing(_)) => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    /// Deletes the events from the table of a period that is archived. Returns how many there were.
    async fn table(&self, row: &PeriodRow) -> Result<u64> {
        let table = self.events.tables().table(row.period);
        let mut erased = 0;
        let delete = async |rows: Vec<Row<'_>>| {
            let found: Vec<_> = rows.iter().map(Key::of).collect::<Result<_, _>>()?;
            erased += found.len() as u64;
            let deletes = found.into_iter().map(|key| table.delete(key.into_item(), None));
            stream::iter(deletes).buffer_unordered(AT_ONCE).try_collect::<Vec<_>>().await?;
            Ok(())
        };
        self.scope.in_table(self.events.tables(), row, "events", delete).await?;
        Ok(erased)
    }

    /// Deletes the sets of what clients have seen of their histories.
    async fn forget_seen(&self) -> Result<()> {
        let query = match self.scope.customer() {
            Some(customer) => partition(keys::seen(&customer)),
            None => filtered(
                "begins_with(pk, :pk)",
                vec![(":pk", text(keys::seen_of(&self.scope.tenant_id)))],
            ),
        };
        let mut found = Vec::new();
        scan(self.ledger.table(), "items of the ledger", query, |row| {
            found.push(Key::of(row)?);
            Ok(())
        })
        .await?;
        for key in found {
            self.ledger.delete(key).await?;
        }
        Ok(())
    }
}

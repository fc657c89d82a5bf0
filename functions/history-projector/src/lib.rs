//! The history projector: folds the streams of tenants' events into summaries, and decides on customers by rules.
//!
//! ```text
//! handle          a batch of one shard in, the first record to be delivered again out
//!   tenant_events   folds events into the views of their customers, names and periods
//!   rules           decides on the counts of customers that were folded
//!   metrics         decisions that could not be made
//! ```
//!
//! The period keeper maps the streams of the tables of events to it. It also receives the rows of the facts' stream that
//! [bring back](shared::platform::projection::redriven) a change that a view could not fold, and folds those of its own views.
//!
//! The library `function-stream` has the part that it shares with the projector of the facts: records of a batch, dead letters, the answer. Both read the stream of the facts. This one is given a part of it, so it knows the shards there by other names than
//! the projector, and neither takes marks or checkpoints of the other for its own.
//!
//! An event that its customer has no room for is refused: it is counted with the write of its view, and the first of a day become
//! dead letters.

pub mod env;
mod metrics;
mod rules;
mod tenant_events;

use std::collections::BTreeMap;
use std::fmt;

use function_stream::{EventError, Projection, StreamEvent, StreamResponse, Subject, log_outcome};
use futures::future::BoxFuture;
use shared::history::events::EventTables;
use shared::history::refusals::Refusals;
use shared::history::summaries::SummaryView;
use shared::history::tenants::Rules;
use shared::platform::dynamo::item::Key;
use shared::platform::environment::Environment;
use shared::platform::ledger::Ledger;
use shared::platform::projection::Change;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::env::EnvError;
use tracing::error;

pub use metrics::metric_names;

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

/// Changes by the view that they are counted in.
pub(crate) type ByView<'a> = BTreeMap<SummaryView, Vec<&'a Change>>;

/// The outcome of the changes of one view in a batch.
pub(crate) type Outcome = function_stream::Outcome<Counted>;

/// A view that events are counted in.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) view: SummaryView,
    /// How often the view was emptied, as it was read.
    pub(crate) life: u64,
}

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.view.fmt(f)
    }
}

impl Subject for Counted {
    fn view(&self) -> Key {
        self.view.key()
    }
}

impl Projector {
    /// As its environment says.
    ///
    /// # Errors
    /// [`EnvError`] names the variable.
    pub fn of(environment: &Environment) -> Result<Self, EnvError> {
        let (projection, dynamo) = (Projection::of(environment)?, &environment.dynamo);
        let ledger = Ledger::new(environment.table(env::LEDGER_TABLE)?);
        let prefix = environment.variables.required(env::EVENTS_TABLE_PREFIX)?;
        Ok(Self {
            tables: EventTables::new(dynamo, &prefix),
            rules: Rules::new(&ledger, &projection.views).with_bus(&projection.bus),
            refusals: Refusals::new(&ledger),
            projection,
        })
    }

    /// Folds a batch. The response names the first record that has to be delivered again.
    ///
    /// Boxed, so that it is compiled here once and not in every program that awaits it.
    ///
    /// # Errors
    /// [`EventError`]: nothing was folded.
    pub fn handle(
        &self,
        event: StreamEvent,
        deadline: Deadline,
    ) -> BoxFuture<'_, Result<StreamResponse, EventError>> {
        Box::pin(async move { self.for_work(deadline).fold(event).await })
    }

    /// The same projector, whose tables know the deadline of one batch.
    fn for_work(&self, deadline: Deadline) -> Self {
        let dynamo = &self.projection.views.table().dynamo().for_work(deadline);
        Self {
            projection: self.projection.over(dynamo),
            tables: self.tables.over(dynamo),
            rules: self.rules.over(dynamo),
            refusals: self.refusals.over(dynamo),
        }
    }

    async fn fold(&self, event: StreamEvent) -> Result<StreamResponse, EventError> {
        let read = self.projection.batch(event).of_streams();
        let (table, shard, changes) = read.inspect_err(|e| error!("nothing folded: {e}"))?;
        let period = table.and_then(|name| self.tables.period_of(&name));
        let changes = match period {
            Some(_) => changes,
            None => self.projection.open(changes),
        };
        let by_view = match period {
            Some(period) => tenant_events::by_view(self, &changes, period, shard),
            None => brought_back(&changes),
        };
        let outcomes = tenant_events::fold(self, shard, by_view).await;
        let answer = self.projection.answer(shard, &changes, outcomes, |it| log_outcome!(it));
        Ok(answer.await)
    }
}

/// The redriven changes of views of history. Their view identifies them: their key does not, because a tenant may be named like a kind of
/// fact.
fn brought_back(changes: &[Change]) -> ByView<'_> {
    let mut by_view = ByView::new();
    for change in changes {
        let view = change.redriven.as_ref().and_then(|it| SummaryView::of_key(&it.view));
        if let Some(view) = view {
            by_view.entry(view).or_default().push(change);
        }
    }
    by_view
}

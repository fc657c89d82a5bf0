//! The projector: folds the stream of facts into views.
//!
//! ```text
//! handle      a batch of one shard in, the first record to be delivered again out
//!   event         what Lambda hands over
//!   subject       what a change is about
//!   likes         folds changes of activities
//!   blocks        folds into views with blocks: polls, battles
//!   battles       tells the bus of battles that are over
//!   single        folds into views without anything beside them
//!   events        folds the tables of periods
//!   rules         decides on the counts of customers that were folded
//!   outcome       the outcome of the changes of one subject
//!   dead_letters  what a view cannot fold goes to the dead-letter queue
//!   failure       why changes have to be delivered again
//!   metrics       the metrics of a batch
//! ```
//!
//! Why a change is folded exactly once, however often it comes, is argued in [`shared::platform::projection`].
//!
//! The changes of a batch are grouped by subject, and each view is read and written once, whatever the number of
//! its changes. If a view cannot be written, the batch comes again from its first change on, and folded changes are
//! skipped. A change that no delivery can fold is set aside as a dead letter, and blocks nothing. An event that its customer has no
//! room for is refused: it is counted with the write of its view, and the first of a day become dead letters.

mod battles;
mod blocks;
mod dead_letters;
pub mod env;
mod failure;
mod fold_target;
mod likes;
mod metrics;
mod outcome;
mod rules;
mod single;
mod stream_record;
mod tenant_events;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use shared::history::events::EventTables;
use shared::history::refusals::Refusals;
use shared::history::tenants::Rules;
use shared::platform::dead_letters::UNFOLDABLE;
use shared::platform::dynamo::IN_FLIGHT;
use shared::platform::facts::Facts;
use shared::platform::outbound::Bus;
use shared::platform::projection::{BarrierProgress, Change, Sequence, Shard, Unfolded, Views};
use shared::platform::runtime::clock::Clock;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::metrics::Metrics;
use shared::platform::values::Retention;
use shared::social::polls::PollTally;
use tracing::{error, warn};

pub use dead_letters::DeadLetterQueue;
use dead_letters::LetterOf;
use fold_target::FoldTarget;
use metrics::Batch;
pub use metrics::metric_names;
use outcome::Outcome;
use stream_record::Source;
pub use stream_record::{EventError, Failed, StreamEvent, StreamResponse};

/// The projector. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Projector {
    pub facts: Facts,
    pub views: Views,
    /// The queue for changes that cannot be folded.
    pub dead_letters: DeadLetterQueue,
    /// Where changes are counted.
    pub metrics: Metrics,
    pub clock: Clock,
    /// How long read notifications are kept.
    pub read_notifications: Retention,
    /// The tables of periods, whose events are folded as well.
    pub tables: EventTables,
    /// Decides on the counts of customers, and raises alerts.
    pub rules: Rules,
    /// Counts events that a view refuses.
    pub refusals: Refusals,
    pub bus: Bus,
}

impl Projector {
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
        let dynamo = &self.views.table().dynamo().for_work(deadline);
        Self {
            facts: self.facts.over(dynamo),
            views: self.views.over(dynamo),
            tables: self.tables.over(dynamo),
            rules: self.rules.over(dynamo),
            refusals: self.refusals.over(dynamo),
            ..self.clone()
        }
    }

    pub(crate) fn deadline(&self) -> Deadline {
        self.views.table().deadline()
    }

    async fn fold(&self, event: StreamEvent) -> Result<StreamResponse, EventError> {
        let read = event.read(&self.tables);
        let (source, shard, changes) = read.inspect_err(|e| error!("nothing folded: {e}"))?;
        if let Source::Events(period) = source {
            let by_view = tenant_events::by_view(self, &changes, period, shard);
            let outcomes = tenant_events::fold(self, shard, by_view).await;
            return Ok(self.answer(shard, &changes, outcomes).await);
        }
        let mut by_subject: BTreeMap<_, Vec<&Change>> = BTreeMap::new();
        let changes = self.open(changes);
        for change in &changes {
            let subject = FoldTarget::of(change);
            if let Some(subject) = subject.filter(|it| change.concerns(&it.view())) {
                by_subject.entry(subject).or_default().push(change);
            }
        }
        let (mut activities, mut barriers) = (BTreeMap::new(), Vec::new());
        let mut summaries = BTreeMap::new();
        let mut folds: Vec<BoxFuture<'_, Outcome>> = Vec::new();
        for (subject, changes) in by_subject {
            match subject {
                FoldTarget::Activity(id) => drop(activities.insert(id, changes)),
                FoldTarget::Barrier(_) => barriers.push((subject, changes)),
                FoldTarget::Summary(view) => drop(summaries.insert(view, changes)),
                FoldTarget::Poll(_) => {
                    let fold = blocks::fold::<PollTally>(self, shard, subject, changes);
                    folds.push(fold.boxed());
                }
                FoldTarget::Battle(_) => {
                    let fold = battles::fold(self, shard, subject, changes);
                    folds.push(fold.boxed());
                }
            }
        }
        let mut outcomes = likes::fold(self, shard, activities).await;
        outcomes.extend(stream::iter(folds).buffered(IN_FLIGHT).collect::<Vec<_>>().await);
        outcomes.extend(tenant_events::fold(self, shard, summaries).await);
        // Last, because a barrier says that everything before it is folded: one after a failed change waits.
        let end = first_failed(&outcomes);
        for (barrier, mut changes) in barriers {
            changes.retain(|change| end.is_none_or(|end| change.sequence < end));
            let rows = single::fold::<BarrierProgress>(self, shard, barrier, changes);
            outcomes.push(rows.await);
        }
        Ok(self.answer(shard, &changes, outcomes).await)
    }

    /// The response to a batch, after the dead letters were sent.
    async fn answer(
        &self,
        shard: Shard,
        changes: &[Change],
        outcomes: Vec<Outcome>,
    ) -> StreamResponse {
        let outcomes = self.set_aside(shard, changes, outcomes).await;
        self.report(changes, &outcomes);
        let first = first_failed(&outcomes);
        if first.is_none() {
            self.checkpoint(shard, changes, &outcomes).await;
        }
        let failed = first.map(|sequence| Failed { item_identifier: sequence.to_string() });
        StreamResponse {
            batch_item_failures: failed.into_iter().collect(),
            ..StreamResponse::default()
        }
    }

    /// The changes to fold. A row that brings a change back is replaced by that change.
    fn open(&self, changes: Vec<Change>) -> Vec<Change> {
        let facts = self.facts.table().name();
        let opened = changes.into_iter().filter_map(|change| {
            let sequence = change.sequence;
            // Only the writer writes such rows. An unreadable one stays where it is, among the facts.
            let opened = change.open(facts);
            opened.inspect_err(|failure| error!(%sequence, "not brought back: {failure}")).ok()?
        });
        opened.collect()
    }

    /// Sends dead letters for what views have set aside. If that fails, the changes have to come again.
    async fn set_aside(
        &self,
        shard: Shard,
        changes: &[Change],
        outcomes: Vec<Outcome>,
    ) -> Vec<Outcome> {
        let mut kept = Vec::with_capacity(outcomes.len());
        for outcome in outcomes {
            for Unfolded { sequence, why } in &outcome.unfolded {
                warn!(view = %outcome.subject, %sequence, "set aside: {why}");
            }
            let (view, unfolded) = (outcome.subject.view(), &outcome.unfolded);
            let sent = match unfolded.is_empty() {
                true => Ok(()),
                false => {
                    let letters = unfolded.iter().filter_map(|Unfolded { sequence, why }| {
                        let change = changes.iter().find(|change| change.sequence == *sequence)?;
                        Some(LetterOf { change, reason: UNFOLDABLE, why })
                    });
                    self.dead_letters.send(&view, shard, letters, self.deadline()).await
                }
            };
            kept.push(match sent {
                Ok(()) => outcome,
                Err(failure) => outcome.failed(Arc::new(failure.into())),
            });
        }
        kept
    }

    /// Notes the checkpoint of the shard, if a view needs it. If that fails, marks stay.
    async fn checkpoint(&self, shard: Shard, changes: &[Change], outcomes: &[Outcome]) {
        let is_wanted = outcomes.iter().any(|outcome| outcome.wants_checkpoint);
        let last = changes.iter().map(|change| change.sequence).max();
        let Some(last) = last.filter(|_| is_wanted) else { return };
        let noted = self.views.note_checkpoint(shard, last, self.clock.now());
        if let Err(failure) = noted.await {
            warn!(%shard, "no checkpoint: {failure}");
        }
    }

    fn report(&self, changes: &[Change], outcomes: &[Outcome]) {
        let now = self.clock.now();
        // A change that comes back is late anyway.
        let first = changes.iter().filter(|change| change.redriven.is_none());
        let oldest = first.map(|change| change.at).min();
        let mut batch =
            Batch { outbound_refused: self.bus.take_refused().into(), ..Batch::default() };
        if let Some(at) = oldest.filter(|at| *at <= now) {
            batch.projection_lag.add(now.since(at));
        }
        for outcome in outcomes {
            let Outcome { subject, changes, folded, unfolded, conflicts, failure, .. } = outcome;
            batch.view_conflicts += *conflicts;
            batch.undecided_rules += u64::from(outcome.is_undecided);
            batch.changes_folded += *folded as u64;
            if let Some(failure) = failure {
                batch.views_failed += 1;
                let reason = failure.reason();
                error!(%subject, changes, reason, "not folded: {failure}");
            } else {
                batch.changes_set_aside += unfolded.len() as u64;
            }
        }
        self.metrics.record(&batch, now);
    }
}

/// The sequence number of the first change that is not folded.
fn first_failed(outcomes: &[Outcome]) -> Option<Sequence> {
    let failed = outcomes.iter().filter(|outcome| outcome.failure.is_some());
    failed.filter_map(|outcome| outcome.first).min()
}

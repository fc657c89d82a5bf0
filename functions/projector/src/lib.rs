//! The projector: folds what the stream of facts tells into views.
//!
//! ```text
//! handle      a batch of one shard in, the first record to be delivered again out
//!   event         what Lambda hands over
//!   subject       what a change is about
//!   likes         folds what is about activities
//!   blocks        folds what has a view with blocks beside it: polls, battles
//!   battles       tells of battles that are over
//!   single        folds what has a view for itself
//!   events        folds what is in the tables of periods
//!   rules         decides on the counts of customers that were folded
//!   outcome       what became of the changes of one subject
//!   dead_letters  what a view cannot fold goes to the dead-letter queue
//!   failure       why changes have to be delivered again
//!   metrics       what is counted of a batch
//! ```
//!
//! Why a change is folded exactly once, however often it comes, is argued in [`shared::projection`].
//!
//! The changes of a batch are gathered by subject, and each view is read and written once, whatever the number of
//! its changes. If a view cannot be written, the batch comes again from its first change on. What is folded by then
//! is passed. A change that no delivery can fold is set aside as a dead letter, and holds up nothing.

mod battles;
mod blocks;
mod dead_letters;
pub mod env;
mod event;
mod events;
mod failure;
mod likes;
mod metrics;
mod outcome;
mod rules;
mod single;
mod subject;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use shared::dynamo::IN_FLIGHT;
use shared::events::EventTables;
use shared::facts::Facts;
use shared::outbound::Bus;
use shared::polls::Counted;
use shared::projection::{Change, Passed, Sequence, Shard, Unfolded, Views};
use shared::runtime::clock::Clock;
use shared::runtime::deadline::Deadline;
use shared::runtime::metrics::Metrics;
use shared::tenants::Rules;
use shared::values::Retention;
use tracing::{error, warn};

pub use dead_letters::DeadLetterQueue;
use event::Source;
pub use event::{EventError, Failed, StreamEvent, StreamResponse};
use metrics::Batch;
pub use metrics::metric_names;
use outcome::Outcome;
use subject::Subject;

/// What the projector works with. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Projector {
    /// What is folded.
    pub facts: Facts,
    /// What it is folded into.
    pub views: Views,
    /// Where changes go that cannot be folded.
    pub dead_letters: DeadLetterQueue,
    /// Where changes are counted.
    pub metrics: Metrics,
    /// What time it is.
    pub clock: Clock,
    /// How long notifications are kept that were read.
    pub read_notifications: Retention,
    /// The tables of periods, whose events are folded as well.
    pub tables: EventTables,
    /// What decides on the counts of customers, and tells of alerts.
    pub rules: Rules,
    /// What other systems are told by.
    pub bus: Bus,
}

impl Projector {
    /// Folds a batch. The answer names the first record that has to be delivered again.
    ///
    /// In a box, so that all of it is compiled here and not again in every program that awaits it.
    ///
    /// # Errors
    /// [`EventError`]: nothing was folded.
    pub fn handle(
        &self,
        event: StreamEvent,
        deadline: Deadline,
    ) -> BoxFuture<'_, Result<StreamResponse, EventError>> {
        Box::pin(async move {
            let read = event.read(&self.tables);
            let (source, shard, changes) = read.inspect_err(|e| error!("nothing folded: {e}"))?;
            if let Source::Events(period) = source {
                let by_view = events::by_view(self, &changes, period, shard);
                let outcomes = events::fold(self, shard, by_view, deadline).await;
                return Ok(self.answer(shard, &changes, outcomes, deadline).await);
            }
            let mut by_subject: BTreeMap<_, Vec<&Change>> = BTreeMap::new();
            let changes = self.open(changes);
            for change in &changes {
                let subject = Subject::of(change);
                if let Some(subject) = subject.filter(|it| change.concerns(&it.view())) {
                    by_subject.entry(subject).or_default().push(change);
                }
            }
            let (mut activities, mut barriers) = (BTreeMap::new(), Vec::new());
            let mut summaries = BTreeMap::new();
            let mut folds: Vec<BoxFuture<'_, Outcome>> = Vec::new();
            for (subject, changes) in by_subject {
                match subject {
                    Subject::Activity(id) => drop(activities.insert(id, changes)),
                    Subject::Barrier(_) => barriers.push((subject, changes)),
                    Subject::Summary(view) => drop(summaries.insert(view, changes)),
                    Subject::Poll(_) => {
                        let fold = blocks::fold::<Counted>(self, shard, subject, changes, deadline);
                        folds.push(fold.boxed());
                    }
                    Subject::Battle(_) => {
                        let fold = battles::fold(self, shard, subject, changes, deadline);
                        folds.push(fold.boxed());
                    }
                }
            }
            let mut outcomes = likes::fold(self, shard, activities, deadline).await;
            outcomes.extend(stream::iter(folds).buffered(IN_FLIGHT).collect::<Vec<_>>().await);
            outcomes.extend(events::fold(self, shard, summaries, deadline).await);
            // Last, as they say that all before them is folded: those behind what is not wait.
            let end = first_failed(&outcomes);
            for (barrier, mut changes) in barriers {
                changes.retain(|change| end.is_none_or(|end| change.sequence < end));
                let rows = single::fold::<Passed>(self, shard, barrier, changes, deadline);
                outcomes.push(rows.await);
            }
            Ok(self.answer(shard, &changes, outcomes, deadline).await)
        })
    }

    /// What is answered to a batch, once what was set aside is on its way.
    async fn answer(
        &self,
        shard: Shard,
        changes: &[Change],
        outcomes: Vec<Outcome>,
        deadline: Deadline,
    ) -> StreamResponse {
        let outcomes = self.set_aside(shard, changes, outcomes, deadline).await;
        self.report(changes, &outcomes);
        let first = first_failed(&outcomes);
        if first.is_none() {
            self.checkpoint(shard, changes, &outcomes, deadline).await;
        }
        let failed = first.map(|sequence| Failed { item_identifier: sequence.to_string() });
        StreamResponse {
            batch_item_failures: failed.into_iter().collect(),
            ..StreamResponse::default()
        }
    }

    /// The changes to fold: those of rows that bring one back are replaced by that one.
    fn open(&self, changes: Vec<Change>) -> Vec<Change> {
        let facts = self.facts.table().name();
        let opened = changes.into_iter().filter_map(|change| {
            let sequence = change.sequence;
            // Nobody but the writer writes such rows. What cannot be read stays where it is, among the facts.
            let opened = change.open(facts);
            opened.inspect_err(|failure| error!(%sequence, "not brought back: {failure}")).ok()?
        });
        opened.collect()
    }

    /// Makes dead letters of what views have set aside. Where that fails the changes have to come again.
    async fn set_aside(
        &self,
        shard: Shard,
        changes: &[Change],
        outcomes: Vec<Outcome>,
        deadline: Deadline,
    ) -> Vec<Outcome> {
        let mut kept = Vec::with_capacity(outcomes.len());
        for outcome in outcomes {
            for Unfolded { sequence, why } in &outcome.unfolded {
                warn!(view = %outcome.subject, %sequence, "set aside: {why}");
            }
            let (view, unfolded) = (outcome.subject.view(), &outcome.unfolded);
            let sent = match unfolded.is_empty() {
                true => Ok(()),
                false => self.dead_letters.send(&view, shard, changes, unfolded, deadline).await,
            };
            kept.push(match sent {
                Ok(()) => outcome,
                Err(failure) => outcome.failed(Arc::new(failure.into())),
            });
        }
        kept
    }

    /// Notes how far the shard is worked off, if a view needs that. Where it cannot be noted, marks stay.
    async fn checkpoint(
        &self,
        shard: Shard,
        changes: &[Change],
        outcomes: &[Outcome],
        deadline: Deadline,
    ) {
        let is_wanted = outcomes.iter().any(|outcome| outcome.wants_checkpoint);
        let last = changes.iter().map(|change| change.sequence).max();
        let Some(last) = last.filter(|_| is_wanted) else { return };
        let noted = self.views.note_checkpoint(shard, last, self.clock.now(), deadline);
        if let Err(failure) = noted.await {
            warn!(%shard, "no checkpoint: {failure}");
        }
    }

    fn report(&self, changes: &[Change], outcomes: &[Outcome]) {
        let now = self.clock.now();
        // One that comes back has been late for long.
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

/// Where the first change is that is not folded.
fn first_failed(outcomes: &[Outcome]) -> Option<Sequence> {
    let failed = outcomes.iter().filter(|outcome| outcome.failure.is_some());
    failed.filter_map(|outcome| outcome.first).min()
}

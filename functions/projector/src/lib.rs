//! The projector: folds what the stream of facts tells into views.
//!
//! ```text
//! handle      a batch of one shard in, the first record to be delivered again out
//!   event     what Lambda hands over
//!   subject   what a change is about
//!   likes     folds what is about activities
//!   single    folds what has a view for itself
//!   outcome   what became of the changes of one subject
//!   metrics   what is counted of a batch
//! ```
//!
//! Why a change is folded exactly once, however often it comes, is argued in [`shared::projection`].
//!
//! The changes of a batch are gathered by subject, and each view is read and written once, whatever the number of
//! its changes. If a view cannot be written, the batch comes again from its first change on. What is folded by then
//! is passed.

mod event;
mod likes;
mod metrics;
mod outcome;
mod single;
mod subject;

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use shared::facts::Facts;
use shared::projection::{Change, Passed, Sequence, Views};
use shared::runtime::clock::Clock;
use shared::runtime::deadline::Deadline;
use shared::runtime::metrics::Metrics;
use shared::values::Retention;
use tracing::error;

pub use event::{EventError, Failed, StreamEvent, StreamResponse};
use metrics::Batch;
use outcome::Outcome;
use subject::Subject;

/// What the projector works with. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Projector {
    /// What is folded.
    pub facts: Facts,
    /// What it is folded into.
    pub views: Views,
    /// Where changes are counted.
    pub metrics: Metrics,
    /// What time it is.
    pub clock: Clock,
    /// How long notifications are kept that were read.
    pub read_notifications: Retention,
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
            let read = event.read();
            let (shard, changes) = read.inspect_err(|e| error!("nothing folded: {e}"))?;
            let mut by_activity: BTreeMap<_, Vec<&Change>> = BTreeMap::new();
            let mut by_barrier: BTreeMap<_, Vec<&Change>> = BTreeMap::new();
            for change in &changes {
                match Subject::of(change) {
                    Some(Subject::Activity(id)) => by_activity.entry(id).or_default().push(change),
                    Some(Subject::Barrier(id)) => by_barrier.entry(id).or_default().push(change),
                    None => {}
                }
            }
            let mut outcomes = likes::fold(self, shard, by_activity, deadline).await;
            // Last, as they say that all before them is folded: those behind what is not wait.
            let end = first_failed(&outcomes);
            for (barrier, mut changes) in by_barrier {
                changes.retain(|change| end.is_none_or(|end| change.sequence < end));
                let rows = single::fold::<Passed>(self, shard, barrier.view(), changes, deadline);
                outcomes.push(rows.await);
            }
            self.report(&changes, &outcomes);
            let first = first_failed(&outcomes);
            let failed = first.map(|sequence| Failed { item_identifier: sequence.to_string() });
            Ok(StreamResponse {
                batch_item_failures: failed.into_iter().collect(),
                ..StreamResponse::default()
            })
        })
    }

    fn report(&self, changes: &[Change], outcomes: &[Outcome]) {
        let now = self.clock.now();
        let oldest = changes.iter().map(|change| change.at).min();
        let lag = oldest.map(|at| now.unix_millis().saturating_sub(at.unix_millis()));
        let mut batch = Batch {
            projection_lag: lag.and_then(|lag| u64::try_from(lag).ok()),
            ..Batch::default()
        };
        for Outcome { subject, changes, is_written, conflicts, failure, .. } in outcomes {
            batch.view_conflicts += *conflicts;
            if let Some(failure) = failure {
                batch.views_failed += 1;
                let reason = failure.reason();
                error!(subject, changes, reason, "not folded: {failure}");
            } else if *is_written {
                batch.changes_folded += *changes as u64;
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

//! The projector: folds the stream of facts into views.
//!
//! ```text
//! handle      a batch of one shard in, the first record to be delivered again out
//!   fold_target   what a change is about
//!   likes         folds changes of activities
//!   blocks        folds into views with blocks: polls, battles
//!   battles       tells the bus of battles that are over
//!   single        folds into views without anything beside them
//! ```
//!
//! The library `function-stream` has the part that it shares with the projector of history: records of a batch, dead letters, the answer.
//! Redriven changes of a view of history belong to that projector, and are skipped here.
//!
//! Why a change is folded exactly once, however often it comes, is argued in [`shared::platform::projection`].
//!
//! The changes of a batch are grouped by subject, and each view is read and written once, whatever the number of
//! its changes. If a view cannot be written, the batch comes again from its first change on, and folded changes are
//! skipped. A change that no delivery can fold is set aside as a dead letter, and blocks nothing.

mod battles;
mod blocks;
pub mod env;
mod fold_target;
mod likes;
mod single;

use std::collections::BTreeMap;

use function_stream::{
    EventError, Projection, StreamEvent, StreamResponse, Subject, first_failed, log_outcome,
};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use shared::platform::dynamo::IN_FLIGHT;
use shared::platform::environment::Environment;
use shared::platform::projection::{BarrierProgress, Change};
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::env::EnvError;
use shared::platform::values::Retention;
use shared::social::polls::PollTally;
use tracing::error;

use fold_target::FoldTarget;

/// The projector. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Projector {
    pub projection: Projection,
    /// How long read notifications are kept.
    pub read_notifications: Retention,
}

/// The outcome of the changes of one subject in a batch.
pub(crate) type Outcome = function_stream::Outcome<FoldTarget>;

impl Projector {
    /// As its environment says.
    ///
    /// # Errors
    /// [`EnvError`] names the variable.
    pub fn of(environment: &Environment) -> Result<Self, EnvError> {
        let read_notifications = environment.variables.days(env::READ_NOTIFICATION_DAYS)?;
        Ok(Self { projection: Projection::of(environment)?, read_notifications })
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
        let dynamo = self.projection.views.table().dynamo().for_work(deadline);
        Self { projection: self.projection.over(&dynamo), ..self.clone() }
    }

    async fn fold(&self, event: StreamEvent) -> Result<StreamResponse, EventError> {
        let read = self.projection.batch(event).of_one_stream();
        let (shard, changes) = read.inspect_err(|e| error!("nothing folded: {e}"))?;
        let mut by_subject: BTreeMap<_, Vec<&Change>> = BTreeMap::new();
        let changes = self.projection.open(changes);
        for change in &changes {
            let subject = FoldTarget::of(change);
            if let Some(subject) = subject.filter(|it| change.concerns(&it.view())) {
                by_subject.entry(subject).or_default().push(change);
            }
        }
        let (mut activities, mut barriers) = (BTreeMap::new(), Vec::new());
        let mut folds: Vec<BoxFuture<'_, Outcome>> = Vec::new();
        for (subject, changes) in by_subject {
            match subject {
                FoldTarget::Activity(id) => drop(activities.insert(id, changes)),
                FoldTarget::Barrier(_) => barriers.push((subject, changes)),
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
        // Last, because a barrier says that everything before it is folded: one after a failed change waits.
        let end = first_failed(&outcomes);
        for (barrier, mut changes) in barriers {
            changes.retain(|change| end.is_none_or(|end| change.sequence < end));
            let rows = single::fold::<BarrierProgress>(self, shard, barrier, changes);
            outcomes.push(rows.await);
        }
        let answer = self.projection.answer(shard, &changes, outcomes, |it| log_outcome!(it));
        Ok(answer.await)
    }
}

//! A batch of one shard in, the first record to be delivered again out.

use std::collections::BTreeMap;

use function_stream::{
    EventError, StreamEvent, StreamResponse, Subject, first_failed, log_outcome,
};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use shared::platform::dynamo::IN_FLIGHT;
use shared::platform::projection::{BarrierProgress, Change};
use shared::platform::runtime::deadline::Deadline;
use shared::social::polls::PollTally;
use tracing::error;

use crate::fold_target::{FoldTarget, Outcome};
use crate::projector::Projector;
use crate::{battles, blocks, likes, single};

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

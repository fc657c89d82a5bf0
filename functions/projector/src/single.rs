//! Folds changes into a view without blocks: read, fold, and write unless somebody else has written.

use std::sync::Arc;

use function_stream::Subject;
use shared::platform::dynamo::DynamoError;
use shared::platform::projection::{Change, Fold, Refused, Shard};
use shared::platform::runtime::retry::Backoff;

use crate::fold_target::FoldTarget;
use crate::fold_target::Outcome;
use crate::projector::Projector;

/// Folds changes of one shard of one subject into its view.
pub(crate) async fn fold<F: Fold + Clone + PartialEq>(
    projector: &Projector,
    shard: Shard,
    subject: FoldTarget,
    changes: Vec<&Change>,
) -> Outcome {
    let key = subject.view();
    let mut outcome = Outcome::new(subject, &changes);
    let (views, now) = (&projector.projection.views, projector.projection.clock.now());
    let (facts, mut backoff) = (projector.projection.facts.table().name(), Backoff::default());
    loop {
        let mut view = match views.read_to_fold::<F>(key.clone(), shard, now).await {
            Ok(view) => view,
            Err(failure) => return outcome.refused(failure, &changes),
        };
        let before = view.state.clone();
        let folded = view.fold(shard, &changes, &Refused::new(), facts, now);
        // A change without effect may be folded any number of times.
        if view.state == before && !folded.is_noted {
            return outcome.known(folded);
        }
        match views.write(vec![view.write(key.clone())]).await {
            Ok(true) => return outcome.written(folded),
            Ok(false) => outcome.conflicts += 1,
            Err(failure) => return outcome.refused(failure, &changes),
        }
        if let Err(late) = backoff.wait(projector.projection.deadline()).await {
            return outcome.failed(Arc::new(DynamoError::from(late).into()));
        }
    }
}

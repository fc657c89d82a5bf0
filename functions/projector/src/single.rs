//! Folds changes into a view that stands for itself: read, fold, and write unless somebody else has.

use std::sync::Arc;

use shared::dynamo::item::Key;
use shared::projection::{Change, Fold, Shard};
use shared::runtime::deadline::Deadline;
use shared::runtime::retry::Backoff;

use crate::Projector;
use crate::outcome::Outcome;

/// Folds changes of one shard into the view at a key.
pub(crate) async fn fold<F: Fold + Clone + PartialEq>(
    projector: &Projector,
    shard: Shard,
    key: Key,
    changes: Vec<&Change>,
    deadline: Deadline,
) -> Outcome {
    let mut outcome = Outcome::of(format!("{} {}", key.pk, key.sk), &changes);
    let (views, now) = (&projector.views, projector.clock.now());
    let (facts, mut backoff) = (projector.facts.table().name(), Backoff::default());
    loop {
        let read = views.read::<F>(key.clone(), deadline).await;
        let folded = read.and_then(|mut view| {
            let before = view.state.clone();
            view.fold(shard, &changes, facts, now)?;
            Ok((view.state != before).then_some(view))
        });
        let written = match folded {
            // What changes nothing may be folded any number of times.
            Ok(None) => return outcome,
            Ok(Some(view)) => views.write(vec![view.write(key.clone())], deadline).await,
            Err(failure) => Err(failure),
        };
        match written {
            Ok(true) => return outcome.written(),
            Ok(false) => outcome.conflicts += 1,
            Err(failure) => return outcome.failed(Arc::new(failure)),
        }
        if let Err(late) = backoff.wait(deadline).await {
            return outcome.failed(Arc::new(late.into()));
        }
    }
}

//! Returns: completes the timeline of an [idle viewer](crate::social::follows::idle_viewers) who reads again, from the outboxes
//! of the actors they follow.
//!
//! A return takes the rows of the followed actors in the order of ids, some actors at once, each as a follow does it: it writes
//! entries, and then checks edge and outbox again. No page shows the timeline meanwhile, so no actor is shown one by one, and no
//! hold passes between them. If an edge has no row yet, its follow is still in flight: it writes the row, and then copies the
//! outbox itself.
//!
//! A return ends when its time does, and notes where it continues. An attempt that died may have left entries of an actor whom
//! the viewer has left since. So a later attempt removes the entries of actors whose row says so. Such rows remain for days.
//!
//! **Bounds.** One attempt reads the rows of [`ROWS`] actors at once, and works on [`AT_ONCE`] of them. It advances in the order
//! of ids, and within an actor from the newest activity on, at the pace of the viewer's partition. A return that is cut off does
//! the work of at most [`AT_ONCE`] actors again.

use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt, stream};

use super::{Reconciler, StepEnd};
use crate::platform::dynamo::DynamoError;
use crate::platform::runtime::deadline::Deadline;
use crate::platform::values::{SortKey, ViewerId};
use crate::social::follows::{FolloweeRow, IdleState, IdleViewers, ReturnPosition};

/// Rows that are read at once.
const ROWS: usize = 500;
/// Actors whose outboxes are copied at once.
const AT_ONCE: usize = 16;

/// How far an actor's outbox was copied.
enum Copied {
    Whole,
    UpTo(Option<SortKey>),
}

impl Reconciler {
    /// Completes the timeline of a viewer who [returns](IdleViewers::returns). False if time was up: the next attempt
    /// continues. No actor and no write is begun after `checkpoint_at`.
    ///
    /// # Errors
    /// [`DynamoError`]; another attempt continues.
    pub fn complete_return<'a>(
        &'a self,
        idle_viewers: &'a IdleViewers,
        viewer: &'a ViewerId,
        seen: &'a IdleState,
        checkpoint_at: Deadline,
    ) -> BoxFuture<'a, Result<bool, DynamoError>> {
        Box::pin(async move {
            let (follows, now) = (&self.follows, self.clock.now());
            let begun = follows.begin_return(idle_viewers, viewer, seen, now).await?;
            // Another request has begun it; two complete the same timeline as well as one.
            let (begun, may_have_left) = match begun {
                Some(begun) => (begun, seen.return_position().is_some()),
                None => (follows.idle_state(viewer).await?, true),
            };
            if !idle_viewers.returns(&begun, now) {
                return Ok(true);
            }
            let mut position = begun.return_position().cloned().unwrap_or_default();
            loop {
                // One more, where the next ones begin.
                let from = position.actor.as_ref();
                let mut rows = follows.followee_page(viewer, from, ROWS + 1).await?;
                let next = if rows.len() > ROWS { rows.pop() } else { None };
                let attempt =
                    ReturnAttempt { viewer, position: &position, may_have_left, checkpoint_at };
                if let Some(stopped) = self.copy_all(&attempt, &rows).await? {
                    follows.note_return_position(viewer, &begun, &stopped).await?;
                    return Ok(false);
                }
                let Some(next) = next else { break };
                position = ReturnPosition { actor: Some(next.followee), reached: None };
            }
            self.hold.wait().await;
            Ok(follows.end_return(idle_viewers, viewer, &begun).await?
                || !idle_viewers.returns(&follows.idle_state(viewer).await?, now))
        })
    }

    /// Copies the outboxes of some actors. Returns where to continue if time is up before.
    async fn copy_all(
        &self,
        attempt: &ReturnAttempt<'_>,
        rows: &[FolloweeRow],
    ) -> Result<Option<ReturnPosition>, DynamoError> {
        let copied: Vec<_> = rows.iter().map(|row| self.copy_one(attempt, row)).collect();
        let copied: Vec<_> = stream::iter(copied).buffered(AT_ONCE).try_collect().await?;
        let stopped = rows.iter().zip(copied).find_map(|(row, copied)| match copied {
            Copied::Whole => None,
            Copied::UpTo(reached) => {
                Some(ReturnPosition { actor: Some(row.followee.clone()), reached })
            }
        });
        Ok(stopped)
    }

    async fn copy_one(
        &self,
        ReturnAttempt { viewer, position, may_have_left, checkpoint_at }: &ReturnAttempt<'_>,
        FolloweeRow { followee, state }: &FolloweeRow,
    ) -> Result<Copied, DynamoError> {
        if !state.on && !may_have_left {
            return Ok(Copied::Whole);
        }
        let is_here = position.actor.as_ref() == Some(followee);
        let reached = position.reached.clone().filter(|_| is_here);
        if checkpoint_at.has_passed() {
            return Ok(Copied::UpTo(reached));
        }
        let mut pair = self.pair(viewer, followee, *state, reached);
        pair.shows = false;
        while pair.go_on(*checkpoint_at).await? == StepEnd::Stopped {
            if checkpoint_at.has_passed() {
                return Ok(Copied::UpTo(pair.position));
            }
        }
        Ok(Copied::Whole)
    }
}

struct ReturnAttempt<'a> {
    viewer: &'a ViewerId,
    position: &'a ReturnPosition,
    /// An earlier attempt may have left entries.
    may_have_left: bool,
    checkpoint_at: Deadline,
}

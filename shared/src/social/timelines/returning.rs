//! Completes the timeline of a viewer who was [parked](crate::social::follows::parking), from the outboxes of the actors they follow.
//!
//! The rows of whom the viewer follows are gone through in the order of ids, some actors at once, each as a follow does it: entries are
//! written, and then edge and outbox are checked again. Nobody reads the timeline meanwhile, so no actor is shown one by one, and no
//! hold passes between them. If an edge has no row yet, its follow is still in flight: it writes the row, and then copies the outbox itself.
//!
//! A return ends when its time does, and notes where it goes on. An attempt that died may have left entries of an actor whom the
//! viewer has left since; so whoever goes on with a return removes what is of actors whose row says so. Such rows stay for days.
//!
//! **Bounds.** One attempt reads the rows of [`ROWS`] actors at once, and works on [`AT_ONCE`] of them. It advances in the order of ids,
//! and within an actor from the newest activity on, at the pace of the viewer's partition. A return that is cut off does the
//! work of at most [`AT_ONCE`] actors again.

use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt, stream};

use super::{Reconciler, StepEnd};
use crate::platform::dynamo::DynamoError;
use crate::platform::runtime::deadline::Deadline;
use crate::platform::values::{SortKey, ViewerId};
use crate::social::follows::{FolloweeRow, Parking, Presence, ReturnPosition, Standing};

/// Rows that are read at once.
const ROWS: usize = 500;
/// Actors whose outboxes are copied at once.
const AT_ONCE: usize = 16;

/// How an attempt to complete a timeline ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Return {
    /// The timeline is complete.
    Whole,
    /// Time was up: the next attempt goes on.
    Unfinished,
}

/// How far an actor's outbox was copied.
enum Copied {
    Whole,
    UpTo(Option<SortKey>),
}

impl Reconciler {
    /// Completes the timeline of a viewer who is [away](Standing::Away). No actor and no write is begun after `checkpoint_at`.
    ///
    /// # Errors
    /// [`DynamoError`]; another attempt goes on.
    pub fn bring_back<'a>(
        &'a self,
        parking: &'a Parking,
        viewer: &'a ViewerId,
        presence: &'a Presence,
        checkpoint_at: Deadline,
    ) -> BoxFuture<'a, Result<Return, DynamoError>> {
        Box::pin(async move {
            let (follows, now) = (&self.follows, self.clock.now());
            let is_away = |presence: &Presence| parking.standing(presence, now) == Standing::Away;
            let begun = follows.begin_return(parking, viewer, presence, now).await?;
            // Somebody else has begun it; two complete the same timeline as well as one.
            let (begun, may_have_left) = match begun {
                Some(begun) => (begun, presence.returning().is_some()),
                None => (follows.presence(viewer).await?, true),
            };
            if !is_away(&begun) {
                return Ok(Return::Whole);
            }
            let mut position = begun.returning().cloned().unwrap_or_default();
            loop {
                // One more, where the next ones begin.
                let from = position.actor.as_ref();
                let mut rows = follows.followee_page(viewer, from, ROWS + 1).await?;
                let next = if rows.len() > ROWS { rows.pop() } else { None };
                let of =
                    ReturnAttempt { viewer, position: &position, may_have_left, checkpoint_at };
                if let Some(stopped) = self.copy_all(&of, &rows).await? {
                    follows.note_returned(viewer, &begun, &stopped).await?;
                    return Ok(Return::Unfinished);
                }
                let Some(next) = next else { break };
                position = ReturnPosition { actor: Some(next.followee), reached: None };
            }
            self.hold.wait().await;
            let is_whole = follows.end_return(parking, viewer, &begun).await?
                || !is_away(&follows.presence(viewer).await?);
            Ok(if is_whole { Return::Whole } else { Return::Unfinished })
        })
    }

    /// Copies the outboxes of some actors. Returns where to go on if time is up before.
    async fn copy_all(
        &self,
        of: &ReturnAttempt<'_>,
        rows: &[FolloweeRow],
    ) -> Result<Option<ReturnPosition>, DynamoError> {
        let copied: Vec<_> = rows.iter().map(|row| self.copy_one(of, row)).collect();
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

/// One attempt.
struct ReturnAttempt<'a> {
    viewer: &'a ViewerId,
    position: &'a ReturnPosition,
    /// An earlier attempt may have left entries.
    may_have_left: bool,
    checkpoint_at: Deadline,
}

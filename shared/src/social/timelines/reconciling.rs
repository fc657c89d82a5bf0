//! Reconciles a viewer's entries of one actor with the edge between them.
//!
//! An outbox may be long, and one timeline is one partition, which takes a thousand writes a second. So the outbox is
//! processed from its newest activity on, which is what the viewer looks at. A command that changes the edge meanwhile reconciles
//! the timeline with the new edge, and this work ends; but if the change is a later follow, it starts over for that follow.
//! Otherwise a follow would be acknowledged whose actor only another command shows.
//!
//! A new follower is shown nothing of the actor until the backfill is complete, and a viewer who unfollows is shown nothing
//! from just before the edge changes ([`crate::social::follows::HiddenActors`]). A page may read the entries a moment before or after
//! it reads who is hidden. So a [hold](crate::platform::runtime::hold) passes between hiding the actor and the edge that lets entries in
//! ([`crate::social::follows::Follows::record`]), and between the last entry and showing the actor. A long hold passes between hiding
//! the actor and deleting the first entry, and after the actor is shown.

use std::time::Duration;

use futures::future::{BoxFuture, try_join};

use super::{EntryWrite, Purge, Timelines};
use crate::platform::dynamo::DynamoError;
use crate::platform::ledger::Ledger;
use crate::platform::register::Register;
use crate::platform::runtime::clock::Clock;
use crate::platform::runtime::deadline::Deadline;
use crate::platform::runtime::hold::Hold;
use crate::platform::values::{ActorId, Retention, SortKey, ViewerId};
use crate::social::activities::{Activities, OutboxPage, OutboxRow};
use crate::social::follows::Follows;

/// The time of one step of a caller that notes no progress.
const STEP: Duration = Duration::from_secs(5);

/// Reconciles timelines with edges, for the writer and for repair tools.
#[derive(Debug, Clone)]
pub struct Reconciler {
    activities: Activities,
    pub(super) follows: Follows,
    timelines: Timelines,
    retention: Retention,
    pub(super) clock: Clock,
    pub(super) hold: Hold,
}

impl Reconciler {
    pub fn new(
        ledger: &Ledger,
        timelines: Timelines,
        retention: Retention,
        clock: Clock,
        hold: Hold,
    ) -> Self {
        let (activities, follows) = (Activities::new(ledger), Follows::new(ledger));
        Self { activities, follows, timelines, retention, clock, hold }
    }

    /// Makes a viewer's entries of one actor agree with the state of the edge: all that the actor published within
    /// retention, or nothing.
    ///
    /// # Errors
    /// [`DynamoError`]; reconciling again completes it.
    pub fn reconcile<'a>(
        &'a self,
        viewer: &'a ViewerId,
        actor: &'a ActorId,
        state: Register,
    ) -> BoxFuture<'a, Result<(), DynamoError>> {
        Box::pin(async move {
            let mut pair = self.pair(viewer, actor, state, None);
            let slice = || self.timelines.table().deadline().within(STEP);
            while pair.go_on(slice()).await? == StepEnd::Stopped {}
            Ok(())
        })
    }

    /// One viewer and one actor with this edge, from a position on.
    pub fn pair<'a>(
        &'a self,
        viewer: &'a ViewerId,
        actor: &'a ActorId,
        state: Register,
        position: Option<SortKey>,
    ) -> Pair<'a> {
        let timeline = self.timelines.for_viewer(viewer);
        let has_copied = position.is_some();
        let (passed, is_complete, has_waited, shows) = (0, false, false, true);
        Pair {
            of: self,
            timeline,
            viewer,
            actor,
            state,
            position,
            passed,
            is_complete,
            has_waited,
            has_copied,
            shows,
        }
    }
}

/// One viewer and one actor.
pub struct Pair<'a> {
    of: &'a Reconciler,
    /// Writes go to one timeline, at the pace of its partition.
    timeline: Timelines,
    viewer: &'a ViewerId,
    actor: &'a ActorId,
    pub state: Register,
    /// The activity that was reached, from the newest on.
    pub position: Option<SortKey>,
    /// Activities that were processed.
    pub passed: usize,
    /// True if the timeline is known to agree with the state. The actor still has to be shown: an earlier unfollow may have hidden
    /// them before it read the edge that has overtaken it.
    pub is_complete: bool,
    /// A long hold has passed since the actor was hidden.
    has_waited: bool,
    /// True if this delivery or an earlier one has written entries.
    pub has_copied: bool,
    /// False if the actor is not to be shown at the end, because no page is served before.
    pub(super) shows: bool,
}

/// The result of processing some rows.
enum ChunkOutcome {
    Rows(usize),
    /// The viewer has followed again: start over with this follow.
    Again(Register),
    /// The rest is up to the command that has changed the edge.
    Over,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepEnd {
    /// Nothing is left to do here.
    Whole,
    Stopped,
}

impl Pair<'_> {
    /// Processes the outbox from where it is, beginning nothing after `checkpoint_at`.
    pub async fn go_on(&mut self, checkpoint_at: Deadline) -> Result<StepEnd, DynamoError> {
        if std::mem::take(&mut self.is_complete) {
            match self.show().await? {
                None => return Ok(StepEnd::Whole),
                Some(later) => (self.state, self.position) = (later, None),
            }
        }
        loop {
            let from = self.of.retention.start(self.of.clock.now());
            let (activities, after) = (&self.of.activities, self.position.as_ref());
            let OutboxPage { rows, more } = activities.outbox(self.actor, from, after).await?;
            let passed = match self.state.on {
                true => {
                    self.has_copied |= !rows.is_empty();
                    self.backfill(&rows, checkpoint_at).await?
                }
                false => {
                    self.wait_before_purge(&rows).await;
                    self.clear(&rows, checkpoint_at).await?
                }
            };
            let passed = match passed {
                ChunkOutcome::Rows(passed) => passed,
                ChunkOutcome::Again(state) => {
                    (self.state, self.position) = (state, None);
                    if checkpoint_at.has_passed() {
                        return Ok(StepEnd::Stopped);
                    }
                    continue;
                }
                ChunkOutcome::Over => return Ok(StepEnd::Whole),
            };
            self.passed += passed;
            if let Some(last) = rows[..passed].last() {
                self.position = Some(last.sort_key.clone());
            }
            if passed == rows.len() && !more {
                match self.show().await? {
                    None => return Ok(StepEnd::Whole),
                    Some(later) => (self.state, self.position) = (later, None),
                }
            }
            if checkpoint_at.has_passed() {
                return Ok(StepEnd::Stopped);
            }
        }
    }

    /// Waits, so that a page that has just read that the actor is shown still finds all entries.
    async fn wait_before_purge(&mut self, rows: &[OutboxRow]) {
        if !rows.is_empty() && !std::mem::replace(&mut self.has_waited, true) {
            self.of.hold.long().wait().await;
        }
    }

    /// Shows the actor, now that the timeline is complete. Returns a later follow that the timeline has to be completed for.
    async fn show(&self) -> Result<Option<Register>, DynamoError> {
        let Reconciler { follows, hold, .. } = self.of;
        if !self.state.on || !self.shows {
            return Ok(None);
        }
        if self.has_copied {
            hold.wait().await;
        }
        let followed_at = self.state.changed_at;
        let later = follows.show(self.viewer, self.actor, followed_at).await?;
        if self.has_copied && later.is_none() {
            hold.long().wait().await;
        }
        Ok(later)
    }

    /// Copies rows into the timeline, and then checks again.
    async fn backfill(
        &mut self,
        rows: &[OutboxRow],
        checkpoint_at: Deadline,
    ) -> Result<ChunkOutcome, DynamoError> {
        let passed = self.copy(rows, checkpoint_at).await?;
        let copied = &rows[..passed];
        let (Some(newest), Some(oldest)) = (copied.first(), copied.last()) else {
            return Ok(ChunkOutcome::Rows(0));
        };
        let Reconciler { follows, activities, .. } = self.of;
        let (edge, mut deleted) = try_join(
            follows.state(self.viewer, self.actor),
            activities.deleted_between(self.actor, &oldest.sort_key, &newest.sort_key),
        )
        .await?;
        if let Some(now) = edge.filter(|now| *now != self.state) {
            if now.on {
                return Ok(ChunkOutcome::Again(now));
            }
            self.wait_before_purge(copied).await;
            self.purge(now, copied, self.timeline.table().deadline()).await?.whole()?;
            return Ok(ChunkOutcome::Over);
        }
        // Deleted since they were copied.
        deleted.retain(|row| !copied.contains(row));
        if self.copy(&deleted, self.timeline.table().deadline()).await? < deleted.len() {
            return Err(DynamoError::Throttled);
        }
        Ok(ChunkOutcome::Rows(passed))
    }

    /// Writes rows into the timeline, and removes entries of deleted activities, which may have been there before. Returns
    /// the number of leading rows that are written.
    async fn copy(
        &self,
        rows: &[OutboxRow],
        checkpoint_at: Deadline,
    ) -> Result<usize, DynamoError> {
        let sort_keys: Vec<_> = rows.iter().map(|row| row.sort_key.to_string()).collect();
        let writes = rows.iter().zip(&sort_keys).map(|(row, key)| self.write(row, key));
        Ok(self.timeline.write(writes, checkpoint_at).await?.leading)
    }

    fn write<'w>(&'w self, row: &OutboxRow, sort_key: &'w str) -> EntryWrite<'w> {
        if row.deleted {
            return EntryWrite::Delete { viewer: self.viewer, sort_key };
        }
        let expires_at = self.of.retention.expires_at(row.sort_key.published_at);
        EntryWrite::Put { viewer: self.viewer, sort_key, actor: self.actor, expires_at }
    }

    /// Deletes rows from the timeline.
    async fn clear(
        &self,
        rows: &[OutboxRow],
        checkpoint_at: Deadline,
    ) -> Result<ChunkOutcome, DynamoError> {
        Ok(match self.purge(self.state, rows, checkpoint_at).await? {
            Purge::Done => ChunkOutcome::Rows(rows.len()),
            Purge::Stopped(passed) => ChunkOutcome::Rows(passed),
            Purge::Overtaken => ChunkOutcome::Over,
        })
    }

    async fn purge(
        &self,
        unfollowed: Register,
        rows: &[OutboxRow],
        checkpoint_at: Deadline,
    ) -> Result<Purge, DynamoError> {
        let keys: Vec<_> = rows.iter().map(|row| row.sort_key.clone()).collect();
        let timelines = &self.of.timelines;
        timelines.purge(self.viewer, self.actor, unfollowed, &keys, checkpoint_at).await
    }
}

//! Follow and unfollow: one actor's outbox in one viewer's timeline.
//!
//! An outbox may be long, and one timeline is one partition, which takes a thousand writes a second. So
//! the outbox is gone through from its newest activity on, which is what the viewer looks at; how far
//! that has come is noted every few seconds, and the rest is handed on when half of the time is
//! gone. Whoever changes the edge meanwhile brings the timeline in line with what it says then, and this
//! ends.

use futures::TryFutureExt;
use futures::future::try_join;
use shared::command::{Command, FollowChange};
use shared::follow::FollowState;
use shared::store::{EntryWrite, OutboxPage, OutboxRow, Purge, Settling, Store};
use shared::{ActorId, Deadline, SortKey, ViewerId};

use crate::delivery::SLICE;
use crate::{Delivery, Failure, Outcome, Writer};

impl Writer {
    /// Records what the command says, unless a later one is on record, and settles the timeline by
    /// what is on record then. A command that was overtaken settles too: an earlier delivery of it
    /// may have died half-way.
    pub(crate) async fn follow(
        &self,
        change: FollowChange,
        delivery: &Delivery,
    ) -> Result<Outcome, Failure> {
        let state = self.store.record_follow(&change, delivery.deadline).await?;
        let (viewer, actor) = (&change.follower_id, &change.followee_id);
        let settling = Settling { viewer, actor, origin: &delivery.origin };
        let position = match delivery.may_have_progress() {
            true => self.store.settled_up_to(settling, state, delivery.deadline).await?,
            false => None,
        };
        let mut noted = position.is_some();
        let mut pair = Pair::new(self, viewer, actor, state, position);
        loop {
            match pair.go_on(delivery.slice(), delivery.deadline).await? {
                Step::Whole if noted => {
                    self.store.end_settling(settling, delivery.deadline).await?;
                    return Ok(Outcome::Applied(None));
                }
                Step::Whole => return Ok(Outcome::Applied(None)),
                Step::Stopped => {}
            }
            if let Some(position) = &pair.position {
                self.store.note_settled(settling, state, position, delivery.deadline).await?;
                noted = true;
            }
            if delivery.enough.has_passed() {
                let rest = delivery.rest(Command::Follow(change));
                self.commands.send(&[rest], delivery.end).await?;
                return Ok(Outcome::Continued);
            }
        }
    }

    /// Makes a viewer's entries of one actor agree with the state of the edge: all that the actor
    /// published within retention, or nothing. `deadline` makes the deadline of each step, for those who
    /// have as long as it takes.
    ///
    /// # Errors
    /// [`Failure`]; settling again completes it.
    pub async fn settle(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        state: FollowState,
        deadline: impl Fn() -> Deadline,
    ) -> Result<(), Failure> {
        let mut pair = Pair::new(self, viewer, actor, state, None);
        while pair.go_on(deadline().within(SLICE), deadline()).await? == Step::Stopped {}
        Ok(())
    }
}

/// One viewer and one actor.
struct Pair<'a> {
    writer: &'a Writer,
    /// Writes go to one timeline, and keep that one's pace.
    timeline: Store,
    viewer: &'a ViewerId,
    actor: &'a ActorId,
    /// What the edge says.
    state: FollowState,
    /// The activity that is reached, from the newest on.
    position: Option<SortKey>,
}

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Nothing is left to do here.
    Whole,
    /// Time is up.
    Stopped,
}

impl<'a> Pair<'a> {
    fn new(
        writer: &'a Writer,
        viewer: &'a ViewerId,
        actor: &'a ActorId,
        state: FollowState,
        position: Option<SortKey>,
    ) -> Self {
        let timeline = writer.store.into_timeline_of(viewer);
        Self { writer, timeline, viewer, actor, state, position }
    }

    /// Goes on through the outbox, beginning nothing after `enough`.
    async fn go_on(&mut self, enough: Deadline, deadline: Deadline) -> Result<Step, Failure> {
        loop {
            let from = self.writer.retention.start(self.writer.clock.now());
            let (store, after) = (&self.writer.store, self.position.as_ref());
            let OutboxPage { rows, more } = store.outbox(self.actor, from, after, deadline).await?;
            let passed = match self.state.following {
                true => self.backfill(&rows, enough, deadline).await?,
                false => self.clear(&rows, enough, deadline).await?,
            };
            let Some(passed) = passed else { return Ok(Step::Whole) };
            if let Some(last) = rows[..passed].last() {
                self.position = Some(last.sort_key.clone());
            }
            if passed == rows.len() && !more {
                return Ok(Step::Whole);
            }
            if enough.has_passed() {
                return Ok(Step::Stopped);
            }
        }
    }

    /// Copies rows into the timeline and looks again. Returns how many it passed; nothing if the edge
    /// has changed meanwhile.
    async fn backfill(
        &self,
        rows: &[OutboxRow],
        enough: Deadline,
        deadline: Deadline,
    ) -> Result<Option<usize>, Failure> {
        let passed = self.copy(rows, enough, deadline).await?;
        let copied = &rows[..passed];
        let (Some(newest), Some(oldest)) = (copied.first(), copied.last()) else {
            return Ok(Some(0));
        };
        let (store, viewer, actor) = (&self.writer.store, self.viewer, self.actor);
        let (edge, mut deleted) = try_join(
            store.follow_state(viewer, actor, deadline),
            store.deleted_between(actor, &oldest.sort_key, &newest.sort_key, deadline),
        )
        .map_err(Failure::from)
        .await?;
        if let Some(now) = edge.filter(|now| *now != self.state) {
            if !now.following {
                self.purge(now, copied, deadline, deadline).await?.whole()?;
            }
            return Ok(None);
        }
        // Marked since they were copied.
        deleted.retain(|row| !copied.contains(row));
        if self.copy(&deleted, deadline, deadline).await? < deleted.len() {
            return Err(shared::store::StoreError::Throttled.into());
        }
        Ok(Some(passed))
    }

    /// Writes rows into the timeline. Activities that were deleted are erased instead: they may have
    /// been there since before. Returns how many of the rows, from the first on, are written.
    async fn copy(
        &self,
        rows: &[OutboxRow],
        enough: Deadline,
        deadline: Deadline,
    ) -> Result<usize, Failure> {
        let places: Vec<_> = rows.iter().map(|row| row.sort_key.to_string()).collect();
        let writes = rows.iter().zip(&places).map(|(row, place)| self.write(row, place));
        Ok(self.timeline.write_entries(writes, enough, deadline).await?.leading)
    }

    fn write<'w>(&'w self, row: &OutboxRow, sort_key: &'w str) -> EntryWrite<'w> {
        if row.deleted {
            return EntryWrite::Erase { viewer: self.viewer, sort_key };
        }
        let expires_at = self.writer.retention.expires_at(row.sort_key.published_at);
        EntryWrite::Put { viewer: self.viewer, sort_key, actor: self.actor, expires_at }
    }

    /// Takes rows out of the timeline. Returns how many it passed; nothing if the edge has changed
    /// meanwhile.
    async fn clear(
        &self,
        rows: &[OutboxRow],
        enough: Deadline,
        deadline: Deadline,
    ) -> Result<Option<usize>, Failure> {
        Ok(match self.purge(self.state, rows, enough, deadline).await? {
            Purge::Done => Some(rows.len()),
            Purge::Stopped(passed) => Some(passed),
            Purge::Overtaken => None,
        })
    }

    async fn purge(
        &self,
        unfollowed: FollowState,
        rows: &[OutboxRow],
        enough: Deadline,
        deadline: Deadline,
    ) -> Result<Purge, Failure> {
        let keys: Vec<_> = rows.iter().map(|row| row.sort_key.clone()).collect();
        let store = &self.writer.store;
        Ok(store.purge(self.viewer, self.actor, unfollowed, &keys, enough, deadline).await?)
    }
}

//! Follow and unfollow: one actor's outbox in one viewer's timeline.

use shared::command::FollowChange;
use shared::follow::FollowState;
use shared::store::{EntryWrite, OutboxRow, Purge};
use shared::{ActorId, Deadline, SortKey, ViewerId};

use crate::{Failure, Outcome, Writer};

impl Writer {
    /// Records what the command says, unless a later one is on record, and settles the timeline by
    /// what is on record then. A command that was overtaken settles too: an earlier delivery of it
    /// may have died half-way.
    pub(crate) async fn follow(
        &self,
        change: FollowChange,
        deadline: Deadline,
    ) -> Result<Outcome, Failure> {
        let in_force = self.store.record_follow(&change, deadline).await?;
        let FollowChange { follower_id, followee_id, .. } = change;
        self.settle(&follower_id, &followee_id, in_force, deadline).await?;
        Ok(Outcome::Applied(None))
    }

    /// Makes a viewer's entries of one actor agree with the state of the edge: all that the actor
    /// published within retention, or nothing.
    ///
    /// # Errors
    /// [`Failure`]; settling again completes it.
    pub async fn settle(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        state: FollowState,
        deadline: Deadline,
    ) -> Result<(), Failure> {
        let pair = Pair { writer: self, viewer, actor, deadline };
        if state.following { pair.backfill(state).await } else { pair.clear(state).await }
    }
}

/// One viewer and one actor.
struct Pair<'a> {
    writer: &'a Writer,
    viewer: &'a ViewerId,
    actor: &'a ActorId,
    deadline: Deadline,
}

impl Pair<'_> {
    /// Copies the outbox into the timeline. Activities that were deleted are erased instead: they may
    /// have been there since before.
    async fn backfill(&self, state: FollowState) -> Result<(), Failure> {
        let mut after = None;
        loop {
            let (rows, next) = self.outbox(after.as_ref()).await?;
            self.copy(&rows).await?;
            if !rows.is_empty() && !self.still(state, &rows, after.as_ref()).await? {
                return Ok(());
            }
            match next {
                None => return Ok(()),
                next => after = next,
            }
        }
    }

    /// Takes everything of the actor out, as long as the viewer has not followed again.
    async fn clear(&self, unfollowed: FollowState) -> Result<(), Failure> {
        let mut after = None;
        loop {
            let (rows, next) = self.outbox(after.as_ref()).await?;
            let overtaken = self.purge(unfollowed, &rows).await? == Purge::Overtaken;
            match next {
                Some(next) if !overtaken => after = Some(next),
                _ => return Ok(()),
            }
        }
    }

    async fn outbox(
        &self,
        after: Option<&SortKey>,
    ) -> Result<(Vec<OutboxRow>, Option<SortKey>), Failure> {
        let from = self.writer.retention.start(self.writer.clock.now());
        let page = self.writer.store.outbox(self.actor, from, after, self.deadline).await?;
        Ok((page.rows, page.next))
    }

    async fn copy(&self, rows: &[OutboxRow]) -> Result<(), Failure> {
        let places: Vec<_> = rows.iter().map(|row| row.sort_key.to_string()).collect();
        let writes = rows.iter().zip(&places).map(|(row, place)| self.write(row, place));
        self.writer.store.write_entries(writes, self.deadline).await?;
        Ok(())
    }

    fn write<'w>(&'w self, row: &OutboxRow, sort_key: &'w str) -> EntryWrite<'w> {
        if row.deleted {
            return EntryWrite::Erase { viewer: self.viewer, sort_key };
        }
        let expires_at = self.writer.retention.expires_at(row.sort_key.published_at);
        EntryWrite::Put { viewer: self.viewer, sort_key, actor: self.actor, expires_at }
    }

    /// Looks again, now that the rows are copied, and takes back what should not have been. False if
    /// the viewer has left meanwhile.
    async fn still(
        &self,
        state: FollowState,
        copied: &[OutboxRow],
        after: Option<&SortKey>,
    ) -> Result<bool, Failure> {
        let edge = self.writer.store.follow_state(self.viewer, self.actor, self.deadline).await?;
        if let Some(now) = edge.filter(|now| *now != state && !now.following) {
            self.purge(now, copied).await?;
            return Ok(false);
        }
        let (mut rows, _) = self.outbox(after).await?;
        rows.retain(|row| row.deleted && !copied.contains(row));
        self.copy(&rows).await?;
        Ok(true)
    }

    async fn purge(&self, unfollowed: FollowState, rows: &[OutboxRow]) -> Result<Purge, Failure> {
        let keys: Vec<_> = rows.iter().map(|row| row.sort_key.clone()).collect();
        let store = &self.writer.store;
        Ok(store.purge(self.viewer, self.actor, unfollowed, &keys, self.deadline).await?)
    }
}

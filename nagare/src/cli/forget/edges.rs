//! Whom a person follows, who follows them, and their own timeline.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};
use shared::command::FollowChange;
use shared::follow::FollowState;
use shared::store::{EntryRow, Tombstone};
use shared::{ActorId, SortKey, ViewerId};

use super::{AT_ONCE, Forgetting};
use crate::cli::remote::soon;
use crate::cli::{Failure, progress};

impl Forgetting {
    /// Has everybody leave whose edge to the person is not buried.
    pub(super) async fn followers(&self) -> Result<usize, Failure> {
        let followers = self.store.unburied_followers(&self.actor, soon).await?;
        let bar = progress::bar(followers.len() as u64, "followers unfollowed");
        stream::iter(&followers)
            .map(async |follower| {
                self.leave(follower, &self.actor).await?;
                self.bury_edge(follower, &self.actor).await
            })
            .buffer_unordered(AT_ONCE)
            .try_for_each(async |()| {
                bar.inc(1);
                Ok(())
            })
            .await?;
        bar.finish_and_clear();
        Ok(followers.len())
    }

    /// Has the person leave everybody, which takes their entries out of the timeline.
    pub(super) async fn followees(&self) -> Result<usize, Failure> {
        let followees = self.store.followees(&self.viewer, soon()).await?;
        let bar = progress::bar(followees.len() as u64, "followees unfollowed");
        let left = stream::iter(&followees)
            .map(|followee| self.leave_followee(followee))
            .buffer_unordered(AT_ONCE)
            .inspect(|_| bar.inc(1))
            .try_fold(0, async |sum, left| Ok(sum + usize::from(left)))
            .await?;
        bar.finish_and_clear();
        Ok(left)
    }

    /// False if that was done before.
    async fn leave_followee(&self, followee: &ActorId) -> Result<bool, Failure> {
        if self.store.unburied_edge(&self.viewer, followee, soon()).await?.is_none() {
            return Ok(false);
        }
        let unfollowed = self.leave(&self.viewer, followee).await?;
        self.writer.settle(&self.viewer, followee, unfollowed, soon).await?;
        self.bury_edge(&self.viewer, followee).await?;
        Ok(true)
    }

    /// Records an unfollow that is later than whatever is on record.
    async fn leave(&self, follower: &ViewerId, followee: &ActorId) -> Result<FollowState, Failure> {
        let mut changed_at = self.writer.clock.now();
        loop {
            let state = FollowState { following: false, changed_at };
            let (follower_id, followee_id) = (follower.clone(), followee.clone());
            let change = FollowChange { follower_id, followee_id, state };
            let in_force = self.store.record_follow(&change, soon()).await?;
            if !in_force.following {
                return Ok(in_force);
            }
            // It was said by a clock that is ahead of this one.
            changed_at = in_force.changed_at;
        }
    }

    async fn bury_edge(&self, follower: &ViewerId, followee: &ActorId) -> Result<(), Failure> {
        let edge = Tombstone::Edge(follower.clone(), followee.clone());
        self.store.bury(&edge, self.until, soon()).await?;
        Ok(())
    }

    /// Takes out what is left in the person's timeline: entries past retention that the table has not
    /// dropped yet, and whatever was put there by hand.
    pub(super) async fn clear_own_timeline(&self) -> Result<usize, Failure> {
        let rows = self.store.stored_entries(&self.viewer, soon()).await?;
        let mut by_actor: BTreeMap<ActorId, Vec<SortKey>> = BTreeMap::new();
        for row in &rows {
            match row.target() {
                Some((place, actor)) => by_actor.entry(actor).or_default().push(place),
                None => self.erase_forged(row).await?,
            }
        }
        for (actor, places) in &by_actor {
            self.clear_own_of(actor, places).await?;
        }
        Ok(rows.len())
    }

    async fn erase_forged(&self, row: &EntryRow) -> Result<(), Failure> {
        Ok(self.store.erase_unaccounted(&self.viewer, row, soon()).await?)
    }

    /// Only while the person does not follow the actor: a follow that comes now is a new fact.
    async fn clear_own_of(&self, actor: &ActorId, places: &[SortKey]) -> Result<(), Failure> {
        let (store, viewer, deadline) = (&self.store, &self.viewer, soon());
        let purge = match store.follow_state(viewer, actor, deadline).await? {
            None => store.purge_strangers(viewer, actor, places, deadline).await?,
            Some(state) if state.following => return Ok(()),
            Some(state) => store.purge(viewer, actor, state, places, deadline, deadline).await?,
        };
        Ok(purge.whole()?)
    }
}

//! Whom a person follows, who follows them, and their own timeline.

use std::collections::BTreeMap;

use futures::{StreamExt, TryStreamExt, stream};
use shared::platform::register::Register;
use shared::platform::runtime::hold::Hold;
use shared::platform::values::{ActorId, SortKey};
use shared::social::follows::FollowChange;

use super::marks::Tombstone;
use super::{AT_ONCE, Erasure, for_each};
use crate::audit::social::{delete_unaccounted, followees, stored_entries};
use crate::{Result, progress};

impl Erasure {
    /// Makes everybody with an unmarked edge to the person unfollow them.
    pub(super) async fn followers(&self) -> Result<usize> {
        let followers = self.marks.live_followers(&self.actor).await?;
        for_each(&followers, "followers unfollowed", async |follower| {
            // Whatever they published is deleted, so nothing needs to be hidden from anybody.
            self.leave(async |state| {
                let (follower_id, followee_id) = (follower.clone(), self.actor.clone());
                let change = FollowChange { follower_id, followee_id, state };
                self.follows.record_edge(&change, self.clock.now()).await
            })
            .await?;
            self.mark(Tombstone::Edge(follower.clone(), self.actor.clone())).await
        })
        .await?;
        Ok(followers.len())
    }

    /// Makes the person unfollow everybody, which removes their entries from the timeline.
    pub(super) async fn followees(&self) -> Result<usize> {
        let found = followees(&self.ledger, &self.viewer).await?;
        let bar = progress::bar(found.len() as u64, "followees unfollowed");
        stream::iter(&found)
            .map(|followee| self.leave_followee(followee))
            .buffer_unordered(AT_ONCE)
            .inspect(|_| bar.inc(1))
            .try_fold(0, async |sum, left| Ok(sum + usize::from(left)))
            .await
    }

    /// Makes the person unfollow an actor. False if that was done before.
    async fn leave_followee(&self, followee: &ActorId) -> Result<bool> {
        if self.marks.live_edge(&self.viewer, followee).await?.is_none() {
            return Ok(false);
        }
        let unfollowed = self.leave(async |state| {
            let (follower_id, followee_id) = (self.viewer.clone(), followee.clone());
            let change = FollowChange { follower_id, followee_id, state };
            let (now, hold) = (self.clock.now(), Hold::default());
            let recorded = self.follows.record(&change, now, self.retention, hold).await?;
            Ok(recorded.edge.state)
        });
        let unfollowed = unfollowed.await?;
        self.reconciler.reconcile(&self.viewer, followee, unfollowed).await?;
        self.mark(Tombstone::Edge(self.viewer.clone(), followee.clone())).await?;
        Ok(true)
    }

    /// Records an unfollow that is later than whatever is on record.
    async fn leave(&self, record: impl AsyncFn(Register) -> Result<Register>) -> Result<Register> {
        let mut changed_at = self.clock.now();
        loop {
            let in_force = record(Register { on: false, changed_at }).await?;
            if !in_force.on {
                return Ok(in_force);
            }
            // A clock that is ahead of this one recorded it.
            changed_at = in_force.changed_at;
        }
    }

    /// Removes what is left in the person's timeline: entries past retention that the table has not
    /// dropped yet, and whatever was put there by hand.
    pub(super) async fn clear_own_timeline(&self) -> Result<usize> {
        let rows = stored_entries(&self.timelines, &self.viewer).await?;
        let mut by_actor: BTreeMap<ActorId, Vec<SortKey>> = BTreeMap::new();
        for row in &rows {
            match row.target() {
                Some((sort_key, actor)) => by_actor.entry(actor).or_default().push(sort_key),
                None => {
                    let (timelines, viewer) = (&self.timelines, &self.viewer);
                    delete_unaccounted(timelines, &self.ledger, viewer, row).await?;
                }
            }
        }
        let bar = progress::bar(rows.len() as u64, "entries of their own erased");
        for (actor, sort_keys) in &by_actor {
            self.clear_own_of(actor, sort_keys).await?;
            bar.inc(sort_keys.len() as u64);
        }
        Ok(rows.len())
    }

    /// Removes one actor's entries while the person does not follow them: a follow that comes now is a
    /// new fact.
    async fn clear_own_of(&self, actor: &ActorId, sort_keys: &[SortKey]) -> Result<()> {
        let (timelines, viewer) = (&self.timelines, &self.viewer);
        let purge = match self.follows.state(viewer, actor).await? {
            None => timelines.purge_strangers(viewer, actor, sort_keys).await?,
            Some(state) if state.on => return Ok(()),
            Some(state) => {
                timelines
                    .purge(viewer, actor, state, sort_keys, timelines.table().deadline())
                    .await?
            }
        };
        purge.whole()
    }
}

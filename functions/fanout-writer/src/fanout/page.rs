//! Inserts the entry of an activity into the timelines of some followers, or removes it.
//!
//! After writing, the fan-out checks again what it relied on, the activity and the edges, and removes what it should not
//! have written ([`shared::social::fanout`] argues why that is enough). On a slow table, time may run out in the middle of a page of
//! followers; the fan-out then says how many it has processed.

use std::borrow::Cow;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::future::try_join;
use futures::{StreamExt, TryFutureExt, TryStreamExt, stream};
use shared::platform::runtime::deadline::Deadline;
use shared::platform::values::ViewerId;
use shared::social::fanout::FanOutKind;
use shared::social::follows::{Edge, EdgePage, FollowerRange};
use shared::social::timelines::{EntryWrite, Timelines};

use super::FanOut;
use crate::context::Context;
use crate::failure::Failure;

/// How long a fan-out that has just begun writes with normal priority.
const NORMAL: Duration = Duration::from_secs(1);
/// Purges in flight at once.
const PURGES: usize = 16;

/// How far a write has come through some edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageProgress {
    /// The number of leading edges that are done.
    pub(crate) edges: usize,
    pub(crate) written: u64,
}

/// What a second check after writing says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecondCheck {
    Unchanged,
    /// The activity was deleted meanwhile; the delete removes what was written before.
    Deleted,
}

impl FanOut<'_> {
    /// Reads some followers, including those who left.
    pub(crate) async fn page(
        &self,
        range: FollowerRange,
        after: Option<&str>,
    ) -> Result<EdgePage, Failure> {
        let (follows, size) = (&self.cx.follows, self.cx.limits.page);
        Ok(follows.edges(&self.key.actor_id, range, after, size).await?)
    }

    /// Makes timelines of followers agree with the activity, beginning no call after `begin_until`.
    /// Followers who left are skipped: their unfollow has removed the entry.
    pub(crate) async fn write(
        &self,
        edges: &[Edge],
        begin_until: Deadline,
    ) -> Result<PageProgress, Failure> {
        let followers: Vec<_> =
            edges.iter().enumerate().filter(|(_, edge)| edge.following).collect();
        let expires_at = self.cx.retention.expires_at(self.sort_key.published_at);
        let (sort_key, actor) = (self.entry_key.as_str(), &self.key.actor_id);
        let writes = followers.iter().map(|(_, Edge { follower: viewer, .. })| match self.kind {
            FanOutKind::Insert => EntryWrite::Put { viewer, sort_key, actor, expires_at },
            FanOutKind::Remove => EntryWrite::Delete { viewer, sort_key },
        });
        let written = self.timelines().write(writes, begin_until).await?;
        let edges = followers.get(written.leading).map_or(edges.len(), |(index, _)| *index);
        Ok(PageProgress { edges, written: written.leading as u64 })
    }

    /// Leaves out [idle viewers](shared::social::follows::idle_viewers), as if they had unfollowed: they get no entry. The outbox
    /// row is there already, so a return finds the activity in it. Deletes go to all followers.
    pub(crate) async fn without_idle_viewers(
        &self,
        mut page: EdgePage,
    ) -> Result<EdgePage, Failure> {
        let Context { idle_viewers, follows, clock, .. } = self.cx;
        if self.kind == FanOutKind::Insert && idle_viewers.is_on() {
            let followers = page.edges.iter().filter(|edge| edge.following);
            let viewers: Vec<_> = followers.map(|edge| &edge.follower).collect();
            let idle = follows.find_idle(idle_viewers, &viewers, clock.now()).await?;
            let is_idle = |edge: &&mut Edge| idle.contains(&edge.follower);
            page.edges.iter_mut().filter(is_idle).for_each(|edge| edge.following = false);
        }
        Ok(page)
    }

    fn timelines(&self) -> Cow<'_, Timelines> {
        match self.bulk.load(Ordering::Relaxed) {
            true => Cow::Owned(self.cx.timelines.in_bulk()),
            false => Cow::Borrowed(&self.cx.timelines),
        }
    }

    /// Until when to write before the time is checked. A fan-out that has just begun has normal priority, for a moment only.
    pub(crate) fn slice(&self) -> Deadline {
        let slice = self.cx.delivery.slice();
        if self.bulk.load(Ordering::Relaxed) { slice } else { slice.within(NORMAL) }
    }

    /// Gives way to others from now on, and keeps strictly to the pace, because it takes long.
    pub(crate) fn give_way(&self) {
        self.bulk.store(true, Ordering::Relaxed);
    }

    /// Checks the activity and the edges again, now that entries are written for these.
    pub(crate) async fn check_again(&self, edges: &[Edge]) -> Result<SecondCheck, Failure> {
        let (FanOutKind::Insert, Some(first), Some(last)) =
            (self.kind, edges.first(), edges.last())
        else {
            return Ok(SecondCheck::Unchanged);
        };
        let actor = &self.key.actor_id;
        let (record, former) = try_join(
            self.cx.activities.activity(&self.key),
            self.cx.follows.former_followers(actor, &first.sort_key, &last.sort_key),
        )
        .map_err(Failure::from)
        .await?;
        if record.deleted {
            let written = edges.iter().filter(|edge| edge.following).map(|edge| &edge.follower);
            self.remove(written).await?;
            return Ok(SecondCheck::Deleted);
        }
        let left = former.into_iter().map(|edge| edge.follower);
        let left: Vec<_> = left
            .filter(|viewer| edges.iter().any(|edge| edge.following && edge.follower == *viewer))
            .collect();
        self.purge_all(&left.iter().collect::<Vec<_>>()).await?;
        Ok(SecondCheck::Unchanged)
    }

    /// Removes the entry from timelines whatever the edges say, because the activity was deleted.
    pub(crate) async fn remove(
        &self,
        viewers: impl Iterator<Item = &ViewerId>,
    ) -> Result<(), Failure> {
        let sort_key = self.entry_key.as_str();
        let deletions = viewers.map(|viewer| EntryWrite::Delete { viewer, sort_key });
        self.cx.timelines.write(deletions, self.deadline()).await?.whole()?;
        Ok(())
    }

    /// Those of these viewers who have the entry in their timelines.
    pub(crate) async fn holders<'v>(
        &self,
        viewers: &'v [ViewerId],
    ) -> Result<Vec<&'v ViewerId>, Failure> {
        Ok(self.cx.timelines.holders(viewers, &self.entry_key).await?)
    }

    /// Removes the entry from the timelines of viewers who have left.
    pub(crate) async fn purge_all(&self, viewers: &[&ViewerId]) -> Result<(), Failure> {
        let purges: Vec<_> = viewers.iter().map(|viewer| self.purge(viewer)).collect();
        stream::iter(purges).buffer_unordered(PURGES).try_collect::<()>().await
    }

    async fn purge(&self, viewer: &ViewerId) -> Result<(), Failure> {
        let actor = &self.key.actor_id;
        let state = self.cx.follows.state(viewer, actor).await?;
        if let Some(unfollowed) = state.filter(|state| !state.on) {
            let keys = std::slice::from_ref(&self.sort_key);
            let timelines = &self.cx.timelines;
            timelines.purge(viewer, actor, unfollowed, keys, self.deadline()).await?.whole()?;
        }
        Ok(())
    }
}

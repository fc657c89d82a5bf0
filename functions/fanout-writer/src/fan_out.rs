//! One activity and some of its followers: spread its entry over their timelines, or erase it from
//! them.
//!
//! After some were written the fan-out looks again at what it relied on, the activity and the
//! edges, and takes back what it should not have written (see [`shared::store`] for why that is
//! enough). A table may take so little that time runs out in the middle of a page of followers; then
//! the fan-out says how many it has passed.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::try_join;
use futures::{StreamExt, TryFutureExt, TryStreamExt, stream};
use shared::activity::ActivityKey;
use shared::keys::FollowerRange;
use shared::store::{Edge, EdgePage, EntryWrite, Store, Work};
use shared::{Deadline, SortKey, Timestamp, ViewerId};

use crate::{Delivery, Failure, Writer};

/// How long a fan-out that has just begun goes in front of others.
const IN_FRONT: Duration = Duration::from_secs(1);
/// Purges in flight at once.
const PURGES: usize = 16;

/// The fan-out of one activity.
pub(crate) struct FanOut<'a> {
    pub(crate) writer: &'a Writer,
    pub(crate) key: ActivityKey,
    pub(crate) sort_key: SortKey,
    pub(crate) work: Work,
    pub(crate) delivery: &'a Delivery,
    /// It takes long, so it gives way to others.
    bulk: AtomicBool,
    place: String,
}

/// How far a write has come through some edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Edges, from the first on, that nothing is left to do for.
    pub(crate) edges: usize,
    /// Timelines that were written for them.
    pub(crate) written: u64,
}

/// What a second look after writing says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecondLook {
    /// Go on.
    AsBefore,
    /// The activity was deleted meanwhile; whoever deleted it clears what was written before.
    Deleted,
}

/// A fan-out that came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FanOutEnd {
    /// Entries that it put into timelines, or took out.
    pub entries: u64,
    /// How long that took, if it is known when it began.
    pub took: Option<Duration>,
    /// From the instant of the publish to the last entry, if there is an entry.
    pub latency: Option<Duration>,
}

impl<'a> FanOut<'a> {
    pub(crate) fn new(
        writer: &'a Writer,
        key: ActivityKey,
        sort_key: SortKey,
        work: Work,
        delivery: &'a Delivery,
    ) -> Self {
        let place = sort_key.to_string();
        let bulk = AtomicBool::new(false);
        Self { writer, key, sort_key, work, delivery, bulk, place }
    }

    /// Reads some followers, those who left included.
    pub(crate) async fn page(
        &self,
        range: FollowerRange,
        after: Option<&str>,
    ) -> Result<EdgePage, Failure> {
        let (store, size) = (&self.writer.store, self.writer.sizes.page);
        Ok(store.edges(&self.key.actor_id, range, after, size, self.deadline()).await?)
    }

    /// Brings timelines of followers in line with the activity, beginning no call after `enough`.
    /// Those who left are passed over: they took the entry out when they left.
    pub(crate) async fn write(&self, edges: &[Edge], enough: Deadline) -> Result<Passed, Failure> {
        let followers: Vec<_> =
            edges.iter().enumerate().filter(|(_, edge)| edge.following).collect();
        let expires_at = self.writer.retention.expires_at(self.sort_key.published_at);
        let (sort_key, actor) = (self.place.as_str(), &self.key.actor_id);
        let writes = followers.iter().map(|(_, Edge { follower: viewer, .. })| match self.work {
            Work::Spread => EntryWrite::Put { viewer, sort_key, actor, expires_at },
            Work::Erase => EntryWrite::Erase { viewer, sort_key },
        });
        let written = self.store().write_entries(writes, enough, self.deadline()).await?;
        let edges = followers.get(written.leading).map_or(edges.len(), |(index, _)| *index);
        Ok(Passed { edges, written: written.leading as u64 })
    }

    fn store(&self) -> Cow<'_, Store> {
        match self.bulk.load(Ordering::Relaxed) {
            true => Cow::Owned(self.writer.store.in_bulk()),
            false => Cow::Borrowed(&self.writer.store),
        }
    }

    /// Until when to write before the time is looked at. What nobody has waited long for goes in front of
    /// others for a moment only.
    pub(crate) fn slice(&self) -> Deadline {
        let slice = self.delivery.slice();
        if self.bulk.load(Ordering::Relaxed) { slice } else { slice.within(IN_FRONT) }
    }

    /// It takes long: from now on it gives way to others, and keeps strictly to the pace.
    pub(crate) fn give_way(&self) {
        self.bulk.store(true, Ordering::Relaxed);
    }

    /// Looks at the activity and the edges again, now that entries are written for these.
    pub(crate) async fn look_again(&self, edges: &[Edge]) -> Result<SecondLook, Failure> {
        let (Work::Spread, Some(first), Some(last)) = (self.work, edges.first(), edges.last())
        else {
            return Ok(SecondLook::AsBefore);
        };
        let (store, actor) = (&self.writer.store, &self.key.actor_id);
        let (record, former) = try_join(
            store.activity(&self.key, self.deadline()).map_err(Failure::from),
            store
                .former_followers(actor, &first.place, &last.place, self.deadline())
                .map_err(Failure::from),
        )
        .await?;
        if record.deleted {
            let written = edges.iter().filter(|edge| edge.following).map(|edge| &edge.follower);
            self.erase(written).await?;
            return Ok(SecondLook::Deleted);
        }
        let left = former.into_iter().map(|edge| edge.follower);
        let left: Vec<_> = left
            .filter(|viewer| edges.iter().any(|edge| edge.following && edge.follower == *viewer))
            .collect();
        self.purge_all(&left.iter().collect::<Vec<_>>()).await?;
        Ok(SecondLook::AsBefore)
    }

    /// Takes the entry out of timelines, whatever the edges say: the activity was deleted.
    pub(crate) async fn erase(
        &self,
        viewers: impl Iterator<Item = &ViewerId>,
    ) -> Result<(), Failure> {
        let erasures = viewers.map(|viewer| EntryWrite::Erase { viewer, sort_key: &self.place });
        let (store, deadline) = (&self.writer.store, self.deadline());
        store.write_entries(erasures, deadline, deadline).await?.whole()?;
        Ok(())
    }

    /// Which of these viewers have the entry in their timelines.
    pub(crate) async fn holders<'v>(
        &self,
        viewers: &'v [ViewerId],
    ) -> Result<Vec<&'v ViewerId>, Failure> {
        Ok(self.writer.store.holders(viewers, &self.place, self.deadline()).await?)
    }

    /// Takes the entry out again where viewers have left.
    pub(crate) async fn purge_all(&self, viewers: &[&ViewerId]) -> Result<(), Failure> {
        let purges: Vec<_> = viewers.iter().map(|viewer| self.purge(viewer)).collect();
        stream::iter(purges).buffer_unordered(PURGES).try_collect::<()>().await
    }

    async fn purge(&self, viewer: &ViewerId) -> Result<(), Failure> {
        let (store, actor, deadline) = (&self.writer.store, &self.key.actor_id, self.deadline());
        let state = store.follow_state(viewer, actor, deadline).await?;
        if let Some(unfollowed) = state.filter(|state| !state.following) {
            let keys = std::slice::from_ref(&self.sort_key);
            store.purge(viewer, actor, unfollowed, keys, deadline, deadline).await?.whole()?;
        }
        Ok(())
    }

    /// Its end, now.
    pub(crate) fn end(&self, entries: u64, begun_at: Option<Timestamp>) -> FanOutEnd {
        let now = self.writer.clock.now();
        let spread = self.work == Work::Spread && entries > 0;
        FanOutEnd {
            entries,
            took: begun_at.map(|begun_at| now.since(begun_at)),
            latency: spread.then(|| now.since(self.sort_key.published_at)),
        }
    }

    pub(crate) fn deadline(&self) -> Deadline {
        self.delivery.deadline
    }
}

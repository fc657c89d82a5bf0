//! One activity, every follower: spread its entry over their timelines, or erase it from them.
//!
//! Followers are read a page at a time, so memory does not grow with their number. After each page
//! that was written the fan-out looks again at what it relied on, the activity and the edges, and
//! takes back what it should not have written (see [`shared::store`] for why that is enough).

use std::time::Duration;

use futures::future::try_join;
use futures::{StreamExt, TryFutureExt, TryStreamExt, stream};
use shared::activity::ActivityKey;
use shared::keys::FollowerRange;
use shared::store::{Edge, EdgePage, EntryWrite, Tally, Work};
use shared::{Deadline, SortKey, Timestamp, ViewerId};

use crate::{Failure, Writer};

/// Purges under way at once.
const PURGES: usize = 16;

/// The fan-out of one activity.
pub(crate) struct FanOut<'a> {
    pub(crate) writer: &'a Writer,
    pub(crate) key: ActivityKey,
    pub(crate) sort_key: SortKey,
    pub(crate) work: Work,
    pub(crate) deadline: Deadline,
    pub(crate) redelivered: bool,
    place: String,
}

/// What a second look after writing a page says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecondLook {
    /// Go on.
    AsBefore,
    /// The activity was deleted meanwhile; whoever deleted it clears the pages before this one.
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
    /// `redelivered`: an earlier delivery may have written entries and died before its second look,
    /// so this one looks after all former followers, not only those who left while it ran.
    pub(crate) fn new(
        writer: &'a Writer,
        key: ActivityKey,
        sort_key: SortKey,
        work: Work,
        redelivered: bool,
        deadline: Deadline,
    ) -> Self {
        let place = sort_key.to_string();
        Self { writer, key, sort_key, work, deadline, redelivered, place }
    }

    /// Reads some followers, those who left included.
    pub(crate) async fn page(
        &self,
        range: FollowerRange,
        after: Option<&str>,
    ) -> Result<EdgePage, Failure> {
        let (store, size) = (&self.writer.store, self.writer.sizes.page);
        Ok(store.edges(&self.key.actor_id, range, after, size, self.deadline).await?)
    }

    /// Brings the timelines of a page of followers in line with the activity.
    pub(crate) async fn work(&self, edges: &[Edge]) -> Result<(Tally, SecondLook), Failure> {
        match self.work {
            Work::Erase => Ok((self.erase_page(edges).await?, SecondLook::AsBefore)),
            Work::Spread => {
                let tally = self.write_page(edges).await?;
                Ok((tally, self.look_again(edges).await?))
            }
        }
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

    async fn write_page(&self, edges: &[Edge]) -> Result<Tally, Failure> {
        let expires_at = self.writer.retention.expires_at(self.sort_key.published_at);
        let puts = edges.iter().filter(|edge| edge.following).map(|edge| EntryWrite::Put {
            viewer: &edge.follower,
            sort_key: &self.place,
            actor: &self.key.actor_id,
            expires_at,
        });
        Ok(self.writer.store.write_entries(puts, self.deadline).await?)
    }

    async fn erase_page(&self, edges: &[Edge]) -> Result<Tally, Failure> {
        let erasures = edges
            .iter()
            .map(|edge| EntryWrite::Erase { viewer: &edge.follower, sort_key: &self.place });
        Ok(self.writer.store.write_entries(erasures, self.deadline).await?)
    }

    /// Looks at the activity and the edges again, now that the page is written.
    async fn look_again(&self, edges: &[Edge]) -> Result<SecondLook, Failure> {
        let (Some(first), Some(last)) = (edges.first(), edges.last()) else {
            return Ok(SecondLook::AsBefore);
        };
        let (record, former) = try_join(
            self.writer.store.activity(&self.key, self.deadline).map_err(Failure::from),
            self.former_followers(&first.place, &last.place),
        )
        .await?;
        if record.deleted {
            self.erase_page(edges).await?;
            return Ok(SecondLook::Deleted);
        }
        let left = former.into_iter().map(|edge| edge.follower).filter(|viewer| {
            self.redelivered || edges.iter().any(|e| e.following && e.follower == *viewer)
        });
        self.purge_all(left.collect()).await?;
        Ok(SecondLook::AsBefore)
    }

    /// Takes the entry out again wherever a viewer between two places has left: for a delivery that
    /// died after it wrote there.
    pub(crate) async fn purge_former(&self, first: &str, last: &str) -> Result<(), Failure> {
        let former = self.former_followers(first, last).await?;
        self.purge_all(former.into_iter().map(|edge| edge.follower).collect()).await
    }

    async fn former_followers(&self, first: &str, last: &str) -> Result<Vec<Edge>, Failure> {
        let (store, actor) = (&self.writer.store, &self.key.actor_id);
        Ok(store.former_followers(actor, first, last, self.deadline).await?)
    }

    async fn purge_all(&self, viewers: Vec<ViewerId>) -> Result<(), Failure> {
        let purges: Vec<_> = viewers.iter().map(|viewer| self.purge(viewer)).collect();
        stream::iter(purges).buffer_unordered(PURGES).try_collect::<()>().await
    }

    /// Takes the entry out again where the viewer has left.
    async fn purge(&self, viewer: &ViewerId) -> Result<(), Failure> {
        let (store, actor) = (&self.writer.store, &self.key.actor_id);
        let state = store.follow_state(viewer, actor, self.deadline).await?;
        if let Some(unfollowed) = state.filter(|state| !state.following) {
            let keys = std::slice::from_ref(&self.sort_key);
            store.purge(viewer, actor, unfollowed, keys, self.deadline).await?;
        }
        Ok(())
    }
}

//! One activity, every follower: spread its entry over their timelines, or erase it from them.
//!
//! Followers are read a page at a time, so memory does not grow with their number. After each page
//! that was written the fan-out looks again at what it relied on, the activity and the edges, and
//! takes back what it should not have written (see [`shared::store`] for why that is enough).

use futures::future::try_join;
use futures::{StreamExt, TryStreamExt, stream};
use shared::activity::ActivityKey;
use shared::store::{Edge, EntryWrite, Tally};
use shared::{Deadline, SortKey, ViewerId};

use crate::{Failure, Writer};

/// Purges under way at once.
const PURGES: usize = 16;

/// The fan-out of one activity.
pub(crate) struct FanOut<'a> {
    writer: &'a Writer,
    key: ActivityKey,
    sort_key: SortKey,
    place: String,
    redelivered: bool,
    deadline: Deadline,
}

/// What a second look after writing a page says.
#[derive(PartialEq, Eq)]
enum SecondLook {
    /// Go on.
    AsBefore,
    /// The activity was deleted meanwhile; whoever deleted it clears the pages before this one.
    Deleted,
}

impl<'a> FanOut<'a> {
    /// `redelivered`: an earlier delivery may have written entries and died before its second look,
    /// so this one looks after all former followers, not only those who left while it ran.
    pub(crate) fn new(
        writer: &'a Writer,
        key: ActivityKey,
        sort_key: SortKey,
        redelivered: bool,
        deadline: Deadline,
    ) -> Self {
        let place = sort_key.to_string();
        Self { writer, key, sort_key, place, redelivered, deadline }
    }

    /// Puts the entry into the timeline of every follower.
    pub(crate) async fn spread(&self) -> Result<Tally, Failure> {
        let (mut tally, mut after) = (Tally::default(), None);
        loop {
            let page = self.page(after.as_deref()).await?;
            tally += self.write_page(&page.edges).await?;
            if self.look_again(&page.edges).await? == SecondLook::Deleted {
                return Ok(tally);
            }
            match page.next {
                None => return Ok(tally),
                next => after = next,
            }
        }
    }

    /// Takes the entry out of the timeline of everybody who follows or followed.
    pub(crate) async fn erase(&self) -> Result<Tally, Failure> {
        let (mut tally, mut after) = (Tally::default(), None);
        loop {
            let page = self.page(after.as_deref()).await?;
            tally += self.erase_page(&page.edges).await?;
            match page.next {
                None => return Ok(tally),
                next => after = next,
            }
        }
    }

    async fn page(&self, after: Option<&str>) -> Result<shared::store::EdgePage, Failure> {
        Ok(self.writer.store.edges(&self.key.actor_id, after, self.deadline).await?)
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
        let (store, actor, deadline) = (&self.writer.store, &self.key.actor_id, self.deadline);
        let (record, former) = try_join(
            store.activity(&self.key, deadline),
            store.former_followers(actor, &first.place, &last.place, deadline),
        )
        .await?;
        if record.deleted {
            self.erase_page(edges).await?;
            return Ok(SecondLook::Deleted);
        }
        let left = former.iter().map(|edge| &edge.follower).filter(|viewer| {
            self.redelivered || edges.iter().any(|e| e.following && e.follower == **viewer)
        });
        let purges: Vec<_> = left.map(|viewer| self.purge(viewer)).collect();
        stream::iter(purges).buffer_unordered(PURGES).try_collect::<()>().await?;
        Ok(SecondLook::AsBefore)
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

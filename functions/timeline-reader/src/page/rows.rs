//! What a list of activities consists of.

use std::future::Future;

use shared::platform::dynamo::DynamoError;
use shared::platform::paging::{RowChunk, Slice};
use shared::platform::values::{ActorId, SortKey, ViewerId};
use shared::social::activities::Published;
use shared::social::activities::changes::ActivityFingerprint;
use shared::social::timelines::VisibilitySnapshot;

/// The activity of a row, and its actor.
pub(crate) type Target = (SortKey, ActorId);

/// An activity as it is shown.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) actor: ActorId,
    pub(crate) content: Published,
}

/// A list of activities.
pub(crate) trait Rows: Sync {
    fn rows(
        &self,
        slice: Slice<'_>,
    ) -> impl Future<Output = Result<RowChunk<Target>, DynamoError>> + Send;

    /// Like [`Self::rows`], from a list that no row leaves, in one call. Some of its rows may not be shown.
    fn rows_of_one_list(
        &self,
        slice: Slice<'_>,
    ) -> impl Future<Output = Result<RowChunk<Target>, DynamoError>> + Send {
        self.rows(slice)
    }

    /// True if rows may have moved between the lists that [`Self::rows`] reads, by the records changed around that reading.
    fn may_have_moved(&self, _: Option<&[ActivityFingerprint]>) -> bool {
        false
    }

    /// The viewer of a timeline, who is only shown actors that they follow; `None` for lists that are the same for everybody.
    fn viewer(&self) -> Option<&ViewerId> {
        None
    }

    /// Takes note of each view that the page is made with.
    fn note(&self, _: &VisibilitySnapshot) {}

    /// True if the list shows an activity with this content.
    fn shows(&self, _: &Published) -> bool {
        true
    }
}

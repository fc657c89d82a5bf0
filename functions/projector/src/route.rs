//! Which views a change is folded into: one line for each projection.

use std::fmt;

use shared::dynamo::DynamoError;
use shared::dynamo::item::Key;
use shared::likes::{self, LikeCount};
use shared::projection::{Change, Folded, Shard, Views};
use shared::runtime::deadline::Deadline;
use shared::values::{ActivityId, Timestamp};

/// A view.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum View {
    /// How many like an activity.
    LikeCount(ActivityId),
}

impl View {
    /// The views that depend on a fact.
    pub(crate) fn of(change: &Change) -> impl Iterator<Item = Self> {
        likes::keys::of_key(&change.key).map(|(_, activity)| Self::LikeCount(activity)).into_iter()
    }

    /// Where it is.
    pub(crate) fn key(&self) -> Key {
        match self {
            Self::LikeCount(activity) => likes::keys::count(activity),
        }
    }

    pub(crate) async fn fold(
        &self,
        views: &Views,
        shard: Shard,
        changes: &[&Change],
        facts: &str,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<Folded, DynamoError> {
        match self {
            Self::LikeCount(_) => {
                let key = self.key();
                views.fold::<LikeCount>(key, shard, changes, facts, now, deadline).await
            }
        }
    }
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LikeCount(activity) => write!(f, "likes of {activity}"),
        }
    }
}

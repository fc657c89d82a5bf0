//! How many like an activity: read from the view that [`crate::notifications`] folds.

use std::collections::HashMap;

use super::{Standing, keys};
use crate::dynamo::DynamoError;
use crate::dynamo::item::Key;
use crate::projection::{Own, Recent, Views};
use crate::runtime::deadline::Deadline;
use crate::values::{ActivityId, ViewerId};

/// The counts. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LikeCounts {
    views: Views,
}

/// How many like an activity, and what is known of whom that counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LikeCount {
    /// How many.
    pub count: u64,
    recent: Recent<bool>,
}

impl LikeCount {
    /// What somebody is shown, of whom it is on record whether they like it: the count is that of the moment in which this
    /// was counted ([`recent`](crate::projection::recent)).
    #[must_use]
    pub fn standing(&self, viewer: &ViewerId, likes: bool) -> Standing {
        let counted = match self.recent.of(viewer) {
            Own::Told(counted) => counted,
            Own::Nothing => false,
            // Where nobody is counted they are not, whatever they have said since.
            Own::Unknown => {
                return Standing { count: self.count, liked: Some(likes && self.count > 0) };
            }
        };
        let others = self.count.saturating_sub(u64::from(counted));
        Standing { count: others + u64::from(likes), liked: Some(likes) }
    }
}

impl LikeCounts {
    /// Those among these views.
    #[must_use]
    pub fn new(views: &Views) -> Self {
        Self { views: views.clone() }
    }

    /// How many like each of these activities: none of them twice, and at most
    /// [`BATCH_GET`](crate::dynamo::BATCH_GET). Those that nobody ever liked are left out.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn of(
        &self,
        activities: &[ActivityId],
        deadline: Deadline,
    ) -> Result<HashMap<ActivityId, LikeCount>, DynamoError> {
        let keys = activities.iter().map(|activity| keys::count(activity).into_item());
        let rows = self.views.table().batch_get(keys.collect(), deadline).await?;
        let counts = rows.iter().map(|row| {
            let activity = keys::counted(&Key::of(row)?);
            let activity = activity.ok_or_else(|| row.corrupt("pk", "the key of a count"))?;
            let count = u64::try_from(row.number("count")?).unwrap_or(0);
            Ok((activity, LikeCount { count, recent: Recent::read(row)? }))
        });
        counts.collect()
    }
}

//! How many like an activity: read from the view that [`crate::notifications`] folds.

use std::collections::HashMap;

use super::keys;
use crate::dynamo::DynamoError;
use crate::dynamo::item::Key;
use crate::projection::Views;
use crate::runtime::deadline::Deadline;
use crate::values::ActivityId;

/// The counts. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LikeCounts {
    views: Views,
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
    ) -> Result<HashMap<ActivityId, u64>, DynamoError> {
        let keys = activities.iter().map(|activity| keys::count(activity).into_item());
        let rows = self.views.table().batch_get(keys.collect(), deadline).await?;
        let counts = rows.iter().map(|row| {
            let activity = keys::counted(&Key::of(row)?);
            let activity = activity.ok_or_else(|| row.corrupt("pk", "the key of a count"))?;
            Ok((activity, u64::try_from(row.number("count")?).unwrap_or(0)))
        });
        counts.collect()
    }
}

//! Counts of likes: a part of the views that [`crate::social::notifications`] folds.

use std::collections::HashMap;

use super::count_cache::DualInstant;
use super::{LikeCountCache, LikeSummary, RecordedLike, keys};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{Item, Key, Row};
use crate::platform::projection::caller_part::{ATTEMPTS, VERSION, is_in_doubt};
use crate::platform::projection::{Own, Recent, Views};
use crate::platform::values::{ActivityId, Timestamp, ViewerId};

/// The counts. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LikeCounts {
    views: Views,
}

/// The number of likes of an activity, and the people whose likes were counted last.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LikeCount {
    /// Below zero for a moment, if an undo is counted before its like.
    pub(crate) count: i64,
    pub(crate) recent: Recent<bool>,
    /// The version of the view that was read.
    pub(crate) version: u64,
}

impl LikeCount {
    /// The attribute of its view, beside those of [`Recent`].
    pub(crate) const ATTRIBUTE: &str = "count";

    pub(crate) fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let version = row.count(VERSION)?;
        Ok(Self { count: row.number(Self::ATTRIBUTE)?, recent: Recent::read(row)?, version })
    }

    /// The likes that there are.
    pub fn count(&self) -> u64 {
        u64::try_from(self.count).unwrap_or(0)
    }

    /// The summary for a viewer whose like is known, as well as what is counted of them. The count
    /// is of the moment in which that like was counted ([`recent`](crate::platform::projection::caller_part)).
    fn summary(&self, likes: bool, counted: Own<bool>) -> LikeSummary {
        let counted = match counted {
            Own::Counted(counted) => counted.unwrap_or(false),
            // The row is folded. Or what is counted is unknown: if nobody is, this viewer is not
            // counted either.
            Own::Noted | Own::Unknown => {
                return LikeSummary { count: self.count(), liked: Some(likes && self.count > 0) };
            }
        };
        let others = self.count().saturating_sub(u64::from(counted));
        LikeSummary { count: others + u64::from(likes), liked: Some(likes) }
    }
}

impl LikeCounts {
    pub fn new(views: &Views) -> Self {
        Self { views: views.clone() }
    }

    /// The counts of these activities, which must differ, at most
    /// [`BATCH_GET`](crate::platform::dynamo::BATCH_GET). Leaves out activities that nobody ever liked.
    pub async fn read(
        &self,
        activities: &[ActivityId],
    ) -> Result<HashMap<ActivityId, LikeCount>, DynamoError> {
        read(&self.views.table().batch_get(keys_of(activities)).await?)
    }

    /// The summaries of these counts for a viewer with these rows. Reads what is counted of the
    /// viewer if a row may not be folded yet.
    pub async fn summaries(
        &self,
        mut counts: HashMap<ActivityId, LikeCount>,
        viewer: &ViewerId,
        rows: &HashMap<ActivityId, RecordedLike>,
        now: Timestamp,
    ) -> Result<HashMap<ActivityId, LikeSummary>, DynamoError> {
        let mut summaries = HashMap::with_capacity(counts.len());
        for _ in 0..ATTEMPTS {
            let mut in_doubt = HashMap::new();
            for (activity, count) in &counts {
                let (row, counted) = (rows.get(activity), count.recent.own(viewer));
                let is_in_doubt = row.is_some_and(|row| is_in_doubt(row.recorded_at, now));
                if counted == Own::Noted && is_in_doubt {
                    let key = count.recent.note_of(&keys::count(activity), viewer);
                    in_doubt.insert(activity.clone(), key);
                }
                let likes = row.is_some_and(|row| row.state.on);
                summaries.insert(activity.clone(), count.summary(likes, counted));
            }
            let notes = self.views.notes(in_doubt.values().cloned().collect()).await?;
            let mut older = Vec::new();
            for (activity, key) in in_doubt {
                let Some(count) = counts.get(&activity) else { continue };
                let likes = rows.get(&activity).is_some_and(|row| row.state.on);
                match count.recent.noted(notes.get(&key), count.version) {
                    Some(counted) => {
                        summaries.insert(activity, count.summary(likes, counted));
                    }
                    None => older.push(activity),
                }
            }
            if older.is_empty() {
                break;
            }
            counts = self.read(&older).await?;
        }
        Ok(summaries)
    }

    /// The counts for a page, from the [cache](LikeCountCache) or from an eventually consistent
    /// read. Activities that nobody ever liked have an empty count.
    pub async fn lately(
        &self,
        activities: &[ActivityId],
        kept: &LikeCountCache,
        now: Timestamp,
    ) -> Result<HashMap<ActivityId, LikeCount>, DynamoError> {
        let now = DualInstant::now(now);
        let (mut counts, mut left) = (HashMap::new(), Vec::new());
        for activity in activities {
            match kept.get(activity, now) {
                Some(count) => drop(counts.insert(activity.clone(), count)),
                None => left.push(activity.clone()),
            }
        }
        if left.is_empty() {
            return Ok(counts);
        }
        let rows = self.views.table().batch_get_eventual(keys_of(&left)).await?;
        let mut found = read(&rows)?;
        for activity in left {
            let count = found.remove(&activity).unwrap_or_default();
            kept.keep(&activity, &count, now);
            counts.insert(activity, count);
        }
        Ok(counts)
    }
}

fn keys_of(activities: &[ActivityId]) -> Vec<Item> {
    activities.iter().map(|activity| keys::count(activity).into_item()).collect()
}

fn read(rows: &[Row<'_>]) -> Result<HashMap<ActivityId, LikeCount>, DynamoError> {
    let counts = rows.iter().map(|row| {
        let activity = keys::counted(&Key::of(row)?);
        let activity = activity.ok_or_else(|| row.corrupt("pk", "the key of a count"))?;
        Ok((activity, LikeCount::read(row)?))
    });
    counts.collect()
}

//! How many like an activity: a view.

use std::collections::HashMap;

use super::{LikeState, keys};
use crate::dynamo::DynamoError;
use crate::dynamo::item::{Item, Key, Row, number};
use crate::projection::{Change, Fold, Views};
use crate::runtime::deadline::Deadline;
use crate::values::ActivityId;

/// How many viewers like one activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LikeCount {
    count: i64,
}

impl LikeCount {
    /// The number.
    #[must_use]
    pub fn get(self) -> u64 {
        u64::try_from(self.count).unwrap_or(0)
    }
}

impl Fold for LikeCount {
    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        Ok(Self { count: row.number("count")? })
    }

    fn write(&self) -> Item {
        Item::from([("count".to_owned(), number(self.count))])
    }

    fn fold(&mut self, change: &Change, facts: &str) -> Result<(), DynamoError> {
        let liked = |item: &Option<Item>| match item {
            None => Ok(0),
            Some(item) => {
                let row = Row { table: facts, item: item.clone() };
                LikeState::read(&row).map(|state| i64::from(state.liked))
            }
        };
        self.count += liked(&change.after)? - liked(&change.before)?;
        Ok(())
    }
}

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
            Ok((activity, LikeCount::read(row)?.get()))
        });
        counts.collect()
    }
}

//! Likes among the facts.

use std::collections::HashSet;

use super::{LikeChange, LikeState, keys};
use crate::dynamo::item::{Key, Row, text, truth};
use crate::dynamo::{Condition, DynamoError, Query};
use crate::facts::Facts;
use crate::runtime::deadline::Deadline;
use crate::values::{ActivityId, Timestamp, ViewerId};

/// The likes. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Likes {
    facts: Facts,
}

/// An activity that a viewer likes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Like {
    /// Since when: the `at` of the command that won.
    pub liked_at: Timestamp,
    /// The activity.
    pub activity_id: ActivityId,
}

impl Likes {
    /// Those among these facts.
    #[must_use]
    pub fn new(facts: &Facts) -> Self {
        Self { facts: facts.clone() }
    }

    /// Records a like or an undo, unless one that wins over it is on record.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn record(&self, change: &LikeChange, deadline: Deadline) -> Result<(), DynamoError> {
        let LikeChange { viewer_id, activity_id, state } = change;
        let mut item = keys::like(viewer_id, activity_id).into_item();
        item.extend(state.write());
        // On a tie the undo wins.
        let later = match state.liked {
            true => Condition::new("attribute_not_exists(changed_at) OR changed_at < :at"),
            false => Condition::new(
                "attribute_not_exists(changed_at) OR changed_at < :at \
                 OR (changed_at = :at AND liked = :yes)",
            )
            .value(":yes", truth(true)),
        };
        let later = later.value(":at", text(state.changed_at.to_string()));
        self.facts.table().put_if(item, later, deadline).await.map(|_| ())
    }

    /// What is on record of a viewer and an activity, if anything.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn state(
        &self,
        viewer: &ViewerId,
        activity: &ActivityId,
        deadline: Deadline,
    ) -> Result<Option<LikeState>, DynamoError> {
        let key = keys::like(viewer, activity).into_item();
        let row = self.facts.table().get(key, deadline).await?;
        row.as_ref().map(LikeState::read).transpose()
    }

    /// All that a viewer likes, the latest first, and of those liked at one instant the greater id first.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn of_viewer(
        &self,
        viewer: &ViewerId,
        deadline: Deadline,
    ) -> Result<Vec<Like>, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::of_viewer(viewer)))],
            ..Query::default()
        };
        let mut likes = Vec::new();
        for row in self.facts.table().all(query, || deadline).await? {
            let LikeState { liked, changed_at: liked_at } = LikeState::read(&row)?;
            if liked {
                likes.push(Like { liked_at, activity_id: activity_of(&row)? });
            }
        }
        likes.sort_unstable_by(|one, other| other.cmp(one));
        Ok(likes)
    }

    /// Which of these activities a viewer likes: none of them twice, and at most
    /// [`BATCH_GET`](crate::dynamo::BATCH_GET).
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn liked(
        &self,
        viewer: &ViewerId,
        activities: &[ActivityId],
        deadline: Deadline,
    ) -> Result<HashSet<ActivityId>, DynamoError> {
        let keys = activities.iter().map(|activity| keys::like(viewer, activity).into_item());
        let mut liked = HashSet::new();
        for row in self.facts.table().batch_get(keys.collect(), deadline).await? {
            if LikeState::read(&row)?.liked {
                liked.insert(activity_of(&row)?);
            }
        }
        Ok(liked)
    }
}

fn activity_of(row: &Row<'_>) -> Result<ActivityId, DynamoError> {
    let key = keys::of_key(&Key::of(row)?);
    key.map(|(_, activity)| activity).ok_or_else(|| row.corrupt("sk", "the id of an activity"))
}

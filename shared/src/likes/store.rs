//! Likes among the facts.

use std::collections::HashSet;

use super::{LikeChange, LikeState, Recorded, keys};
use crate::dynamo::item::{Key, Row, text, truth};
use crate::dynamo::{Changed, DynamoError, Query, Update};
use crate::facts::Facts;
use crate::ledger::FORGET_AT;
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

    /// Records a like or an undo, unless one that wins over it is on record. A like is remembered even then, if
    /// it is the earliest.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn record(&self, change: &LikeChange, deadline: Deadline) -> Result<(), DynamoError> {
        let LikeChange { viewer_id, activity_id, state } = change;
        let key = || keys::like(viewer_id, activity_id).into_item();
        let at = || (":at", text(state.changed_at.to_string()));
        let table = self.facts.table();
        if !state.liked {
            // On a tie the undo wins.
            let undo = Update {
                expression: "SET liked = :no, changed_at = :at REMOVE #forget",
                names: vec![("#forget", FORGET_AT)],
                condition: Some(
                    "attribute_not_exists(changed_at) OR changed_at < :at \
                     OR (changed_at = :at AND liked = :yes)",
                ),
                values: vec![at(), (":yes", truth(true)), (":no", truth(false))],
            };
            return table.update(key(), undo, deadline).await.map(|_| ());
        }
        let like = Update {
            expression: "SET liked = :yes, changed_at = :at, \
                         first_liked_at = if_not_exists(first_liked_at, :at) \
                         REMOVE #forget",
            names: vec![("#forget", FORGET_AT)],
            condition: Some("attribute_not_exists(changed_at) OR changed_at < :at"),
            values: vec![at(), (":yes", truth(true))],
        };
        let Changed::Refused(there) = table.change(key(), like, deadline).await? else {
            return Ok(());
        };
        // What was erased stays so.
        let is_erased = there.contains_key(FORGET_AT);
        let there = Recorded::read(&table.row(there))?;
        if is_erased || there.first_liked_at.is_some_and(|first| first <= state.changed_at) {
            return Ok(());
        }
        let first = Update {
            expression: "SET first_liked_at = :at",
            condition: Some(
                "attribute_exists(changed_at) AND attribute_not_exists(#forget) \
                 AND (attribute_not_exists(first_liked_at) OR first_liked_at > :at)",
            ),
            names: vec![("#forget", FORGET_AT)],
            values: vec![at()],
        };
        table.update(key(), first, deadline).await.map(|_| ())
    }

    /// What is on record of a viewer and an activity, if anything.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn recorded(
        &self,
        viewer: &ViewerId,
        activity: &ActivityId,
        deadline: Deadline,
    ) -> Result<Option<Recorded>, DynamoError> {
        let key = keys::like(viewer, activity).into_item();
        let row = self.facts.table().get(key, deadline).await?;
        row.as_ref().map(Recorded::read).transpose()
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
            let LikeState { liked, changed_at: liked_at } = Recorded::read(&row)?.state;
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
            if Recorded::read(&row)?.state.liked {
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

//! The owner of an activity, and whether it was deleted: a fact, for folds of facts about activities.
//!
//! It is written after the record, and again after a delete. It has no content of the activity.

use crate::platform::dynamo::item::{Row, text, truth};
use crate::platform::dynamo::{DynamoError, Update, keys};
use crate::platform::facts::Facts;
use crate::platform::values::{ActivityId, ActorId};

/// Who published an activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub actor_id: ActorId,
    /// Deleted, which is permanent.
    pub deleted: bool,
}

keys! {
    /// The activity whose owner has this key.
    pub fn of_key -> ActivityId;
    partitions {
        of_activity(activity: ActivityId) = "activity#{activity}";
    }
    items {
        /// The owner of an activity, among the facts.
        pub key(activity: ActivityId) = of_activity(activity), "owner" in Facts as "owner" {
            says: "who published {activity}",
            most: 287, grows: "nothing: an actor and a mark",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Kept, erased: Tombstone,
        } => activity;
    }
}

impl Owner {
    /// Reads it from a row.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let actor_id = row.parsed("actor", "the id of an actor")?;
        Ok(Self { actor_id, deleted: row.flag("deleted")? })
    }

    /// Records the owner, unless it is on record already, or the activity is recorded as deleted.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn record(&self, facts: &Facts, activity: &ActivityId) -> Result<(), DynamoError> {
        let mark = Update {
            expression: "SET actor = :actor, deleted = :deleted",
            condition: Some(match self.deleted {
                false => "attribute_not_exists(actor)",
                true => "attribute_not_exists(actor) OR deleted <> :deleted",
            }),
            values: vec![
                (":actor", text(self.actor_id.as_str())),
                (":deleted", truth(self.deleted)),
            ],
            ..Update::default()
        };
        facts.table().update(key(activity).into_item(), mark).await.map(|_| ())
    }
}

//! Who published an activity, and whether it was deleted: a fact, for what is folded from facts on activities.
//!
//! It is written once the record says so, and again when it is deleted; what an activity says is not in it.

use crate::dynamo::item::{Key, Row, text, truth};
use crate::dynamo::{DynamoError, Update};
use crate::facts::Facts;
use crate::runtime::deadline::Deadline;
use crate::values::{ActivityId, ActorId};

const PREFIX: &str = "activity#";
const OWNER: &str = "owner";

/// Who published an activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Who.
    pub actor_id: ActorId,
    /// It is deleted, which is for good.
    pub deleted: bool,
}

/// Where it is among the facts who published an activity.
#[must_use]
pub fn key(activity: &ActivityId) -> Key {
    Key { pk: format!("{PREFIX}{activity}"), sk: OWNER.to_owned() }
}

/// The activity, if a key of the facts is one of these.
#[must_use]
pub fn of_key(key: &Key) -> Option<ActivityId> {
    let activity = key.pk.strip_prefix(PREFIX).filter(|_| key.sk == OWNER)?;
    ActivityId::new(activity).ok()
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

    /// Records it, unless that is on record already, or that the activity is deleted.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn record(
        &self,
        facts: &Facts,
        activity: &ActivityId,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
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
        facts.table().update(key(activity).into_item(), mark, deadline).await.map(|_| ())
    }
}

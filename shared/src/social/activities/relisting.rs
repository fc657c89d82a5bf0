//! What an activity should be listed in and is not, for those who check the lists: by hand, or after a restore.

use super::{Activities, ActivityChange, ActivityKey, keys};
use crate::platform::dynamo::DynamoError;
use crate::platform::values::{ActivityId, ActorId, Kind, SortKey};

/// An activity that is not where readers look for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlisted {
    pub actor_id: ActorId,
    pub sort_key: SortKey,
    /// True if its actor's outbox lacks it.
    pub in_outbox: bool,
    /// The kind whose list lacks it.
    pub of_kind: Option<Kind>,
}

impl Activities {
    /// The lists that lack an activity, if any does. Nobody is shown a deleted one, so it lacks in none.
    pub async fn unlisted(&self, activity: &ActivityId) -> Result<Option<Unlisted>, DynamoError> {
        let Some((actor_id, content)) = self.published(activity).await? else {
            return Ok(None);
        };
        let key = ActivityKey { activity_id: activity.clone(), actor_id };
        let sort_key = content.sort_key(&key);
        let row = keys::row_of_kind(&key.actor_id, &content.kind, &sort_key);
        let of_kind = self.ledger.get(row).await?.is_none().then(|| content.kind.clone());
        let in_outbox = self.listed(&key.actor_id, &sort_key).await?.is_none();
        let lacks = in_outbox || of_kind.is_some();
        // Its kind may have changed meanwhile, or it was deleted.
        if !lacks || self.published(activity).await?.map(|(_, now)| now) != Some(content) {
            return Ok(None);
        }
        Ok(Some(Unlisted { actor_id: key.actor_id, sort_key, in_outbox, of_kind }))
    }

    /// Lists an activity where it has to be, as its publish would if it came again.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be listed.
    pub async fn list_again(&self, unlisted: &Unlisted) -> Result<(), DynamoError> {
        let Unlisted { actor_id, sort_key, .. } = unlisted;
        let activity_id = sort_key.activity_id.clone();
        let key = ActivityKey { activity_id, actor_id: actor_id.clone() };
        let Some(published) = self.activity(&key).await?.published else { return Ok(()) };
        let merged = self.merge(&key, ActivityChange::Publish(published)).await?;
        self.list_in_outbox(actor_id, sort_key, merged.now.deleted).await
    }
}

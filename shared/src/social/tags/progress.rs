//! The progress of a publish with the tags from before it.
//!
//! It is only noted if that takes longer than a few seconds, under the message of the publish, and removed at the end.

use super::{Tags, keys};
use crate::platform::dynamo::item::{Item, text};
use crate::platform::dynamo::{DynamoError, Query};
use crate::platform::ledger::LedgerKey;
use crate::platform::values::{ActivityId, Origin, ViewerId};

impl Tags {
    /// The last person, by id, up to whom the activity is noted as listed.
    pub async fn listed_up_to(
        &self,
        activity: &ActivityId,
        origin: &Origin,
    ) -> Result<Option<ViewerId>, DynamoError> {
        let row = self.ledger.get(keys::progress(activity, origin)).await?;
        row.map(|row| row.parsed("place", "an id")).transpose()
    }

    /// Notes the last person for whom the activity is listed.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been noted.
    pub async fn note_listed(
        &self,
        activity: &ActivityId,
        origin: &Origin,
        position: &ViewerId,
    ) -> Result<(), DynamoError> {
        let item = Item::from([("place".to_owned(), text(position.as_str()))]);
        let key = keys::progress(activity, origin);
        self.ledger.replace(key, item, &[], None).await.map(|_| ())
    }

    /// Removes the note once everything is listed.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be removed.
    pub async fn end_listing(
        &self,
        activity: &ActivityId,
        origin: &Origin,
    ) -> Result<(), DynamoError> {
        self.ledger.delete(keys::progress(activity, origin)).await
    }

    /// Removes the notes of all messages.
    ///
    /// # Errors
    /// [`DynamoError`]; some of it may be removed.
    pub async fn forget_progress(&self, activity: &ActivityId) -> Result<(), DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            projection: Some("pk, sk"),
            values: vec![(":pk", text(keys::progress_of(activity)))],
            ..Query::default()
        };
        for row in self.ledger.table().all(query).await? {
            self.ledger.delete(LedgerKey::of(&row)?).await?;
        }
        Ok(())
    }
}

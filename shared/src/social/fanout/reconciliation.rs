//! The progress of long follows and unfollows.
//!
//! Noted only by commands that take longer than a few seconds, and removed when they end. What is noted
//! is valid for one message and one state of the edge: earlier deliveries of that message are over, and
//! what they may have left after the position is redone with it. A command that finds another state
//! begins at the newest activity.

use super::{FanOuts, keys};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{Item, text, truth};
use crate::platform::ledger::LedgerKey;
use crate::platform::register::Register;
use crate::platform::values::{ActorId, Origin, SortKey, ViewerId};

/// One message's work on one actor's activities in one viewer's timeline.
#[derive(Debug, Clone, Copy)]
pub struct Reconciliation<'a> {
    pub viewer: &'a ViewerId,
    pub actor: &'a ActorId,
    /// The id of the message with which the command came first.
    pub origin: &'a Origin,
}

impl FanOuts {
    /// The oldest activity down to which the timeline is noted to agree with this state of the edge. Work goes from the
    /// newest activity to the oldest.
    pub async fn reconciled_up_to(
        &self,
        of: Reconciliation<'_>,
        state: Register,
    ) -> Result<Option<SortKey>, DynamoError> {
        let row = self.ledger.get(of.key()).await?;
        let Some(row) = row else { return Ok(None) };
        let changed_at = row.parsed("changed_at", "an instant")?;
        if (Register { on: row.flag("following")?, changed_at }) != state {
            return Ok(None);
        }
        let position = row.text("place")?;
        position.parse::<SortKey>().map(Some).map_err(|_| row.corrupt("place", "a sort key"))
    }

    /// Notes the activity down to which the timeline agrees with this state of the edge.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been noted.
    pub async fn note_reconciled(
        &self,
        of: Reconciliation<'_>,
        state: Register,
        position: &SortKey,
    ) -> Result<(), DynamoError> {
        let item = Item::from([
            ("following".to_owned(), truth(state.on)),
            ("changed_at".to_owned(), text(state.changed_at.to_string())),
            ("place".to_owned(), text(position.to_string())),
        ]);
        self.ledger.replace(of.key(), item, &[], None).await.map(|_| ())
    }

    /// Removes the note once all is done.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be removed.
    pub async fn end_reconciliation(&self, of: Reconciliation<'_>) -> Result<(), DynamoError> {
        self.ledger.delete(of.key()).await
    }
}

impl Reconciliation<'_> {
    fn key(&self) -> LedgerKey {
        keys::reconciliation(self.viewer, self.actor, self.origin)
    }
}

//! How far long follows and unfollows have come.
//!
//! ```text
//! settle#<viewer>#<actor>   <message>   the state of the edge that the timeline is brought in line with,
//!                                       and the position that is reached, from the newest activity on
//! ```
//!
//! Noted only by commands that take longer than a few seconds, and removed when they end. What is noted
//! holds for one message and one state of the edge: earlier deliveries of that message are over, and
//! what they may have left behind the position is redone with it. A command that finds another state
//! begins at the newest activity.

use super::item::{ledger_key, text, truth};
use super::{Deadline, Store, StoreError};
use crate::command::Origin;
use crate::follow::FollowState;
use crate::id::{ActorId, ViewerId};
use crate::keys;
use crate::sort_key::SortKey;

/// One actor's activities in one viewer's timeline, as the command of one message settles them.
#[derive(Debug, Clone, Copy)]
pub struct Settling<'a> {
    /// Whose timeline.
    pub viewer: &'a ViewerId,
    /// Whose activities.
    pub actor: &'a ActorId,
    /// The id of the message with which the command came first.
    pub origin: &'a Origin,
}

impl Store {
    /// The activity up to which, from the newest on, the timeline is in line with this state of the
    /// edge, if that was noted.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn settled_up_to(
        &self,
        settling: Settling<'_>,
        state: FollowState,
        deadline: Deadline,
    ) -> Result<Option<SortKey>, StoreError> {
        let row = self.ledger_row(settling.key(), deadline).await?;
        let Some(row) = row else { return Ok(None) };
        let changed_at = row.parsed("changed_at", "an instant")?;
        if (FollowState { following: row.flag("following")?, changed_at }) != state {
            return Ok(None);
        }
        let place = row.text("place")?;
        SortKey::parse(place).map(Some).map_err(|_| row.corrupt("place", "a sort key"))
    }

    /// Notes up to which activity the timeline is in line with this state of the edge.
    ///
    /// # Errors
    /// [`StoreError`]; it may have been noted.
    pub async fn note_settled(
        &self,
        settling: Settling<'_>,
        state: FollowState,
        position: &SortKey,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let mut item = ledger_key(settling.key());
        item.insert("following".to_owned(), truth(state.following));
        item.insert("changed_at".to_owned(), text(state.changed_at.to_string()));
        item.insert("place".to_owned(), text(position.to_string()));
        let put = || self.client.put_item().table_name(&self.tables.ledger);
        self.attempt(deadline, || put().set_item(Some(item.clone())).send()).await?;
        Ok(())
    }

    /// Removes what was noted, now that all is done.
    ///
    /// # Errors
    /// [`StoreError`]; it may be removed.
    pub async fn end_settling(
        &self,
        settling: Settling<'_>,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let key = ledger_key(settling.key());
        let delete = || self.client.delete_item().table_name(&self.tables.ledger);
        self.attempt(deadline, || delete().set_key(Some(key.clone())).send()).await?;
        Ok(())
    }
}

impl Settling<'_> {
    fn key(&self) -> keys::LedgerKey {
        keys::settling(self.viewer, self.actor, self.origin)
    }
}

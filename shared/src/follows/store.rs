//! What is on record of one edge follower → followee.

use super::hidden::Hiding;
use super::{FollowChange, FollowState, Follows, keys};
use crate::dynamo::item::{Item, Row, text, truth};
use crate::dynamo::{Condition, DynamoError, Put};
use crate::runtime::deadline::Deadline;
use crate::runtime::hold::Hold;
use crate::values::{ActorId, Retention, Timestamp, ViewerId};

impl Follows {
    /// Records a follow or an unfollow, unless a later one is on record. Returns what is in force
    /// then: this state, or the later one. The actor is [hidden](super::HiddenActors) from the follower before; whoever
    /// has made the timeline complete for a follow [shows](Self::show) the actor again.
    ///
    /// A page may read who is hidden a moment before that, and entries a moment after the edge of a follow has let some
    /// in. So a hold passes between the two.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn record(
        &self,
        change: &FollowChange,
        now: Timestamp,
        retention: Retention,
        hold: Hold,
        deadline: Deadline,
    ) -> Result<FollowState, DynamoError> {
        let hiding = self.hide(change, now, retention, deadline).await?;
        if let Hiding::Overtaken(in_force) = hiding {
            // An earlier delivery may have died between the edge and its row.
            self.list_followee(change, in_force, now, deadline).await?;
            return Ok(in_force);
        }
        if change.state.following {
            hold.wait().await;
        }
        let in_force = self.put_edge(change, deadline).await?;
        if let (Hiding::NotNeeded, true) = (hiding, change.state.following) {
            // Else an earlier unfollow that is late would not learn of it, and would hide the actor.
            self.touch_hidden(&change.follower_id, deadline).await?;
        }
        self.list_followee(change, in_force, now, deadline).await?;
        Ok(in_force)
    }

    /// The same without hiding the actor: of whom nothing is shown, nothing needs to be hidden.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn record_edge(
        &self,
        change: &FollowChange,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<FollowState, DynamoError> {
        let in_force = self.put_edge(change, deadline).await?;
        self.list_followee(change, in_force, now, deadline).await?;
        Ok(in_force)
    }

    /// Writes the edge, unless a later one is on record. Returns what is on record then.
    async fn put_edge(
        &self,
        change: &FollowChange,
        deadline: Deadline,
    ) -> Result<FollowState, DynamoError> {
        let FollowChange { follower_id, followee_id, state } = change;
        let edge = Item::from([
            ("follower_id".to_owned(), text(follower_id.as_str())),
            ("followee_id".to_owned(), text(followee_id.as_str())),
            ("following".to_owned(), truth(state.following)),
            ("changed_at".to_owned(), text(state.changed_at.to_string())),
        ]);
        // On a tie the unfollow wins. Somebody may have recorded a later one since the edge was read.
        let later = match state.following {
            true => Condition::new("attribute_not_exists(changed_at) OR changed_at < :at"),
            false => Condition::new(
                "attribute_not_exists(changed_at) OR changed_at < :at \
                 OR (changed_at = :at AND following = :yes)",
            )
            .value(":yes", truth(true)),
        };
        let later = later.value(":at", text(state.changed_at.to_string()));
        let key = keys::edge(follower_id, followee_id);
        match self.ledger.put_if(key, edge, later, deadline).await? {
            Put::Done => Ok(*state),
            Put::Refused(there) => read_state(&self.ledger.table().row(there)),
        }
    }

    /// What is on record of one edge, if anything.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn state(
        &self,
        follower: &ViewerId,
        followee: &ActorId,
        deadline: Deadline,
    ) -> Result<Option<FollowState>, DynamoError> {
        let row = self.ledger.get(keys::edge(follower, followee), deadline).await?;
        row.as_ref().map(read_state).transpose()
    }
}

/// Reads an edge's state back.
///
/// # Errors
/// [`DynamoError::Corrupt`]
pub fn read_state(row: &Row<'_>) -> Result<FollowState, DynamoError> {
    let changed_at = row.parsed("changed_at", "an instant")?;
    Ok(FollowState { following: row.flag("following")?, changed_at })
}

//! What is on record of one edge follower → followee.

use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure as OnFailure;

use super::activities::old_item;
use super::item::{Row, ledger_key, text, truth};
use super::{Deadline, Store, StoreError};
use crate::command::FollowChange;
use crate::follow::FollowState;
use crate::id::{ActorId, ViewerId};
use crate::keys;

impl Store {
    /// Records a follow or an unfollow, unless a later one is on record. Returns what is in force
    /// then: this state, or the later one.
    ///
    /// # Errors
    /// [`StoreError`]; it may have been recorded even so.
    pub async fn record_follow(
        &self,
        change: &FollowChange,
        deadline: Deadline,
    ) -> Result<FollowState, StoreError> {
        let FollowChange { follower_id, followee_id, state } = change;
        // On a tie the unfollow wins. What is on record already is not written again: it may be buried.
        let condition = if state.following {
            "attribute_not_exists(changed_at) OR changed_at < :at"
        } else {
            "attribute_not_exists(changed_at) OR changed_at < :at \
             OR (changed_at = :at AND following = :yes)"
        };
        let mut item = ledger_key(keys::edge(follower_id, followee_id));
        item.insert("follower_id".to_owned(), text(follower_id.as_str()));
        item.insert("followee_id".to_owned(), text(followee_id.as_str()));
        item.insert("following".to_owned(), truth(state.following));
        item.insert("changed_at".to_owned(), text(state.changed_at.to_string()));
        let overtaken_by = self
            .attempt(deadline, || async {
                let put = self
                    .client
                    .put_item()
                    .table_name(&self.tables.ledger)
                    .set_item(Some(item.clone()))
                    .condition_expression(condition)
                    .expression_attribute_values(":at", text(state.changed_at.to_string()))
                    .return_values_on_condition_check_failure(OnFailure::AllOld);
                let put = if state.following {
                    put
                } else {
                    put.expression_attribute_values(":yes", truth(true))
                };
                match put.send().await {
                    Ok(_) => Ok(None),
                    Err(e) => old_item(e).map(Some),
                }
            })
            .await?;
        overtaken_by
            .map_or(Ok(*state), |item| read_state(&Row { table: &self.tables.ledger, item }))
    }

    /// What is on record of one edge, if anything.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn follow_state(
        &self,
        follower: &ViewerId,
        followee: &ActorId,
        deadline: Deadline,
    ) -> Result<Option<FollowState>, StoreError> {
        let row = self.ledger_row(keys::edge(follower, followee), deadline).await?;
        row.as_ref().map(read_state).transpose()
    }
}

/// Reads an edge's state back.
pub(super) fn read_state(row: &Row<'_>) -> Result<FollowState, StoreError> {
    let changed_at = row.parsed("changed_at", "an instant")?;
    Ok(FollowState { following: row.flag("following")?, changed_at })
}

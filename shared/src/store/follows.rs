//! Edges follower → followee.

use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure as OnFailure;

use super::activities::old_item;
use super::item::{Item, Row, ledger_key, text, truth};
use super::{Deadline, Store, StoreError};
use crate::command::FollowChange;
use crate::follow::FollowState;
use crate::id::{ActorId, ViewerId};
use crate::keys::{self, FollowerRange, LedgerKey};

/// One edge, seen from the followee.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    /// Who follows, or followed.
    pub follower: ViewerId,
    /// False once they ceased to.
    pub following: bool,
    /// The edge's sort key in the ledger: the place to go on from.
    pub place: String,
}

/// Some edges, in the order of their places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgePage {
    /// The edges, those of former followers included.
    pub edges: Vec<Edge>,
    /// Where to go on, if there is more.
    pub next: Option<String>,
}

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
        let key = ledger_key(keys::edge(follower, followee));
        let answer = self.attempt(deadline, || {
            let get = self.client.get_item().table_name(&self.tables.ledger);
            get.set_key(Some(key.clone())).consistent_read(true).send()
        });
        let item = answer.await?.item;
        item.map(|item| read_state(&Row { table: &self.tables.ledger, item })).transpose()
    }

    /// Reads at most `limit` edges of one followee in a range, beyond a place if one is given.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn edges(
        &self,
        followee: &ActorId,
        range: FollowerRange,
        after: Option<&str>,
        limit: u16,
        deadline: Deadline,
    ) -> Result<EdgePage, StoreError> {
        let pk = keys::followers(followee);
        let [first, last] = range.bounds();
        let answer = self
            .attempt(deadline, || {
                self.client
                    .query()
                    .table_name(&self.tables.ledger)
                    .consistent_read(true)
                    .key_condition_expression("pk = :pk AND sk BETWEEN :first AND :last")
                    .projection_expression("sk, following")
                    .expression_attribute_values(":pk", text(&pk))
                    .expression_attribute_values(":first", text(&first))
                    .expression_attribute_values(":last", text(&last))
                    .set_exclusive_start_key(
                        after.map(|sk| ledger_key(LedgerKey { pk: pk.clone(), sk: sk.to_owned() })),
                    )
                    .limit(i32::from(limit))
                    .send()
            })
            .await?;
        let more = answer.last_evaluated_key.is_some();
        let edges = answer.items.unwrap_or_default().into_iter().map(|item| self.read_edge(item));
        let edges = edges.collect::<Result<Vec<_>, _>>()?;
        let next = edges.last().filter(|_| more).map(|edge| edge.place.clone());
        Ok(EdgePage { edges, next })
    }

    /// Reads who of the edges from one place to another (both included) does not follow now.
    /// DynamoDB filters: the answer is short, whatever the number of edges.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn former_followers(
        &self,
        followee: &ActorId,
        first: &str,
        last: &str,
        deadline: Deadline,
    ) -> Result<Vec<Edge>, StoreError> {
        let pk = keys::followers(followee);
        let (mut found, mut start) = (Vec::new(), None);
        loop {
            let answer = self
                .attempt(deadline, || {
                    self.client
                        .query()
                        .table_name(&self.tables.ledger)
                        .consistent_read(true)
                        .key_condition_expression("pk = :pk AND sk BETWEEN :first AND :last")
                        .filter_expression("following = :no")
                        .projection_expression("sk, following")
                        .expression_attribute_values(":pk", text(&pk))
                        .expression_attribute_values(":first", text(first))
                        .expression_attribute_values(":last", text(last))
                        .expression_attribute_values(":no", truth(false))
                        .set_exclusive_start_key(start.clone())
                        .send()
                })
                .await?;
            for item in answer.items.unwrap_or_default() {
                found.push(self.read_edge(item)?);
            }
            start = answer.last_evaluated_key;
            if start.is_none() {
                return Ok(found);
            }
        }
    }

    fn read_edge(&self, item: Item) -> Result<Edge, StoreError> {
        let row = Row { table: &self.tables.ledger, item };
        let place = row.text("sk")?.to_owned();
        let follower = keys::follower_of(&place).ok_or_else(|| row.corrupt("sk", "an edge"))?;
        Ok(Edge { follower, following: row.flag("following")?, place })
    }
}

/// Reads an edge's state back.
pub(super) fn read_state(row: &Row<'_>) -> Result<FollowState, StoreError> {
    let changed_at = row.parsed("changed_at", "an instant")?;
    Ok(FollowState { following: row.flag("following")?, changed_at })
}

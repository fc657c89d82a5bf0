//! Forgetting a person: finding what names them, and marking it with the day on which it goes.
//!
//! An edge, a claim, an activity record or an outbox row is not simply removed. A command that is
//! still under way, or is delivered twice, would put it there anew, and a fan-out or a backfill that
//! runs at this moment takes its second look at exactly these items. So they become what an unfollow or
//! a delete makes of them anyway, an edge that is not followed and a tombstone without content, and
//! stay so until no command can be under way any more. Then the ledger's TTL on `forget_at`, which
//! nothing else sets, takes them away. Whoever states a new fact writes the item without the mark, and
//! so keeps it.

mod traces;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;

use super::follows::read_state;
use super::item::{Row, ledger_key, number, text, truth};
use super::{Deadline, Store, StoreError};
use crate::activity::ActivityKey;
use crate::follow::FollowState;
use crate::id::{ActorId, ViewerId};
use crate::keys::{self, LedgerKey};
use crate::sort_key::SortKey;

pub use traces::Trace;
pub(super) use traces::is_delete_refused;

/// The attribute that the ledger's TTL goes by.
pub const FORGET_AT: &str = "forget_at";

/// What is left of something, and says nothing but that it is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tombstone {
    /// The edge of an unfollow.
    Edge(ViewerId, ActorId),
    /// The record of an activity that was deleted.
    Record(ActivityKey),
    /// The claim on its id.
    Claim(ActivityKey),
    /// Its row in its actor's outbox, marked as deleted.
    OutboxRow(ActorId, SortKey),
}

impl Tombstone {
    fn key(&self) -> LedgerKey {
        match self {
            Self::Edge(follower, followee) => keys::edge(follower, followee),
            Self::Record(key) => keys::activity(key),
            Self::Claim(key) => keys::claim(&key.activity_id),
            Self::OutboxRow(actor, place) => {
                LedgerKey { pk: keys::outbox(actor), sk: place.to_string() }
            }
        }
    }
}

impl Store {
    /// Marks a tombstone with the second at which it may go; one that has such a mark keeps it. False if
    /// there is none: nothing at all, or something that is in force.
    ///
    /// # Errors
    /// [`StoreError`]; it may be marked even so.
    pub async fn bury(
        &self,
        tombstone: &Tombstone,
        forget_at: i64,
        deadline: Deadline,
    ) -> Result<bool, StoreError> {
        let key = ledger_key(tombstone.key());
        let (condition, value) = match tombstone {
            Tombstone::Edge(..) => ("following = :over", truth(false)),
            Tombstone::Record(_) | Tombstone::OutboxRow(..) => ("deleted = :over", truth(true)),
            Tombstone::Claim(key) => ("actor_id = :over", text(key.actor_id.as_str())),
        };
        self.attempt(deadline, || async {
            let update = self
                .client
                .update_item()
                .table_name(&self.tables.ledger)
                .set_key(Some(key.clone()))
                .update_expression("SET #at = if_not_exists(#at, :at)")
                .condition_expression(condition)
                .expression_attribute_names("#at", FORGET_AT)
                .expression_attribute_values(":at", number(forget_at))
                .expression_attribute_values(":over", value.clone());
            match update.send().await {
                Ok(_) => Ok(true),
                Err(e) if is_condition_failure(&e) => Ok(false),
                Err(e) => Err(e),
            }
        })
        .await
    }

    /// What an actor has published that is not buried. `deadline` makes the deadline of each step.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn unburied_activities(
        &self,
        actor: &ActorId,
        deadline: impl Fn() -> Deadline,
    ) -> Result<Vec<SortKey>, StoreError> {
        let rows = self.unburied(&keys::outbox(actor), deadline).await?;
        let places = rows.into_iter().map(|row| {
            SortKey::parse(row.text("sk")?).map_err(|_| row.corrupt("sk", "a sort key"))
        });
        places.collect()
    }

    /// Who follows an actor, or did, by edges that are not buried. `deadline` makes the deadline of each
    /// step.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn unburied_followers(
        &self,
        followee: &ActorId,
        deadline: impl Fn() -> Deadline,
    ) -> Result<Vec<ViewerId>, StoreError> {
        let rows = self.unburied(&keys::followers(followee), deadline).await?;
        let followers = rows.into_iter().map(|row| {
            keys::follower_of(row.text("sk")?).ok_or_else(|| row.corrupt("sk", "an edge"))
        });
        followers.collect()
    }

    /// Reads the keys of all of a partition that is not buried.
    async fn unburied(
        &self,
        pk: &str,
        deadline: impl Fn() -> Deadline,
    ) -> Result<Vec<Row<'_>>, StoreError> {
        let (mut found, mut start) = (Vec::new(), None);
        loop {
            let answer = self
                .attempt(deadline(), || {
                    self.client
                        .query()
                        .table_name(&self.tables.ledger)
                        .consistent_read(true)
                        .key_condition_expression("pk = :pk")
                        .filter_expression("attribute_not_exists(#at)")
                        .projection_expression("pk, sk")
                        .expression_attribute_names("#at", FORGET_AT)
                        .expression_attribute_values(":pk", text(pk))
                        .set_exclusive_start_key(start.clone())
                        .send()
                })
                .await?;
            let items = answer.items.unwrap_or_default().into_iter();
            found.extend(items.map(|item| Row { table: &self.tables.ledger, item }));
            start = answer.last_evaluated_key;
            if start.is_none() {
                return Ok(found);
            }
        }
    }

    /// What an edge says, if it is there and not buried.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn unburied_edge(
        &self,
        follower: &ViewerId,
        followee: &ActorId,
        deadline: Deadline,
    ) -> Result<Option<FollowState>, StoreError> {
        let row = self.ledger_row(keys::edge(follower, followee), deadline).await?;
        row.filter(|row| !row.item.contains_key(FORGET_AT)).as_ref().map(read_state).transpose()
    }

    /// Removes what says how far the fan-outs of an activity have come. A part that is still on its way
    /// begins again, and finds that the activity was deleted.
    ///
    /// # Errors
    /// [`StoreError`]; some of it may be removed even so.
    pub async fn drop_progress(
        &self,
        key: &ActivityKey,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        let ours = format!("actor#{}#", key.actor_id);
        for row in self.unburied(&keys::progress(&key.activity_id), || deadline).await? {
            if row.text("sk")?.starts_with(&ours) {
                let delete = || self.client.delete_item().table_name(&self.tables.ledger);
                self.attempt(deadline, || delete().set_key(Some(row.item.clone())).send()).await?;
            }
        }
        Ok(())
    }
}

fn is_condition_failure<R>(error: &SdkError<UpdateItemError, R>) -> bool {
    matches!(error.as_service_error(), Some(UpdateItemError::ConditionalCheckFailedException(_)))
}

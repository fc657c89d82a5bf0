//! A purge: deletes one actor's entries from one timeline, as long as the edge says that they do not
//! belong there.
//!
//! Each transaction checks the edge, so entries that a later follow brings in are never touched. A
//! transaction is admitted as a whole or not at all, and pays two write units an item: a table that
//! takes 50 writes a second never admits 100 items at once. So the number of items falls by half
//! with every refusal and doubles again with every success.
//!
//! A purge that has used up the spare capacity of its partition goes on at a [pace](PACE) that leaves capacity for others.
//! Readers skip the entries that it has not reached yet, so nobody waits for its end.

use std::time::Duration;

use aws_sdk_dynamodb::types::builders::ConditionCheckBuilder;
use aws_sdk_dynamodb::types::{ConditionCheck, Delete, TransactWriteItem};
use tokio::time::{Instant, sleep_until};

use super::{Timelines, entry_key};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{text, truth};
use crate::platform::register::Register;
use crate::platform::runtime::deadline::Deadline;
use crate::platform::runtime::retry::Backoff;
use crate::platform::values::{ActorId, SortKey, ViewerId};
use crate::social::follows::keys;

/// Entries a second that a purge deletes once it was refused. Each takes two write units, so that is 700 of the 1,000
/// units of a partition. The rest is for entries that are written meanwhile.
const PACE: u32 = 350;

/// How a purge ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purge {
    Done,
    /// The edge changed meanwhile; the command that changed it reconciles the timeline.
    Overtaken,
    /// Time or capacity ran out after the first N entries.
    Stopped(usize),
}

impl Purge {
    /// Succeeds if all the entries are deleted, or are up to the command that changed the edge.
    ///
    /// # Errors
    /// [`DynamoError::Throttled`]: time or capacity ran out.
    pub fn whole(self) -> Result<(), DynamoError> {
        match self {
            Self::Done | Self::Overtaken => Ok(()),
            Self::Stopped(_) => Err(DynamoError::Throttled),
        }
    }
}

impl Timelines {
    /// Deletes entries of one actor from the timeline of a viewer who unfollowed, as long as the edge says
    /// `unfollowed`. No transaction begins after `begin_until`.
    ///
    /// # Errors
    /// [`DynamoError`]: some may still be there, hidden from readers. Purging again is right.
    pub async fn purge(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        unfollowed: Register,
        sort_keys: &[SortKey],
        begin_until: Deadline,
    ) -> Result<Purge, DynamoError> {
        let check = self
            .edge_check(viewer, actor)
            .condition_expression("following = :no AND changed_at = :at")
            .expression_attribute_values(":no", truth(false))
            .expression_attribute_values(":at", text(unfollowed.changed_at.to_string()));
        let check = check.build()?;
        self.purge_while(check, viewer, sort_keys, begin_until).await
    }

    /// Like [`Self::purge`], for a viewer who never followed the actor: as long as there is no edge.
    ///
    /// # Errors
    /// [`DynamoError`]: some may still be there, hidden from readers. Purging again is right.
    pub async fn purge_strangers(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        sort_keys: &[SortKey],
    ) -> Result<Purge, DynamoError> {
        let check = self.edge_check(viewer, actor).condition_expression("attribute_not_exists(pk)");
        let check = check.build()?;
        self.purge_while(check, viewer, sort_keys, self.table().deadline()).await
    }

    fn edge_check(&self, viewer: &ViewerId, actor: &ActorId) -> ConditionCheckBuilder {
        ConditionCheck::builder()
            .table_name(self.ledger.table().name())
            .set_key(Some(keys::edge(viewer, actor).into_item()))
    }

    async fn purge_while(
        &self,
        check: ConditionCheck,
        viewer: &ViewerId,
        sort_keys: &[SortKey],
        begin_until: Deadline,
    ) -> Result<Purge, DynamoError> {
        // The limit of a transaction, less one for the check.
        let most = self.table().limits().transaction_items.saturating_sub(1).max(1);
        let (mut done, mut size, mut backoff) = (0, most, Backoff::default());
        let mut is_busy = false;
        while done < sort_keys.len() {
            if begin_until.has_passed() {
                return Ok(Purge::Stopped(done));
            }
            let keys = &sort_keys[done..sort_keys.len().min(done + size)];
            let begun = Instant::now();
            let failure = match self.transact(&check, viewer, keys).await {
                Ok(Purge::Done) => {
                    done += keys.len();
                    size = (size * 2).min(most);
                    backoff.reset();
                    if is_busy && done < sort_keys.len() {
                        sleep_until(begun + time_for(keys.len())).await;
                    }
                    continue;
                }
                Ok(other) => return Ok(other),
                Err(DynamoError::Throttled) => {
                    is_busy = true;
                    size = (keys.len() / 2).max(1);
                    None
                }
                Err(error) if error.is_retryable() => Some(error),
                Err(error) => return Err(error),
            };
            if backoff.wait(self.table().deadline()).await.is_err() {
                return failure.map_or(Ok(Purge::Stopped(done)), Err);
            }
        }
        Ok(Purge::Done)
    }

    /// Commits one transaction whose first item is the check that the rest depends on.
    async fn transact(
        &self,
        check: &ConditionCheck,
        viewer: &ViewerId,
        keys: &[SortKey],
    ) -> Result<Purge, DynamoError> {
        let mut items = vec![TransactWriteItem::builder().condition_check(check.clone()).build()];
        for key in keys {
            items.push(self.deletion(viewer, key)?);
        }
        let committed = self.table().transact(items).await?;
        if !committed {
            return Ok(Purge::Overtaken);
        }
        self.table().count_written(keys.len());
        Ok(Purge::Done)
    }

    fn deletion(&self, viewer: &ViewerId, key: &SortKey) -> Result<TransactWriteItem, DynamoError> {
        let delete = Delete::builder()
            .table_name(self.table().name())
            .set_key(Some(entry_key(viewer, &key.to_string())))
            .build()?;
        Ok(TransactWriteItem::builder().delete(delete).build())
    }
}

/// How long a purge takes for `entries` entries.
fn time_for(entries: usize) -> Duration {
    Duration::from_secs(1) * u32::try_from(entries).unwrap_or(u32::MAX) / PACE
}

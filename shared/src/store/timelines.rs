//! Writing entries.
//!
//! `BatchWriteItem` takes no conditions, so an entry is a pure function of its activity and its
//! viewer: writing it twice, or late, changes nothing.

use std::borrow::Cow;
use std::collections::HashSet;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::builders::ConditionCheckBuilder;
use aws_sdk_dynamodb::types::{ConditionCheck, Delete, TransactWriteItem};
use foldhash::fast::RandomState;
use futures::{StreamExt, TryStreamExt, stream};

use super::batch::{self, BATCH};
use super::client::once;
use super::item::{ledger_key, text, truth};
use super::meter::Tally;
use super::{Deadline, Store, StoreError};
use crate::follow::FollowState;
use crate::id::{ActorId, ViewerId};
use crate::keys;
use crate::pace::Lane;
use crate::retry::Backoff;
use crate::sort_key::SortKey;

/// Entries one purging transaction takes out: 100 items, less the check.
const PURGE: usize = 99;

/// One change to one timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryWrite<'a> {
    /// Put the entry there.
    Put {
        /// Whose timeline.
        viewer: &'a ViewerId,
        /// The printed [`SortKey`].
        sort_key: &'a str,
        /// Who published the activity.
        actor: &'a ActorId,
        /// When the table may drop it, in unix seconds.
        expires_at: i64,
    },
    /// Take the entry out, whatever it says.
    Erase {
        /// Whose timeline.
        viewer: &'a ViewerId,
        /// The printed [`SortKey`].
        sort_key: &'a str,
    },
}

/// How a purge ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purge {
    /// All the entries are out.
    Done,
    /// The edge changed meanwhile; whoever changed it sees to the entries.
    Overtaken,
}

impl<'a> EntryWrite<'a> {
    /// No two entries have the same.
    pub(super) fn key(&self) -> (&'a str, &'a str) {
        match self {
            Self::Put { viewer, sort_key, .. } | Self::Erase { viewer, sort_key } => {
                (viewer.as_str(), sort_key)
            }
        }
    }
}

impl Store {
    /// Writes entries, 25 a call, many calls at once, until the table has acknowledged every one.
    /// A key that is named twice is written once: DynamoDB refuses a batch that repeats a key.
    ///
    /// # Errors
    /// [`StoreError`]: some of the entries may not be written. Writing all of them again is right.
    pub async fn write_entries(
        &self,
        writes: impl IntoIterator<Item = EntryWrite<'_>>,
        deadline: Deadline,
    ) -> Result<Tally, StoreError> {
        let mut distinct: Vec<_> = writes.into_iter().collect();
        let mut seen = HashSet::with_capacity_and_hasher(distinct.len(), RandomState::default());
        distinct.retain(|write| seen.insert(write.key()));
        let batches = distinct.chunks(BATCH).map(|batch| self.write_batch(batch, deadline));
        stream::iter(batches.collect::<Vec<_>>())
            .buffer_unordered(self.most_in_flight)
            .try_fold(Tally::default(), async |mut sum, tally| {
                sum += tally;
                Ok(sum)
            })
            .await
    }

    /// Writes one batch. What DynamoDB gives back as unprocessed (with a status of 200) is sent
    /// again alone; the SDK does not do that.
    async fn write_batch(
        &self,
        batch: &[EntryWrite<'_>],
        deadline: Deadline,
    ) -> Result<Tally, StoreError> {
        let mut left = Cow::Borrowed(batch);
        let mut tally = Tally { entries: batch.len() as u64, ..Tally::default() };
        let mut backoff = Backoff::default();
        loop {
            tally.sends += left.len() as u64;
            let before = left.len();
            let failure = match self.send_batch(&left, deadline).await {
                Ok(unprocessed) if unprocessed.is_empty() => return Ok(tally),
                Ok(unprocessed) => {
                    left = Cow::Owned(unprocessed);
                    StoreError::Throttled
                }
                Err(error) if error.is_retryable() => error,
                Err(error) => return Err(error),
            };
            // Where the table takes some of it, the pace is wait enough, for those who keep to it.
            if left.len() < before && !deadline.remaining().is_zero() {
                backoff.reset();
                if self.lane == Lane::Bulk {
                    continue;
                }
            }
            backoff.wait(deadline).await.map_err(|_| failure)?;
        }
    }

    /// Sends a batch when its moment has come. Returns what the table did not take.
    async fn send_batch<'a>(
        &self,
        batch: &[EntryWrite<'a>],
        deadline: Deadline,
    ) -> Result<Vec<EntryWrite<'a>>, StoreError> {
        // The semaphore is never closed, so a permit is only missing where time ran out.
        let _permit = deadline.bound(self.in_flight[self.lane as usize].acquire()).await?;
        let ticket = self.pacer.admit(batch.len(), self.lane, deadline).await?;
        self.meter.sent(batch.len());
        let call = async { batch::write(self.line().await?, &self.tables.timelines, batch).await };
        let left = match once(deadline, call).await {
            Ok(left) => left,
            Err(error) => {
                self.meter.failed(&error);
                if matches!(error, StoreError::Throttled) {
                    ticket.ended(0, batch.len());
                }
                return Err(error);
            }
        };
        let taken = batch.len() - left.len();
        ticket.ended(taken, left.len());
        self.meter.written(taken);
        self.meter.unprocessed(left.len());
        Ok(left)
    }

    /// Takes entries of one actor out of the timeline of a viewer who unfollowed, as long as
    /// `unfollowed` is what the edge says: each transaction checks that, so entries that a later
    /// follow brings in are never touched.
    ///
    /// # Errors
    /// [`StoreError`]: some may still be there, hidden from readers. Purging again is right.
    pub async fn purge(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        unfollowed: FollowState,
        sort_keys: &[SortKey],
        deadline: Deadline,
    ) -> Result<Purge, StoreError> {
        let check = self
            .edge_check(viewer, actor)
            .condition_expression("following = :no AND changed_at = :at")
            .expression_attribute_values(":no", truth(false))
            .expression_attribute_values(":at", text(unfollowed.changed_at.to_string()));
        self.purge_while(check.build().map_err(unbuilt)?, viewer, sort_keys, deadline).await
    }

    /// The same for a viewer who never followed the actor: as long as there is no edge.
    ///
    /// # Errors
    /// [`StoreError`]: some may still be there, hidden from readers. Purging again is right.
    pub async fn purge_strangers(
        &self,
        viewer: &ViewerId,
        actor: &ActorId,
        sort_keys: &[SortKey],
        deadline: Deadline,
    ) -> Result<Purge, StoreError> {
        let check = self.edge_check(viewer, actor).condition_expression("attribute_not_exists(pk)");
        self.purge_while(check.build().map_err(unbuilt)?, viewer, sort_keys, deadline).await
    }

    fn edge_check(&self, viewer: &ViewerId, actor: &ActorId) -> ConditionCheckBuilder {
        ConditionCheck::builder()
            .table_name(&self.tables.ledger)
            .set_key(Some(ledger_key(keys::edge(viewer, actor))))
    }

    /// Deletes in transactions, each of which depends on the check.
    async fn purge_while(
        &self,
        check: ConditionCheck,
        viewer: &ViewerId,
        sort_keys: &[SortKey],
        deadline: Deadline,
    ) -> Result<Purge, StoreError> {
        for keys in sort_keys.chunks(PURGE) {
            let mut parts =
                vec![TransactWriteItem::builder().condition_check(check.clone()).build()];
            for key in keys {
                parts.push(self.deletion(viewer, key)?);
            }
            if self.transact(&parts, deadline).await? == Purge::Overtaken {
                return Ok(Purge::Overtaken);
            }
            self.meter.sent(keys.len());
            self.meter.written(keys.len());
        }
        Ok(Purge::Done)
    }

    fn deletion(&self, viewer: &ViewerId, key: &SortKey) -> Result<TransactWriteItem, StoreError> {
        let delete = Delete::builder()
            .table_name(&self.tables.timelines)
            .key("viewer_id", text(viewer.as_str()))
            .key("sort_key", text(key.to_string()))
            .build()
            .map_err(unbuilt)?;
        Ok(TransactWriteItem::builder().delete(delete).build())
    }

    /// Commits a transaction whose first part is the check that the rest depends on.
    async fn transact(
        &self,
        parts: &[TransactWriteItem],
        deadline: Deadline,
    ) -> Result<Purge, StoreError> {
        self.attempt(deadline, || async {
            let call = self.client.transact_write_items().set_transact_items(Some(parts.to_vec()));
            match call.send().await {
                Ok(_) => Ok(Purge::Done),
                Err(error) => check_failed(error).map(|()| Purge::Overtaken),
            }
        })
        .await
    }
}

/// True to its name, or what else went wrong.
pub(super) fn check_failed<R>(error: SdkError<TransactWriteItemsError, R>) -> Result<(), StoreError>
where
    StoreError: From<SdkError<TransactWriteItemsError, R>>,
{
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) =
        error.as_service_error()
    else {
        return Err(error.into());
    };
    let codes = || cancelled.cancellation_reasons().iter().map(|r| r.code().unwrap_or_default());
    if codes().any(|code| code == "ConditionalCheckFailed") {
        return Ok(());
    }
    Err(StoreError::of_cancellation(codes()))
}

pub(super) fn unbuilt(error: aws_sdk_dynamodb::error::BuildError) -> StoreError {
    StoreError::Rejected { code: "request not built".to_owned(), message: error.to_string() }
}

//! What names a person in the ledger and is listed nowhere: it is found by reading through all of it.

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::scan::ScanOutput;

use super::super::item::{Item, Row, ledger_key, text};
use super::FORGET_AT;
use crate::deadline::Deadline;
use crate::id::{ActivityId, ActorId, ViewerId};
use crate::keys::{self, LedgerItem, LedgerKey};
use crate::store::{Store, StoreError};

/// Something that names a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trace {
    /// An activity of theirs, in a claim, a record or the progress of its fan-out that is not marked.
    Activity(ActivityId),
    /// The progress of somebody's fan-out, which has come as far as their edge.
    Position {
        /// Where that is noted.
        key: LedgerKey,
        /// The edge's sort key.
        place: String,
    },
    /// The progress of a follow or unfollow of theirs, or of one of them.
    Settling(LedgerKey),
}

impl Store {
    /// Reads through all of the ledger for what names a person: activities in their name, those that were
    /// never published or whose publish died half-way included, and notes of how far something has come.
    /// Edges and outbox rows are listed elsewhere. `deadline` makes the deadline of each step, and `read`
    /// is told how many items each has read.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn traces(
        &self,
        person: &ActorId,
        mut read: impl FnMut(u64),
        deadline: impl Fn() -> Deadline,
    ) -> Result<Vec<Trace>, StoreError> {
        let (mut found, mut start) = (Vec::new(), None);
        loop {
            let answer = self.scan_for(person, start, deadline()).await?;
            read(u64::try_from(answer.scanned_count).unwrap_or(0));
            for item in answer.items.unwrap_or_default() {
                found.extend(self.trace(person, item)?);
            }
            start = answer.last_evaluated_key;
            if start.is_none() {
                found.dedup();
                return Ok(found);
            }
        }
    }

    async fn scan_for(
        &self,
        person: &ActorId,
        start: Option<Item>,
        deadline: Deadline,
    ) -> Result<ScanOutput, StoreError> {
        let scan = || {
            self.client
                .scan()
                .table_name(&self.tables.ledger)
                .filter_expression(
                    "attribute_not_exists(#at) AND (sk = :record OR begins_with(sk, :progress) \
                     OR actor_id = :person OR contains(place, :person) OR begins_with(pk, :settle))",
                )
                .projection_expression("pk, sk, place")
                .expression_attribute_names("#at", FORGET_AT)
                .expression_attribute_values(":record", text(format!("actor#{person}")))
                .expression_attribute_values(":progress", text(format!("actor#{person}#")))
                .expression_attribute_values(":person", text(person.as_str()))
                .expression_attribute_values(":settle", text("settle#"))
                .set_exclusive_start_key(start.clone())
        };
        self.attempt(deadline, || scan().send()).await
    }

    /// What the scan has found, looked at closely: `ann` is in the position of `anna` too.
    fn trace(&self, person: &ActorId, item: Item) -> Result<Option<Trace>, StoreError> {
        let row = Row { table: &self.tables.ledger, item };
        let key = LedgerKey { pk: row.text("pk")?.to_owned(), sk: row.text("sk")?.to_owned() };
        let viewer = |viewer: &ViewerId| viewer.as_str() == person.as_str();
        let item = LedgerItem::of(&key.pk, &key.sk);
        Ok(match item.ok_or_else(|| row.corrupt("pk", "a key of the ledger"))? {
            LedgerItem::Claim(activity) => Some(Trace::Activity(activity)),
            LedgerItem::Record(of) => Some(Trace::Activity(of.activity_id)),
            LedgerItem::Progress(of) if of.actor_id == *person => {
                Some(Trace::Activity(of.activity_id))
            }
            LedgerItem::Progress(_) => {
                let place = row.optional_text("place")?.map(ToOwned::to_owned);
                let place = place.filter(|p| keys::follower_of(p).as_ref().is_some_and(viewer));
                place.map(|place| Trace::Position { key, place })
            }
            LedgerItem::Settling(follower, followee) => {
                (viewer(&follower) || followee == *person).then_some(Trace::Settling(key))
            }
            // Listed by the person's own partitions and by the index.
            LedgerItem::OutboxRow(_) | LedgerItem::Edge(..) => None,
        })
    }

    /// Removes the progress that names somebody, unless it has come further since. Whatever is on its way
    /// begins again and ends the same.
    ///
    /// # Errors
    /// [`StoreError`]; it may be removed even so.
    pub async fn drop_trace(&self, trace: &Trace, deadline: Deadline) -> Result<(), StoreError> {
        let (key, place) = match trace {
            Trace::Activity(_) => return Ok(()),
            Trace::Position { key, place } => (key, Some(place)),
            Trace::Settling(key) => (key, None),
        };
        let key = ledger_key(key.clone());
        self.attempt(deadline, || async {
            let delete = self.client.delete_item().table_name(&self.tables.ledger);
            let delete = delete.set_key(Some(key.clone()));
            let delete = match place {
                Some(place) => delete
                    .condition_expression("place = :seen")
                    .expression_attribute_values(":seen", text(place)),
                None => delete,
            };
            match delete.send().await {
                Err(e) if !is_delete_refused(&e) => Err(e),
                _ => Ok(()),
            }
        })
        .await
    }
}

pub(in crate::store) fn is_delete_refused<R>(error: &SdkError<DeleteItemError, R>) -> bool {
    matches!(error.as_service_error(), Some(DeleteItemError::ConditionalCheckFailedException(_)))
}

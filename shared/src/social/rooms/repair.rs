//! Repairs the rows of rooms that differ from the claims, for audits.
//!
//! A wrong row is removed only while claim and marker are as they were read. So no message is lost while it is being written: its
//! claim comes before its rows, and rows are put where nothing is. What is missing then is posted again, with the payload of
//! another row of the message. Only the claimed payload counts.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::{ConditionCheck, Delete, TransactWriteItem};

use super::record::{OnRecord, Reason};
use super::{Claimed, MessageDeleted, MessageKey, MessagePosted, Rooms, keys};
use crate::platform::dynamo::item::{number, text, truth};
use crate::platform::dynamo::{DynamoError, Query};
use crate::platform::ledger::LedgerKey;
use crate::platform::values::{MessageId, Payload, RoomId, Timestamp};

impl Rooms {
    /// Reads everything on record of a message: its claim, its markers, and the items at its keys and at these keys.
    pub async fn on_record(
        &self,
        room: &RoomId,
        message: &MessageId,
        rows: impl IntoIterator<Item = LedgerKey>,
    ) -> Result<OnRecord, DynamoError> {
        let mut record = OnRecord::default();
        // Before the claim: what is not claimed afterwards was not claimed when it was read.
        for key in rows.into_iter().collect::<BTreeSet<_>>() {
            self.add(&mut record, key).await?;
        }
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::claim(room, message).pk))],
            ..Query::default()
        };
        let items = self.ledger.table().all(query).await?;
        items.iter().try_for_each(|row| record.add(row))?;
        for key in record.places(room, message) {
            self.add(&mut record, key).await?;
        }
        Ok(record)
    }

    async fn add(&self, record: &mut OnRecord, key: LedgerKey) -> Result<(), DynamoError> {
        let row = self.ledger.get(key).await?;
        row.iter().try_for_each(|row| record.add(row))
    }

    /// Makes the rows of a message agree with its claim and the marker of its author. A message without any row that has the posted
    /// payload is left as it is.
    ///
    /// # Errors
    /// [`DynamoError`]; repairing it again completes it.
    pub async fn repair_message(
        &self,
        room: &RoomId,
        message: &MessageId,
        record: &OnRecord,
        now: Timestamp,
    ) -> Result<(), DynamoError> {
        let wrong = record.wrong(room, message);
        let of = |reasons: &'static [Reason]| {
            wrong.iter().filter(|row| reasons.contains(&row.reason)).map(|row| &row.key)
        };
        let taken_out = async |keys: Vec<&LedgerKey>, is_tombstone: bool| {
            for key in keys {
                self.take_out((room, message), key, record.claim.as_ref(), is_tombstone).await?;
            }
            Ok::<_, DynamoError>(())
        };
        if let Some(claim) = &record.claim {
            let key = MessageKey {
                room_id: room.clone(),
                message_id: message.clone(),
                author_id: claim.author_id.clone(),
            };
            if of(&[Reason::Deleted]).next().is_some() {
                self.delete(&MessageDeleted { key: key.clone() }, now).await?;
            }
            let lacks = of(&[Reason::Absent, Reason::Hidden, Reason::Author, Reason::Payload]);
            if lacks.count() > 0
                && let Some(payload) = self.said(record).await?
            {
                taken_out(of(&[Reason::Hidden]).collect(), true).await?;
                taken_out(of(&[Reason::Author, Reason::Payload]).collect(), false).await?;
                let (at, private) = (claim.at, claim.private);
                self.post(&MessagePosted { key, at, payload, private }).await?;
            }
            if claim.erased {
                taken_out(of(&[Reason::Deleted]).collect(), false).await?;
            }
        }
        taken_out(of(&[Reason::Unclaimed, Reason::Misplaced]).collect(), false).await
    }

    /// What was posted, if a row of the message has it.
    async fn said(&self, record: &OnRecord) -> Result<Option<Payload>, DynamoError> {
        let Some(key) = record.faithful() else { return Ok(None) };
        let row = self.ledger.get(key.clone()).await?;
        let payload = row.as_ref().and_then(|row| Payload::stored(row.text("payload").ok()?).ok());
        // It may have been deleted since.
        Ok(payload.filter(|payload| record.claim.as_ref().is_some_and(|it| it.says(payload))))
    }

    /// Removes a row if it is still a message, or still a tombstone without a marker, and the claim is still as it was read.
    async fn take_out(
        &self,
        (room, message): (&RoomId, &MessageId),
        key: &LedgerKey,
        claim: Option<&Claimed>,
        is_tombstone: bool,
    ) -> Result<(), DynamoError> {
        let table = self.ledger.table();
        let checked = || ConditionCheck::builder().table_name(table.name());
        let claimed = checked().set_key(Some(keys::claim(room, message).into_item()));
        let claimed = match claim {
            None => claimed.condition_expression("attribute_not_exists(pk)"),
            Some(claim) => claimed
                .condition_expression("author_id = :author AND #at = :at AND shards = :shards")
                .expression_attribute_names("#at", "at")
                .expression_attribute_values(":author", text(claim.author_id.as_str()))
                .expression_attribute_values(":at", text(claim.at.to_string()))
                .expression_attribute_values(":shards", number(claim.shards)),
        };
        let delete =
            Delete::builder().table_name(table.name()).set_key(Some(key.clone().into_item()));
        let delete = match is_tombstone {
            true => delete
                .condition_expression("deleted = :yes")
                .expression_attribute_values(":yes", truth(true)),
            false => delete.condition_expression("attribute_not_exists(deleted)"),
        };
        let mut items = vec![
            TransactWriteItem::builder().condition_check(claimed.build()?).build(),
            TransactWriteItem::builder().delete(delete.build()?).build(),
        ];
        if let Some(claim) = claim.filter(|_| is_tombstone) {
            let author_id = claim.author_id.clone();
            let (room_id, message_id) = (room.clone(), message.clone());
            let marker = keys::marker(&MessageKey { room_id, message_id, author_id });
            let unmarked = checked()
                .set_key(Some(marker.into_item()))
                .condition_expression("attribute_not_exists(pk)");
            items.push(TransactWriteItem::builder().condition_check(unmarked.build()?).build());
        }
        table.transact_again(items).await.map(|_| ())
    }
}

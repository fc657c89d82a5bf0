//! Claims on activity ids, and activity records.

use std::collections::HashMap;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::types::ReturnValuesOnConditionCheckFailure as OnFailure;

use super::item::{Item, Row, ledger_key, number, text, truth};
use super::{Deadline, Store, StoreError};
use crate::activity::{ActivityKey, ActivityRecord, Change, Edit, Published};
use crate::command::Publish;
use crate::id::{ActivityId, ActorId};
use crate::keys;
use crate::payload::Payload;
use crate::timestamp::Timestamp;

/// Whose an activity id is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claim {
    /// This publish's: it was free, or the same publish claimed it before.
    Granted,
    /// Another actor's, or of another instant. For ever.
    Taken,
}

/// A record before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// What was known before.
    pub before: ActivityRecord,
    /// What is known now.
    pub now: ActivityRecord,
}

/// A record and the number of times it was written; zero where it was not.
#[derive(Debug, Default)]
struct Revised {
    record: ActivityRecord,
    revision: i64,
}

impl Store {
    /// Claims the activity's id for its actor and instant. An id belongs to the first publish that
    /// claims it; all that follow are measured by it.
    ///
    /// # Errors
    /// [`StoreError`]; the claim may have been made even so.
    pub async fn claim(&self, publish: &Publish, deadline: Deadline) -> Result<Claim, StoreError> {
        let mut item = ledger_key(keys::claim(&publish.activity_id));
        item.insert("actor_id".to_owned(), text(publish.actor_id.as_str()));
        item.insert("published_at".to_owned(), text(publish.published_at.to_string()));
        // One that is there stays as it is, even if it is this publish's own: it may be buried.
        let there = self
            .attempt(deadline, || async {
                let put = self
                    .client
                    .put_item()
                    .table_name(&self.tables.ledger)
                    .set_item(Some(item.clone()))
                    .condition_expression("attribute_not_exists(pk)")
                    .return_values_on_condition_check_failure(OnFailure::AllOld);
                match put.send().await {
                    Ok(_) => Ok(None),
                    Err(e) => old_item(e).map(Some),
                }
            })
            .await?;
        let same = |there: &Item| {
            ["actor_id", "published_at"].iter().all(|n| there.get(*n) == item.get(*n))
        };
        Ok(if there.as_ref().is_none_or(same) { Claim::Granted } else { Claim::Taken })
    }

    /// Whose an activity id is, and when it was published, if it was.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn claimed(
        &self,
        activity: &ActivityId,
        deadline: Deadline,
    ) -> Result<Option<(ActorId, Timestamp)>, StoreError> {
        let row = self.ledger_row(keys::claim(activity), deadline).await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some((row.parsed("actor_id", "an id")?, row.parsed("published_at", "an instant")?)))
    }

    /// Merges a change into a record, against any number of others who do the same: writes only
    /// over the revision it read, and begins again with what it finds there otherwise. Of a publish the
    /// first try supposes that there is no record yet, which is so for nearly every one; of an edit or a
    /// delete there is one, and a condition that fails costs a write.
    ///
    /// # Errors
    /// [`StoreError`]; the change may have been merged even so.
    pub async fn merge(
        &self,
        key: &ActivityKey,
        change: Change,
        deadline: Deadline,
    ) -> Result<Merged, StoreError> {
        let mut known = match change {
            Change::Publish(_) => Revised::default(),
            _ => self.revised(key, deadline).await?,
        };
        loop {
            let mut now = known.record.clone();
            now.merge(change.clone());
            let unchanged = known.revision > 0 && now == known.record;
            if unchanged {
                return Ok(Merged { before: known.record, now });
            }
            match self.replace(key, &known, &now, deadline).await? {
                None => {
                    return Ok(Merged { before: known.record, now });
                }
                Some(overtaken_by) => known = overtaken_by,
            }
        }
    }

    /// Reads a record as it is now. One that was never written is empty.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn activity(
        &self,
        key: &ActivityKey,
        deadline: Deadline,
    ) -> Result<ActivityRecord, StoreError> {
        let row = self.ledger_row(keys::activity(key), deadline).await?;
        row.as_ref().map_or(Ok(ActivityRecord::default()), read_record)
    }

    /// The record as it is now, and its revision.
    async fn revised(&self, key: &ActivityKey, deadline: Deadline) -> Result<Revised, StoreError> {
        let row = self.ledger_row(keys::activity(key), deadline).await?;
        row.as_ref().map_or(Ok(Revised::default()), read_revised)
    }

    /// Writes a record over the revision that is known. Returns what stands there instead, if that
    /// is another.
    async fn replace(
        &self,
        key: &ActivityKey,
        known: &Revised,
        record: &ActivityRecord,
        deadline: Deadline,
    ) -> Result<Option<Revised>, StoreError> {
        let mut item = write_record(record);
        item.extend(ledger_key(keys::activity(key)));
        item.insert("revision".to_owned(), number(known.revision + 1));
        let overtaken_by = self
            .attempt(deadline, || async {
                let put = self
                    .client
                    .put_item()
                    .table_name(&self.tables.ledger)
                    .set_item(Some(item.clone()))
                    .return_values_on_condition_check_failure(OnFailure::AllOld);
                let put = if known.revision == 0 {
                    put.condition_expression("attribute_not_exists(pk)")
                } else {
                    put.condition_expression("revision = :known")
                        .expression_attribute_values(":known", number(known.revision))
                };
                match put.send().await {
                    Ok(_) => Ok(None),
                    Err(e) => old_item(e).map(Some),
                }
            })
            .await?;
        let overtaken_by = overtaken_by.map(|item| Row { table: &self.tables.ledger, item });
        overtaken_by.as_ref().map(read_revised).transpose()
    }
}

fn read_revised(row: &Row<'_>) -> Result<Revised, StoreError> {
    // The revision is gone if somebody wrote the item by hand; starting from zero would then
    // meet the same refusal for ever.
    Ok(Revised { record: read_record(row)?, revision: row.number("revision")? })
}

pub(super) fn is_condition_failure<R>(error: &SdkError<PutItemError, R>) -> bool {
    matches!(error.as_service_error(), Some(PutItemError::ConditionalCheckFailedException(_)))
}

/// What stood in the way of a conditional put, if that is why it failed.
pub(super) fn old_item<R>(
    error: SdkError<PutItemError, R>,
) -> Result<Item, SdkError<PutItemError, R>> {
    match error.as_service_error() {
        Some(PutItemError::ConditionalCheckFailedException(failure)) => {
            Ok(failure.item().cloned().unwrap_or_default())
        }
        _ => Err(error),
    }
}

fn write_record(record: &ActivityRecord) -> Item {
    let mut item = HashMap::with_capacity(12);
    let mut set = |name: &str, value| item.insert(name.to_owned(), value);
    if let Some(Published { at, kind, payload }) = &record.published {
        set("published_at", text(at.to_string()));
        set("kind", text(kind.as_str()));
        set("payload", text(payload.as_json()));
    }
    if record.deleted {
        set("deleted", truth(true));
    }
    if let Some(Edit { at, value }) = &record.payload {
        set("edited_payload_at", text(at.to_string()));
        set("edited_payload", text(value.as_json()));
    }
    if let Some(Edit { at, value }) = &record.kind {
        set("edited_kind_at", text(at.to_string()));
        set("edited_kind", text(value.as_str()));
    }
    item
}

/// Reads an activity record back.
pub(super) fn read_record(row: &Row<'_>) -> Result<ActivityRecord, StoreError> {
    let published = match row.optional("published_at", "an instant")? {
        None => None,
        Some(at) => Some(Published {
            at,
            kind: row.parsed("kind", "a kind")?,
            payload: read_payload(row, "payload")?,
        }),
    };
    let payload = match row.optional("edited_payload_at", "an instant")? {
        None => None,
        Some(at) => Some(Edit { at, value: read_payload(row, "edited_payload")? }),
    };
    let kind = match row.optional("edited_kind_at", "an instant")? {
        None => None,
        Some(at) => Some(Edit { at, value: row.parsed("edited_kind", "a kind")? }),
    };
    Ok(ActivityRecord { published, deleted: row.flag("deleted")?, payload, kind })
}

/// Reads a payload back, also one that would not be accepted any more.
fn read_payload(row: &Row<'_>, name: &str) -> Result<Payload, StoreError> {
    Payload::stored(row.text(name)?).map_err(|_| row.corrupt(name, "a JSON value of at most 4 KiB"))
}

//! Claims on activity ids, and activity records.

use std::collections::HashMap;

use super::{
    Activities, ActivityChange, ActivityItem, ActivityKey, ActivityRecord, Edit, Publish,
    Published,
    changes::ActivityFingerprint,
    keys,
    kinds::{KindRow, Leaving},
};
use crate::platform::dynamo::item::{Item, Row, number, text, truth};
use crate::platform::dynamo::{Condition, DynamoError, Put, Query};
use crate::platform::ledger::FORGET_AT;
use crate::platform::values::{ActivityId, ActorId, Payload, Timestamp};
use aws_sdk_dynamodb::types::TransactWriteItem;
use futures::future::BoxFuture;

/// The attributes of a record: those that it lacks are removed where it is written over another.
const RECORD: [&str; 10] = [
    "published_at",
    "kind",
    "payload",
    "deleted",
    "edited_payload_at",
    "edited_payload",
    "edited_kind_at",
    "edited_kind",
    "revision",
    FORGET_AT,
];
/// Changes of others that a merge gives way to. Each is one that wins over what was there, and of edits those that
/// lose are done with then: among N at once, the base-2 logarithm of N on average.
const OVERTAKEN: usize = 64;

/// Who owns an activity id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivityClaim {
    /// This publish's: it was free.
    New,
    /// This publish's: it has claimed it before.
    Own,
    /// Another actor's, or of another instant. Permanently.
    Taken,
}

/// A record before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Merged {
    /// What was known before.
    pub before: ActivityRecord,
    pub now: ActivityRecord,
}

/// A record and the number of times it was written; zero where it was not.
#[derive(Debug, Default)]
struct Revised {
    record: ActivityRecord,
    revision: i64,
}

impl Activities {
    /// Claims the activity's id for its actor and instant. An id belongs to the first publish that
    /// claims it; all that follow are measured by it.
    ///
    /// # Errors
    /// [`DynamoError`]; the claim may have been made.
    pub async fn claim(&self, publish: &Publish) -> Result<ActivityClaim, DynamoError> {
        let claim = Item::from([
            ("actor_id".to_owned(), text(publish.actor_id.as_str())),
            ("published_at".to_owned(), text(publish.published_at.to_string())),
        ]);
        // One that is there stays as it is, even if it is this publish's own: it may be marked as expired.
        let free = Condition::new("attribute_not_exists(pk)");
        let key = keys::claim(&publish.activity_id);
        Ok(match self.ledger.put_if(key, claim.clone(), free).await? {
            Put::Done => ActivityClaim::New,
            Put::Refused(there)
                if claim.iter().all(|(name, value)| there.get(name) == Some(value)) =>
            {
                ActivityClaim::Own
            }
            Put::Refused(_) => ActivityClaim::Taken,
        })
    }

    /// The actor that owns an activity id, and when it was published, if it was. What an erased person
    /// published is nobody's.
    pub async fn claimed(
        &self,
        activity: &ActivityId,
    ) -> Result<Option<(ActorId, Timestamp)>, DynamoError> {
        let row = self.ledger.get(keys::claim(activity)).await?;
        let row = row.filter(|row| !row.item.contains_key(FORGET_AT));
        row.as_ref().map(read_owner).transpose()
    }

    /// The same, also of an erased person.
    pub async fn claimed_ever(
        &self,
        activity: &ActivityId,
    ) -> Result<Option<(ActorId, Timestamp)>, DynamoError> {
        self.ledger.get(keys::claim(activity)).await?.as_ref().map(read_owner).transpose()
    }

    /// The same for several ids, none of them twice, and at most [`BATCH_GET`](crate::platform::dynamo::BATCH_GET).
    /// Those that nobody owns are left out.
    pub async fn all_claimed(
        &self,
        activities: impl IntoIterator<Item = &ActivityId>,
    ) -> Result<HashMap<ActivityId, (ActorId, Timestamp)>, DynamoError> {
        let keys = activities.into_iter().map(|activity| keys::claim(activity).into_item());
        let rows = self.ledger.table().batch_get(keys.collect()).await?;
        rows.iter().map(read_claim).collect()
    }

    /// Claims the activity's id and merges the publish. `None` if the id is another's.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been published.
    pub async fn publish(&self, publish: &Publish) -> Result<Option<Merged>, DynamoError> {
        let (key, change) = (publish.key(), ActivityChange::from(publish.clone()));
        // Nearly every publish is the first: it makes no read for its record, and needs no transaction.
        let known = match self.claim(publish).await? {
            ActivityClaim::Taken => return Ok(None),
            ActivityClaim::New => None,
            ActivityClaim::Own => Some(self.revised(&key).await?),
        };
        self.merge_into(&key, change, known).await.map(Some)
    }

    /// Merges a change into a record, against any number of others who do the same: writes only
    /// over the revision it read, and otherwise retries with the record it finds there. After `OVERTAKEN` changes of others
    /// it fails as [contended](DynamoError::Contended).
    ///
    /// Readers learn of every edit and delete of a published activity ([`changes`](super::changes)), also of one that changes
    /// nothing: the delivery that merged it may have died before it told them.
    ///
    /// A published activity has a row in the list of its kind. It leaves the list of an earlier kind only once readers can
    /// know, and a hold later.
    ///
    /// # Errors
    /// [`DynamoError`]; the change may have been merged.
    pub fn merge<'a>(
        &'a self,
        key: &'a ActivityKey,
        change: ActivityChange,
    ) -> BoxFuture<'a, Result<Merged, DynamoError>> {
        Box::pin(async move {
            let known = self.revised(key).await?;
            self.merge_into(key, change, Some(known)).await
        })
    }

    async fn merge_into(
        &self,
        key: &ActivityKey,
        change: ActivityChange,
        known: Option<Revised>,
    ) -> Result<Merged, DynamoError> {
        let merged = self.written(key, &change, known).await?;
        let leaving = Leaving::after(key, &change, &merged.before, &merged.now);
        // No reader has cached an activity that is not published yet.
        let is_edit = !matches!(change, ActivityChange::Publish(_));
        let edited = is_edit && merged.now.published.is_some();
        let edited = edited.then(|| ActivityFingerprint::of(key));
        let left = leaving.is_elsewhere().then(|| ActivityFingerprint::of_lists(&key.actor_id));
        let changes = edited.into_iter().chain(left).collect();
        self.log.append(&self.ledger, changes).await?;
        if left.is_some() {
            self.hold.wait().await;
        }
        self.unlist(leaving).await?;
        Ok(merged)
    }

    /// Writes the record and the row of its kind, unless both have the change already. `known` is `None` where no record can
    /// exist.
    async fn written(
        &self,
        key: &ActivityKey,
        change: &ActivityChange,
        known: Option<Revised>,
    ) -> Result<Merged, DynamoError> {
        let mut is_new = known.is_none();
        let mut known = known.unwrap_or_default();
        for _ in 0..OVERTAKEN {
            let mut now = known.record.clone();
            now.merge(change.clone());
            let is_written = known.revision > 0 && now == known.record;
            let mut row = KindRow::of(key, &now);
            if is_written {
                // An earlier delivery has listed it, unless it died.
                let is_publish = matches!(change, ActivityChange::Publish(_));
                row = match row.filter(|_| is_publish) {
                    Some(row) if self.ledger.get(row.key.clone()).await?.is_none() => Some(row),
                    _ => None,
                };
            } else {
                let listed = KindRow::of(key, &known.record);
                row = row.filter(|row| listed.is_none_or(|listed| listed.key != row.key));
            }
            if std::mem::take(&mut is_new)
                && let Some(row) = row.take()
            {
                self.list_new(row).await?;
            }
            let overtaken_by = match row {
                Some(row) => {
                    let record = self.writing(key, &known, (!is_written).then_some(&now))?;
                    match self.list_with(row, record).await? {
                        true => None,
                        false => Some(self.revised(key).await?),
                    }
                }
                None if is_written => None,
                None => self.replace(key, &known, &now).await?,
            };
            match overtaken_by {
                None => return Ok(Merged { before: known.record, now }),
                Some(there) => known = there,
            }
        }
        Err(DynamoError::Contended)
    }

    /// Reads a record as it is now. One that was never written is empty.
    pub async fn activity(&self, key: &ActivityKey) -> Result<ActivityRecord, DynamoError> {
        let row = self.ledger.get(keys::record(key)).await?;
        row.as_ref().map_or(Ok(ActivityRecord::default()), read_record)
    }

    /// An activity as readers are given it, with its actor, if it was published and not deleted: of any age.
    pub fn published<'a>(
        &'a self,
        activity: &'a ActivityId,
    ) -> BoxFuture<'a, Result<Option<(ActorId, Published)>, DynamoError>> {
        Box::pin(async move {
            let query = Query {
                keys: Some("pk = :pk"),
                values: vec![(":pk", text(keys::claim(activity).pk))],
                ..Query::default()
            };
            let (mut owner, mut records) = (None, HashMap::new());
            for row in self.ledger.table().all(query).await? {
                match keys::of_key(row.text("pk")?, row.text("sk")?) {
                    Some(ActivityItem::Claim(_)) => owner = Some(read_owner(&row)?.0),
                    Some(ActivityItem::Record(key)) => {
                        records.insert(key.actor_id, read_record(&row)?);
                    }
                    _ => {}
                }
            }
            let record = owner.and_then(|owner| records.remove_entry(&owner));
            Ok(record.and_then(|(actor, record)| Some((actor, record.visible()?))))
        })
    }

    /// The activities with these owners that are published and not deleted, in one call.
    pub async fn published_by_owners(
        &self,
        owners: HashMap<ActivityId, (ActorId, Timestamp)>,
    ) -> Result<HashMap<ActivityId, (ActorId, Published)>, DynamoError> {
        let keys = owners.into_iter().map(|(activity_id, (actor_id, _))| {
            keys::record(&ActivityKey { activity_id, actor_id }).into_item()
        });
        let mut published = HashMap::new();
        for row in self.ledger.table().batch_get(keys.collect()).await? {
            if let Some(ActivityItem::Record(key)) = keys::of_key(row.text("pk")?, row.text("sk")?)
                && let Some(visible) = read_record(&row)?.visible()
            {
                published.insert(key.activity_id, (key.actor_id, visible));
            }
        }
        Ok(published)
    }

    /// The record as it is now, and its revision.
    async fn revised(&self, key: &ActivityKey) -> Result<Revised, DynamoError> {
        let row = self.ledger.get(keys::record(key)).await?;
        row.as_ref().map_or(Ok(Revised::default()), read_revised)
    }

    /// Writes a record over the revision that is known. Returns what stands there instead, if that
    /// is another. Attributes that this version does not know stay as they are.
    async fn replace(
        &self,
        key: &ActivityKey,
        known: &Revised,
        record: &ActivityRecord,
    ) -> Result<Option<Revised>, DynamoError> {
        let item = known.next(record);
        let key = keys::record(key);
        let over = known.is_there();
        let written = match known.revision {
            0 => self.ledger.put_if(key, item, over).await?,
            _ => self.ledger.table().replace(key.into_item(), item, &RECORD, Some(over)).await?,
        };
        match written {
            Put::Done => Ok(None),
            Put::Refused(there) => read_revised(&self.ledger.table().row(there)).map(Some),
        }
    }

    /// That write as a part of a transaction. Without a record, a check that the revision is still the known one.
    fn writing(
        &self,
        key: &ActivityKey,
        known: &Revised,
        record: Option<&ActivityRecord>,
    ) -> Result<TransactWriteItem, DynamoError> {
        let (table, key, over) =
            (self.ledger.table(), keys::record(key).into_item(), known.is_there());
        Ok(match record {
            Some(record) => table.replacing(key, known.next(record), &RECORD, Some(over))?,
            None => table.checking(key, &over)?,
        })
    }
}

impl Revised {
    /// The condition that the record is still this one.
    fn is_there(&self) -> Condition<'static> {
        match self.revision {
            0 => Condition::new("attribute_not_exists(pk)"),
            known => Condition::new("revision = :over").value(":over", number(known)),
        }
    }

    /// The item that follows it.
    fn next(&self, record: &ActivityRecord) -> Item {
        let mut item = write_record(record);
        item.insert("revision".to_owned(), number(self.revision + 1));
        item
    }
}

fn read_claim(row: &Row<'_>) -> Result<(ActivityId, (ActorId, Timestamp)), DynamoError> {
    let Some(ActivityItem::Claim(activity)) = keys::of_key(row.text("pk")?, row.text("sk")?) else {
        return Err(row.corrupt("pk", "the key of a claim"));
    };
    Ok((activity, read_owner(row)?))
}

fn read_owner(row: &Row<'_>) -> Result<(ActorId, Timestamp), DynamoError> {
    Ok((row.parsed("actor_id", "an id")?, row.parsed("published_at", "an instant")?))
}

fn read_revised(row: &Row<'_>) -> Result<Revised, DynamoError> {
    // The revision is gone if somebody wrote the item by hand; starting from zero would then
    // meet the same refusal permanently.
    Ok(Revised { record: read_record(row)?, revision: row.number("revision")? })
}

fn write_record(record: &ActivityRecord) -> Item {
    let mut item = Item::with_capacity(12);
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
///
/// # Errors
/// [`DynamoError::Corrupt`]
pub fn read_record(row: &Row<'_>) -> Result<ActivityRecord, DynamoError> {
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

/// Reads a payload back.
fn read_payload(row: &Row<'_>, name: &str) -> Result<Payload, DynamoError> {
    Payload::stored(row.text(name)?).map_err(|_| row.corrupt(name, "a JSON value of at most 4 KiB"))
}

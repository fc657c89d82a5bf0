//! Lists by kind: what an actor published of one kind, in timeline order, so that a page only reads what it shows.
//!
//! A row has the partition key `person#<actor>#kind#<kind>` and the activity's sort key. An index over outboxes would not work: the
//! kind is in the record, which an update changes, and a page must not lag behind it.
//!
//! # Why nothing is missed
//!
//! The record alone determines the kind of an activity; rows only say where to look. Every reader reads the records of the rows
//! that it finds, and shows those of the kind. So an extra row only costs its reading, but a missing row would be an error. The
//! invariant is: *an activity whose record has a kind has a row in the list of that kind.*
//!
//! * A change of the kind writes the record and the row of the new kind in one transaction, with the instant of the edit
//!   ([`KindSince::since`]). So does a publish that may have come before: it adds the row if that is missing, under the condition that
//!   the record is still the one that it read. So no late delivery lists a deleted activity.
//! * A publish whose id was free writes the row first and then the record, at half the price. A delete
//!   cannot be complete before it: its claim is there, and an erasure of its actor finds the claim.
//! * After the record is written, the rows of other kinds are removed: that of the kind before, and that of the published kind. But a
//!   row is only removed if its edit loses against the one in the record.
//!
//! Edits win by instant, then by the greater kind.
//!
//! # Several lists, one after the other
//!
//! A page of several kinds reads their lists by several calls. An activity that moves between two of them may leave the second list
//! before it is read, and come into the first after it was read, so that the page has it in neither. So between writing the record
//! and removing rows, the writer
//!
//! * notes in the [change log](super::changes) that rows leave lists of this actor
//!   ([`ActivityFingerprint::of_lists`](super::changes::ActivityFingerprint::of_lists)). If the readings of the log before and after the lists have
//!   no such entry in between, every row that has left a list in between was in its new list before the first one was read;
//! * waits for a [hold](crate::platform::runtime::hold). If all lists were read within one, a row that had left before the last list was read
//!   was in its new list before the first one was read.
//!
//! A deleted activity is shown in no list, so its row is removed at once.
//!
//! A delivery that dies between record and removal leaves a row of an old kind. Its redelivery removes the rows that it can know of:
//! that of its own kind, and that of the published kind.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::{Put as TransactPut, TransactWriteItem};

use super::record::{ActivityKey, ActivityRecord, Edit};
use super::{Activities, ActivityChange, keys};
use crate::platform::dynamo::item::{Item, text};
use crate::platform::dynamo::{Condition, DynamoError};
use crate::platform::ledger::LedgerKey;
use crate::platform::values::{Kind, Timestamp};

/// Stands for the instant of the published kind. It is earlier than any edit.
const PUBLISHED: &str = "0";

/// The kind of an activity, and the edit that set it. The greater of two wins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KindSince {
    /// The instant of the edit; `None` for the published kind.
    since: Option<Timestamp>,
    kind: Kind,
}

impl KindSince {
    /// The kind in a record; `None` if the activity is not shown.
    fn of(record: &ActivityRecord) -> Option<Self> {
        let published = record.published.as_ref().filter(|_| !record.deleted)?;
        Some(match &record.kind {
            Some(Edit { at, value }) => Self { since: Some(*at), kind: value.clone() },
            None => Self { since: None, kind: published.kind.clone() },
        })
    }

    fn since(&self) -> String {
        self.since.map_or_else(|| PUBLISHED.to_owned(), |at| at.to_string())
    }
}

/// Rows that have to be removed after a record has changed.
#[derive(Debug)]
pub(super) struct Leaving {
    rows: Vec<(LedgerKey, Kind)>,
    /// The kind in the record; `None` if the activity is not shown.
    now: Option<KindSince>,
}

impl Leaving {
    /// The rows of the kind before, of the published kind, and of a change that is in the record already: an earlier delivery
    /// of that change may have left them.
    pub(super) fn after(
        key: &ActivityKey,
        change: &ActivityChange,
        before: &ActivityRecord,
        now: &ActivityRecord,
    ) -> Self {
        let current = KindSince::of(now);
        let Some(published) = &now.published else {
            return Self { rows: Vec::new(), now: current };
        };
        let mut kinds: BTreeSet<_> =
            KindSince::of(before).map(|before| before.kind).into_iter().collect();
        match change {
            ActivityChange::Publish(again) => drop(kinds.insert(again.kind.clone())),
            ActivityChange::Update { kind: Some(edit), .. } if before == now => {
                kinds.extend([edit.value.clone(), published.kind.clone()]);
            }
            ActivityChange::Update { .. } | ActivityChange::Delete => {}
        }
        kinds.retain(|kind| current.as_ref().is_none_or(|current| current.kind != *kind));
        let sort_key = published.sort_key(key);
        let row = |kind| (keys::row_of_kind(&key.actor_id, &kind, &sort_key), kind);
        Self { rows: kinds.into_iter().map(row).collect(), now: current }
    }

    /// True if the activity is in another list now, which a page may read together with these.
    pub(super) fn is_elsewhere(&self) -> bool {
        !self.rows.is_empty() && self.now.is_some()
    }
}

/// The row of an activity in the list of its kind.
#[derive(Debug)]
pub(super) struct KindRow {
    pub(super) key: LedgerKey,
    since: String,
}

impl KindRow {
    /// The one that a record needs; `None` if the activity is not shown.
    pub(super) fn of(key: &ActivityKey, record: &ActivityRecord) -> Option<Self> {
        let (published, current) = (record.published.as_ref()?, KindSince::of(record)?);
        let sort_key = published.sort_key(key);
        Some(Self {
            key: keys::row_of_kind(&key.actor_id, &current.kind, &sort_key),
            since: current.since(),
        })
    }

    fn into_item(self) -> Item {
        let mut item = self.key.into_item();
        item.insert("at".to_owned(), text(self.since));
        item
    }
}

impl Activities {
    /// Lists what is published for the first time, before its record is written.
    pub(super) async fn list_new(&self, row: KindRow) -> Result<(), DynamoError> {
        let none = Condition::new("attribute_not_exists(pk)");
        self.ledger.table().put_if(row.into_item(), none).await.map(|_| ())
    }

    /// Lists in the transaction that writes or checks the record. Returns false if the record is another now.
    pub(super) async fn list_with(
        &self,
        row: KindRow,
        record: TransactWriteItem,
    ) -> Result<bool, DynamoError> {
        let table = self.ledger.table();
        let put = TransactPut::builder().table_name(table.name()).set_item(Some(row.into_item()));
        let put = TransactWriteItem::builder().put(put.build()?).build();
        table.transact_again(vec![record, put]).await
    }

    /// Removes rows, unless their edit wins over the one in the record.
    pub(super) async fn unlist(&self, Leaving { rows, now }: Leaving) -> Result<(), DynamoError> {
        for (row, kind) in rows {
            let loses = now.as_ref().map(|now| {
                let loses = if kind < now.kind { "#at <= :at" } else { "#at < :at" };
                Condition::new(loses).name("#at", "at").value(":at", text(now.since()))
            });
            self.ledger.table().delete(row.into_item(), loses).await?;
        }
        Ok(())
    }
}

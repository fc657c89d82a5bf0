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
//! * A writer that is about to change the kind in a record first lists the activity under the new kind, with the instant of the
//!   edit ([`KindSince::since`]).
//! * After writing the record, it removes the rows of other kinds: that of the kind before, and those that were listed in vain.
//!   But it only removes rows whose edit loses against the one in the record. The row of an edit that is yet to win is later, so
//!   it stays.
//!
//! Edits win by instant, then by the greater kind. So the row of an edit that has lost can be removed: whoever lists it again loses
//! too, and removes it again.
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
//! A repeated publish lists the activity as it is now. It then reads the record again: if the activity was deleted meanwhile, the row
//! leaves with it.
//!
//! A delivery that dies between record and row leaves a row of an old kind. Its redelivery removes the rows that it can know of: that
//! of its own kind, and that of the published kind; a publish of a deleted activity removes that of its kind.

use super::record::{ActivityKey, ActivityRecord, Edit};
use super::{Activities, ActivityChange, keys};
use crate::platform::dynamo::item::text;
use crate::platform::dynamo::{Condition, DynamoError, Update};
use crate::platform::ledger::LedgerKey;
use crate::platform::values::{Kind, SortKey, Timestamp};

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

/// The rows that may have to leave after the change of a record.
#[derive(Debug, Default)]
pub(super) struct LeavingRows(Vec<Kind>);

impl LeavingRows {
    /// Before a record is written: lists the activity under its new kind.
    pub(super) async fn before(
        &mut self,
        activities: &Activities,
        key: &ActivityKey,
        known: &ActivityRecord,
        now: &ActivityRecord,
    ) -> Result<(), DynamoError> {
        let (Some(published), Some(current)) = (&now.published, KindSince::of(now)) else {
            return Ok(());
        };
        let is_known = KindSince::of(known).is_some_and(|known| known.kind == current.kind);
        if is_known || self.0.contains(&current.kind) {
            return Ok(());
        }
        activities.list_by_kind(key, &published.sort_key(key), &current).await?;
        self.0.push(current.kind);
        Ok(())
    }

    /// After a record is written: the rows of its other kinds.
    pub(super) fn after(
        mut self,
        key: &ActivityKey,
        before: &ActivityRecord,
        now: &ActivityRecord,
    ) -> Leaving {
        let Some(published) = &now.published else { return Leaving::default() };
        let now = KindSince::of(now);
        self.0.extend(KindSince::of(before).map(|before| before.kind));
        self.0.sort();
        self.0.dedup();
        self.0.retain(|kind| now.as_ref().is_none_or(|now| now.kind != *kind));
        let sort_key = published.sort_key(key);
        let rows = self
            .0
            .into_iter()
            .map(|kind| (keys::row_of_kind(&key.actor_id, &kind, &sort_key), kind));
        Leaving { rows: rows.collect(), now }
    }

    /// Adds the rows that an earlier delivery of a change may have left, if the change is in the record already.
    pub(super) fn again(&mut self, change: &ActivityChange, now: &ActivityRecord) {
        match change {
            ActivityChange::Update { kind: Some(edit), .. } => {
                self.0.push(edit.value.clone());
                self.0.extend(now.published.as_ref().map(|published| published.kind.clone()));
            }
            ActivityChange::Publish(published) if now.deleted => {
                self.0.push(published.kind.clone())
            }
            _ => {}
        }
    }

    /// True if two states of an activity are in the same list.
    pub(super) fn is_same(one: &ActivityRecord, other: &ActivityRecord) -> bool {
        KindSince::of(one) == KindSince::of(other)
    }

    /// True if the activity was listed nowhere.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Rows that have to be removed after a record has changed.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    rows: Vec<(LedgerKey, Kind)>,
    /// The kind in the record; `None` if the activity is not shown.
    now: Option<KindSince>,
}

impl Leaving {
    /// True if the activity is in another list now, which a page may read together with these.
    pub(super) fn is_elsewhere(&self) -> bool {
        !self.rows.is_empty() && self.now.is_some()
    }
}

impl Activities {
    async fn list_by_kind(
        &self,
        key: &ActivityKey,
        sort_key: &SortKey,
        current: &KindSince,
    ) -> Result<(), DynamoError> {
        let later = Update {
            expression: "SET #at = :at",
            condition: Some("attribute_not_exists(pk) OR #at < :at"),
            names: vec![("#at", "at")],
            values: vec![(":at", text(current.since()))],
        };
        let row = keys::row_of_kind(&key.actor_id, &current.kind, sort_key).into_item();
        self.ledger.table().update(row, later).await.map(|_| ())
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

//! Lists by kind: what an actor published of one kind, in timeline order, so that a page of it costs what it shows.
//!
//! A row stands in `person#<actor>#kind#<kind>` at the activity's sort key. An index over outboxes could not serve: the
//! kind is in the record, which an update changes, and a page must not lag behind it.
//!
//! # Why nothing is missed
//!
//! The record alone says of which kind an activity is; rows only say where to look. Every reader reads the records of the
//! rows that it finds, and shows those that are of the kind. So a row too many costs its reading, and a row too few would
//! be a mistake. What holds at every moment: *an activity that its record shows as of a kind has a row in that kind's
//! list.*
//!
//! * Whoever is about to write a record that is of another kind than before lists it first, with the instant of
//!   the edit ([`KindSince::since`]).
//! * Whoever has written a record takes out the rows of the kinds that it is not of: that which it had before, and
//!   those that were listed for it in vain. But only rows whose edit loses against the one that the record holds. The row of
//!   an edit that is yet to win is later than that, so it stays.
//!
//! Edits win by instant, then by the greater kind. So the row of an edit that has lost can go for good, whoever lists it again
//! loses too, and takes it out again.
//!
//! # Several lists, one after the other
//!
//! A page of several kinds reads their lists by several calls. An activity that goes from one of them to the other may have
//! left the second before that is read, and have come into the first after that was: both were right, and it is in neither.
//! So between writing the record and taking out rows, the writer
//!
//! * tells in the [change log](super::changes) that rows leave lists of this actor
//!   ([`Fingerprint::of_lists`](super::changes::Fingerprint::of_lists)). If a reading of the log before the lists and one
//!   behind them differ by none of those, all that has left any of them in between was in its new list before the first
//!   was read;
//! * waits for a [hold](crate::runtime::hold). If all lists were read within one, a row that had left before the last of
//!   them was read was in its new list before the first was.
//!
//! What is deleted is shown in no list, so its row leaves at once.
//!
//! A publish that comes again lists what is there, so activities from before there were such lists come into them.
//!
//! A delivery that dies between record and row leaves a row of a kind that the activity is not of any more. When it is
//! delivered again it takes out what it can know of: the row of its own kind, and that of the kind that was published.

use super::record::{ActivityKey, ActivityRecord, Edit};
use super::{Activities, Change, keys};
use crate::dynamo::item::text;
use crate::dynamo::{Condition, DynamoError, Update};
use crate::ledger::LedgerKey;
use crate::runtime::deadline::Deadline;
use crate::values::{Kind, SortKey, Timestamp};

/// What stands for the instant of a kind that was published: it is earlier than any edit.
const PUBLISHED: &str = "0";

/// Of which kind an activity is, and since which edit. The greater of two wins.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KindSince {
    /// The instant of the edit; none if it was published so.
    since: Option<Timestamp>,
    kind: Kind,
}

impl KindSince {
    /// That of a record, if anybody is shown it.
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

/// The rows that the change of one record is about.
#[derive(Debug, Default)]
pub(super) struct Listing(Vec<Kind>);

impl Listing {
    /// Before a record is written: lists the activity as what it will be.
    pub(super) async fn before(
        &mut self,
        activities: &Activities,
        key: &ActivityKey,
        known: &ActivityRecord,
        now: &ActivityRecord,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let (Some(published), Some(current)) = (&now.published, KindSince::of(now)) else {
            return Ok(());
        };
        let is_known = KindSince::of(known).is_some_and(|known| known.kind == current.kind);
        if is_known || self.0.contains(&current.kind) {
            return Ok(());
        }
        activities.list_by_kind(key, &published.sort_key(key), &current, deadline).await?;
        self.0.push(current.kind);
        Ok(())
    }

    /// Once a record is written, or was before: the rows of kinds that it is not of.
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
        let rows = self.0.into_iter().map(|kind| (row_key(key, &sort_key, &kind), kind));
        Leaving { rows: rows.collect(), now }
    }

    /// Of a change that is in the record already: what an earlier delivery of it may have left.
    pub(super) fn again(&mut self, change: &Change, now: &ActivityRecord) {
        if let Change::Update { kind: Some(edit), .. } = change {
            self.0.push(edit.value.clone());
            self.0.extend(now.published.as_ref().map(|published| published.kind.clone()));
        }
    }
}

/// Rows that have to go, now that a record says otherwise.
#[derive(Debug, Default)]
pub(super) struct Leaving {
    rows: Vec<(LedgerKey, Kind)>,
    /// What the record says; nothing if nobody is shown it.
    now: Option<KindSince>,
}

impl Leaving {
    /// True if the activity is in another list now, which may be read beside these.
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
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let later = Update {
            expression: "SET #at = :at",
            condition: Some("attribute_not_exists(pk) OR #at < :at"),
            names: vec![("#at", "at")],
            values: vec![(":at", text(current.since()))],
        };
        let row = row_key(key, sort_key, &current.kind).into_item();
        self.ledger.table().update(row, later, deadline).await.map(|_| ())
    }

    /// Takes out rows, unless they are of an edit that wins against what the record holds.
    pub(super) async fn unlist(
        &self,
        Leaving { rows, now }: Leaving,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        for (row, kind) in rows {
            let loses = now.as_ref().map(|now| {
                let loses = if kind < now.kind { "#at <= :at" } else { "#at < :at" };
                Condition::new(loses).name("#at", "at").value(":at", text(now.since()))
            });
            self.ledger.table().delete(row.into_item(), loses, deadline).await?;
        }
        Ok(())
    }
}

fn row_key(key: &ActivityKey, sort_key: &SortKey, kind: &Kind) -> LedgerKey {
    LedgerKey { pk: keys::of_kind(&key.actor_id, kind), sk: sort_key.to_string() }
}

//! All that is on record of a message, and what of it is wrong, as an audit looks at it.
//!
//! The claim is the truth, with the marker of its author: they say where rows have to be, and what tells the right payload
//! from another.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::posting::digest;
use super::{Claimed, RoomItem, Shards, keys};
use crate::dynamo::DynamoError;
use crate::dynamo::item::Row;
use crate::ledger::LedgerKey;
use crate::values::{MessageId, Payload, RoomId, ViewerId};

/// All that is on record of a message.
#[derive(Debug, Default)]
pub struct OnRecord {
    pub(super) claim: Option<Claimed>,
    /// Who has deleted it, or would have if it were theirs.
    deleted_by: BTreeSet<ViewerId>,
    /// What stands where it is listed, or could be.
    rows: BTreeMap<LedgerKey, Listed>,
}

/// What stands in the place of a message.
#[derive(Debug, PartialEq, Eq)]
enum Listed {
    Tombstone,
    /// A message: in whose name, and what tells its payload from another; nothing where there is none.
    Message(Option<String>, Option<String>),
}

/// Why a row is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// Nothing is where a message should be.
    Absent,
    /// A tombstone is where a message should be that its author has not deleted.
    Hidden,
    /// A message is there that was deleted.
    Deleted,
    /// A message is there whose id nobody has claimed, or another author, or for another instant.
    Unclaimed,
    /// A message is there that belongs into another shard.
    Misplaced,
    /// It is in the name of somebody else.
    Author,
    /// It says something else than what was posted first.
    Payload,
}

/// A row that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongRow {
    /// Which one.
    pub key: LedgerKey,
    /// Why.
    pub reason: Reason,
}

impl OnRecord {
    /// Takes in an item of the message.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn add(&mut self, row: &Row<'_>) -> Result<(), DynamoError> {
        let key = LedgerKey::of(row)?;
        match keys::of_key(&key.pk, &key.sk) {
            Some(RoomItem::Claim(..)) => self.claim = Some(Claimed::read(row)?),
            Some(RoomItem::Marker(marker)) => drop(self.deleted_by.insert(marker.author_id)),
            Some(RoomItem::Row(..) | RoomItem::AuthorRow(_)) => {
                self.rows.insert(key, Listed::read(row));
            }
            Some(RoomItem::Room(_) | RoomItem::Arrivals(_)) | None => {}
        }
        Ok(())
    }

    /// Over how many shards its room has to be spread, if its id is claimed.
    #[must_use]
    pub fn shards(&self) -> Option<Shards> {
        self.claim.as_ref().map(|claim| claim.shards)
    }

    /// Whether the message said that its room is private, if its id is claimed.
    #[must_use]
    pub fn is_private(&self) -> bool {
        self.claim.as_ref().is_some_and(|claim| claim.private)
    }

    /// What is wrong with the rows of the message that this is on record of.
    #[must_use]
    pub fn wrong(&self, room: &RoomId, message: &MessageId) -> Vec<WrongRow> {
        let places = self.places(room, message);
        let wrong = |key: &LedgerKey, reason| WrongRow { key: key.clone(), reason };
        let there = places.iter().filter_map(|key| Some(wrong(key, self.reason_at(key)?)));
        let is_elsewhere = |(key, listed): &(&LedgerKey, &Listed)| {
            !places.contains(key) && **listed != Listed::Tombstone
        };
        let is_shard =
            |key: &LedgerKey| matches!(keys::of_key(&key.pk, &key.sk), Some(RoomItem::Row(..)));
        let elsewhere = self.rows.iter().filter(is_elsewhere).map(|(key, _)| {
            let is_misplaced = is_shard(key) && places.iter().any(|position| position.sk == key.sk);
            wrong(key, if is_misplaced { Reason::Misplaced } else { Reason::Unclaimed })
        });
        there.chain(elsewhere).collect()
    }

    /// Where the message should be, if its id is claimed.
    pub(super) fn places(&self, room: &RoomId, message: &MessageId) -> Vec<LedgerKey> {
        self.claim.iter().flat_map(|claim| claim.rows(room, message)).collect()
    }

    /// What is wrong where a message was claimed to be.
    fn reason_at(&self, key: &LedgerKey) -> Option<Reason> {
        let claim = self.claim.as_ref()?;
        let is_deleted = claim.erased || self.deleted_by.contains(&claim.author_id);
        match (self.rows.get(key), is_deleted) {
            (None | Some(Listed::Tombstone), true) => None,
            (Some(Listed::Message(..)), true) => Some(Reason::Deleted),
            (None, false) => Some(Reason::Absent),
            (Some(Listed::Tombstone), false) => Some(Reason::Hidden),
            (Some(Listed::Message(_, payload)), false) if *payload != claim.digest => {
                Some(Reason::Payload)
            }
            (Some(Listed::Message(author, _)), false) => {
                (author.as_deref() != Some(claim.author_id.as_str())).then_some(Reason::Author)
            }
        }
    }

    /// A row that says what was posted, wherever it is.
    pub(super) fn faithful(&self) -> Option<&LedgerKey> {
        let claimed = &self.claim.as_ref()?.digest;
        let is_faithful =
            |listed: &Listed| matches!(listed, Listed::Message(_, payload) if payload == claimed);
        self.rows.iter().find(|(_, listed)| is_faithful(listed)).map(|(key, _)| key)
    }
}

impl Listed {
    /// Whatever is there counts, also what no writer has written.
    fn read(row: &Row<'_>) -> Self {
        if row.flag("deleted").is_ok_and(|deleted| deleted) {
            return Self::Tombstone;
        }
        let text = |name| row.optional_text(name).ok().flatten();
        let payload = text("payload").and_then(|payload| Payload::stored(payload).ok());
        Self::Message(text("author_id").map(ToOwned::to_owned), payload.as_ref().map(digest))
    }
}

//! Everything on record of a message, and what of it is wrong, for audits.
//!
//! The claim and the marker of its author are the truth: they determine where rows have to be, and the digest of the right
//! payload.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::posting::digest;
use super::{Claimed, RoomItem, Shards, keys};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::Row;
use crate::platform::ledger::LedgerKey;
use crate::platform::values::{MessageId, Payload, RoomId, ViewerId};

/// Everything on record of a message.
#[derive(Debug, Default)]
pub struct OnRecord {
    pub(super) claim: Option<Claimed>,
    /// The authors with a marker for it.
    deleted_by: BTreeSet<ViewerId>,
    /// What is stored at the keys where it is listed, or could be.
    rows: BTreeMap<LedgerKey, ListedRow>,
}

/// What is stored at the key of a row.
#[derive(Debug, PartialEq, Eq)]
enum ListedRow {
    Tombstone,
    /// A message: its author, and the digest of its payload, as far as present.
    Message(Option<String>, Option<String>),
}

/// Why a row is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// The message is missing.
    Absent,
    /// There is a tombstone, but the author has not deleted the message.
    Hidden,
    /// There is a message that was deleted.
    Deleted,
    /// There is a message whose id is not claimed, or claimed by another author or for another instant.
    Unclaimed,
    /// There is a message that belongs into another shard.
    Misplaced,
    /// The message has another author.
    Author,
    /// The message has another payload than the first post.
    Payload,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongRow {
    pub key: LedgerKey,
    pub reason: Reason,
}

impl OnRecord {
    /// Adds an item of the message.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn add(&mut self, row: &Row<'_>) -> Result<(), DynamoError> {
        let key = LedgerKey::of(row)?;
        match keys::of_key(&key.pk, &key.sk) {
            Some(RoomItem::Claim(..)) => self.claim = Some(Claimed::read(row)?),
            Some(RoomItem::Marker(marker)) => drop(self.deleted_by.insert(marker.author_id)),
            Some(RoomItem::Row(..) | RoomItem::AuthorRow(_)) => {
                self.rows.insert(key, ListedRow::read(row));
            }
            Some(RoomItem::Room(_) | RoomItem::Arrivals(_)) | None => {}
        }
        Ok(())
    }

    /// The number of shards that it was spread over, if its id is claimed.
    pub fn shards(&self) -> Option<Shards> {
        self.claim.as_ref().map(|claim| claim.shards)
    }

    /// True if the id of the message is claimed by a private message.
    pub fn is_private(&self) -> bool {
        self.claim.as_ref().is_some_and(|claim| claim.private)
    }

    pub fn wrong(&self, room: &RoomId, message: &MessageId) -> Vec<WrongRow> {
        let places = self.places(room, message);
        let wrong = |key: &LedgerKey, reason| WrongRow { key: key.clone(), reason };
        let there = places.iter().filter_map(|key| Some(wrong(key, self.reason_at(key)?)));
        let is_elsewhere = |(key, listed): &(&LedgerKey, &ListedRow)| {
            !places.contains(key) && **listed != ListedRow::Tombstone
        };
        let is_shard =
            |key: &LedgerKey| matches!(keys::of_key(&key.pk, &key.sk), Some(RoomItem::Row(..)));
        let elsewhere = self.rows.iter().filter(is_elsewhere).map(|(key, _)| {
            let is_misplaced = is_shard(key) && places.iter().any(|position| position.sk == key.sk);
            wrong(key, if is_misplaced { Reason::Misplaced } else { Reason::Unclaimed })
        });
        there.chain(elsewhere).collect()
    }

    /// The keys where the message has to be, if its id is claimed.
    pub(super) fn places(&self, room: &RoomId, message: &MessageId) -> Vec<LedgerKey> {
        self.claim.iter().flat_map(|claim| claim.rows(room, message)).collect()
    }

    /// What is wrong at a key where the message has to be.
    fn reason_at(&self, key: &LedgerKey) -> Option<Reason> {
        let claim = self.claim.as_ref()?;
        let is_deleted = claim.erased || self.deleted_by.contains(&claim.author_id);
        match (self.rows.get(key), is_deleted) {
            (None | Some(ListedRow::Tombstone), true) => None,
            (Some(ListedRow::Message(..)), true) => Some(Reason::Deleted),
            (None, false) => Some(Reason::Absent),
            (Some(ListedRow::Tombstone), false) => Some(Reason::Hidden),
            (Some(ListedRow::Message(_, payload)), false) if *payload != claim.digest => {
                Some(Reason::Payload)
            }
            (Some(ListedRow::Message(author, _)), false) => {
                (author.as_deref() != Some(claim.author_id.as_str())).then_some(Reason::Author)
            }
        }
    }

    /// A row with the posted payload, at any key.
    pub(super) fn faithful(&self) -> Option<&LedgerKey> {
        let claimed = &self.claim.as_ref()?.digest;
        let is_faithful = |listed: &ListedRow| matches!(listed, ListedRow::Message(_, payload) if payload == claimed);
        self.rows.iter().find(|(_, listed)| is_faithful(listed)).map(|(key, _)| key)
    }
}

impl ListedRow {
    /// Everything stored counts, even what no writer can have written.
    fn read(row: &Row<'_>) -> Self {
        if row.flag("deleted").is_ok_and(|deleted| deleted) {
            return Self::Tombstone;
        }
        let text = |name| row.optional_text(name).ok().flatten();
        let payload = text("payload").and_then(|payload| Payload::stored(payload).ok());
        Self::Message(text("author_id").map(ToOwned::to_owned), payload.as_ref().map(digest))
    }
}

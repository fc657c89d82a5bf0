//! Messages written and deleted: [`crate::rooms`] argues why no order of arrival loses one or brings one back.

use std::time::Duration;

use futures::future::try_join;

use super::{MessageDeleted, MessageKey, MessagePosted, Rooms, Shards, keys};
use crate::crypto::hash::sha256;
use crate::dynamo::item::{Item, Row, number, text, truth};
use crate::dynamo::{Condition, DynamoError, Put};
use crate::ledger::{FORGET_AT, LedgerKey};
use crate::runtime::deadline::Deadline;
use crate::values::{MessageId, Payload, RoomId, Timestamp, ViewerId};

/// How long the tombstones of a message are kept: longer than any delivery lives that may be about to write its rows.
pub const TOMBSTONES_KEPT: Duration = Duration::from_secs(3 * 86_400);

/// Digits of the digest that tells one payload from another.
const DIGEST_DIGITS: usize = 32;

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    /// It is in its place.
    Done,
    /// Its author has deleted it.
    Deleted,
    /// The same was posted before with another payload, which stays.
    Repeated,
    /// Its id belongs to another author's message, or to one of another instant. Permanently.
    Taken,
}

/// Whose the id of a message is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// Its author.
    pub author_id: ViewerId,
    /// When it was said.
    pub at: Timestamp,
    /// By which number of shards it was spread.
    pub shards: Shards,
    /// It was erased with its author, and all that is left of it expires.
    pub erased: bool,
    /// What tells its payload from another; not of one that was erased.
    pub(super) digest: Option<String>,
}

impl Claimed {
    fn of(post: &MessagePosted, shards: Shards) -> Self {
        let author_id = post.key.author_id.clone();
        Self { author_id, at: post.at, shards, erased: false, digest: Some(digest(&post.payload)) }
    }

    /// True if it is this payload that was posted.
    #[must_use]
    pub fn says(&self, payload: &Payload) -> bool {
        self.digest == Some(digest(payload))
    }

    /// Reads a claim.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        Ok(Self {
            author_id: row.parsed("author_id", "an id")?,
            at: row.parsed("at", "an instant")?,
            shards: Shards::read(row)?,
            erased: row.item.contains_key(FORGET_AT),
            digest: row.optional_text("digest")?.map(ToOwned::to_owned),
        })
    }

    fn write(&self) -> Item {
        let mut item = Item::from([
            ("author_id".to_owned(), text(self.author_id.as_str())),
            ("at".to_owned(), text(self.at.to_string())),
            ("shards".to_owned(), number(self.shards)),
        ]);
        item.extend(self.digest.as_ref().map(|digest| ("digest".to_owned(), text(digest))));
        item
    }

    /// Where the two rows of the message are: in its room, and by its author.
    #[must_use]
    pub fn rows(&self, room: &RoomId, message: &MessageId) -> [LedgerKey; 2] {
        let (room_id, message_id) = (room.clone(), message.clone());
        let key = MessageKey { room_id, message_id, author_id: self.author_id.clone() };
        let sk = key.sort_key(self.at).to_string();
        let shard = keys::shard(room, self.shards.of(message));
        let said = keys::said(room, &self.author_id);
        [LedgerKey { pk: shard, sk: sk.clone() }, LedgerKey { pk: said, sk }]
    }
}

impl Rooms {
    /// Records a message, unless it is deleted or its id is taken.
    ///
    /// # Errors
    /// [`DynamoError`]; parts of it may be recorded, and posting it again completes it.
    pub async fn post(
        &self,
        post: &MessagePosted,
        deadline: Deadline,
    ) -> Result<Posted, DynamoError> {
        let MessageKey { room_id, message_id, .. } = &post.key;
        let shards = self.recalled(room_id, deadline).await?.shards;
        let claimed = match self.claim(post, shards, deadline).await? {
            there if there.author_id != post.key.author_id || there.at != post.at => {
                return Ok(Posted::Taken);
            }
            there if !there.says(&post.payload) => return Ok(Posted::Repeated),
            there => there,
        };
        if self.is_deleted(&post.key, deadline).await? {
            return Ok(Posted::Deleted);
        }
        let [row, authors] = claimed.rows(room_id, message_id);
        try_join(
            self.put_row(room_id, row, post, claimed.shards, deadline),
            self.ledger.put_if(authors, content(post), absent(), deadline),
        )
        .await?;
        Ok(Posted::Done)
    }

    /// Claims the id of a message. Returns whose it is.
    async fn claim(
        &self,
        post: &MessagePosted,
        shards: Shards,
        deadline: Deadline,
    ) -> Result<Claimed, DynamoError> {
        let ours = Claimed::of(post, shards);
        let key = keys::claim(&post.key.room_id, &post.key.message_id);
        // One that is there stays as it is, even if it is this post's own: it may be marked as expired.
        Ok(match self.ledger.put_if(key, ours.write(), absent(), deadline).await? {
            Put::Done => ours,
            Put::Refused(there) => Claimed::read(&self.ledger.table().row(there))?,
        })
    }

    /// Puts the row of a message into its shard. If the shard is too busy, the messages after it are spread over more.
    async fn put_row(
        &self,
        room: &RoomId,
        key: LedgerKey,
        post: &MessagePosted,
        shards: Shards,
        deadline: Deadline,
    ) -> Result<Put, DynamoError> {
        let put = self.ledger.put_unless_hot(key.clone(), content(post), absent(), deadline);
        if let Some(put) = put.await? {
            return Ok(put);
        }
        self.grow(room, shards, deadline).await?;
        self.ledger.put_if(key, content(post), absent(), deadline).await
    }

    /// Deletes a message, if it is this author's, or keeps that they have for when it comes.
    ///
    /// # Errors
    /// [`DynamoError`]; parts of it may be deleted, and deleting it again completes it.
    pub async fn delete(
        &self,
        MessageDeleted { key }: &MessageDeleted,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let MessageKey { room_id, message_id, author_id } = key;
        let marker = [("author_id".to_owned(), text(author_id.as_str()))];
        self.ledger.put_if(keys::marker(key), marker, absent(), deadline).await?;
        let claimed = self.claimed(room_id, message_id, deadline).await?;
        // The erasure has left tombstones before it marked the claim, and they are not to outlive the mark.
        let theirs = claimed.filter(|it| it.author_id == *author_id && !it.erased);
        let Some(claimed) = theirs else { return Ok(()) };
        let [row, authors] = claimed.rows(room_id, message_id);
        try_join(
            self.ledger.put(row, tombstone(now), deadline),
            self.ledger.put(authors, tombstone(now), deadline),
        )
        .await?;
        Ok(())
    }

    /// Whose the id of a message is, if anybody's.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn claimed(
        &self,
        room: &RoomId,
        message: &MessageId,
        deadline: Deadline,
    ) -> Result<Option<Claimed>, DynamoError> {
        let row = self.ledger.get(keys::claim(room, message), deadline).await?;
        row.as_ref().map(Claimed::read).transpose()
    }

    /// True if this author has deleted the message, or will have once it is theirs.
    ///
    /// # Errors
    /// [`DynamoError`]
    pub async fn is_deleted(
        &self,
        key: &MessageKey,
        deadline: Deadline,
    ) -> Result<bool, DynamoError> {
        Ok(self.ledger.get(keys::marker(key), deadline).await?.is_some())
    }
}

fn absent() -> Condition<'static> {
    Condition::new("attribute_not_exists(pk)")
}

fn content(post: &MessagePosted) -> Item {
    Item::from([
        ("author_id".to_owned(), text(post.key.author_id.as_str())),
        ("payload".to_owned(), text(post.payload.as_json())),
    ])
}

/// What is left of a message in its place: neither who said it nor what.
fn tombstone(now: Timestamp) -> Item {
    let kept = i64::try_from(TOMBSTONES_KEPT.as_secs()).unwrap_or(i64::MAX);
    Item::from([
        ("deleted".to_owned(), truth(true)),
        (FORGET_AT.to_owned(), number(now.unix_millis() / 1000 + kept)),
    ])
}

pub(super) fn digest(payload: &Payload) -> String {
    let mut digits = sha256(payload.as_json().as_bytes());
    digits.truncate(DIGEST_DIGITS);
    digits
}

//! Writes and deletes messages. [`crate::social::rooms`] argues why no order of arrival loses a message or brings one back.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::{BoxFuture, try_join};

use super::arrivals::{Arrival, ArrivalPosition};
use super::{MessageDeleted, MessageKey, MessagePosted, Rooms, Shards, keys};
use crate::platform::crypto::hash::sha256;
use crate::platform::dynamo::item::{Item, Row, number, text, truth};
use crate::platform::dynamo::{Condition, DynamoError, Put};
use crate::platform::ledger::{FORGET_AT, LedgerKey};
use crate::platform::values::{MessageId, Payload, RoomId, Timestamp, ViewerId};

/// How long tombstones are kept: longer than a delivery that may be about to write the rows can live.
pub const TOMBSTONES_KEPT: Duration = Duration::from_secs(3 * 86_400);

/// The digits of the digest of a payload.
const DIGEST_DIGITS: usize = 32;

/// The outcome of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Posted {
    Done,
    Deleted,
    /// The message was posted before with another payload, which stays.
    Repeated,
    /// Its id permanently belongs to a message with another author, another instant, or other privacy.
    Taken,
}

/// The claim of the id of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    pub author_id: ViewerId,
    /// When it was said.
    pub at: Timestamp,
    /// The number of shards that it was spread over.
    pub shards: Shards,
    /// True if it made the room private.
    pub private: bool,
    /// True if it was erased with its author; what is left of it expires.
    pub erased: bool,
    /// The digest of its payload; `None` if it was erased.
    pub(super) digest: Option<String>,
}

impl Claimed {
    fn new(post: &MessagePosted, shards: Shards) -> Self {
        let MessagePosted { key, at, payload, private } = post;
        let (author_id, digest) = (key.author_id.clone(), Some(digest(payload)));
        Self { author_id, at: *at, shards, private: *private, erased: false, digest }
    }

    /// True if the post has the same author, instant and privacy.
    fn is_of(&self, post: &MessagePosted) -> bool {
        let MessagePosted { key, at, private, .. } = post;
        (&self.author_id, self.at, self.private) == (&key.author_id, *at, *private)
    }

    /// True if this is the payload that was posted.
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
            private: row.flag("private")?,
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
        item.extend(self.private.then(|| ("private".to_owned(), truth(true))));
        item.extend(self.digest.as_ref().map(|digest| ("digest".to_owned(), text(digest))));
        item
    }

    /// The keys of its two rows: in its room, and under its author.
    pub fn rows(&self, room: &RoomId, message: &MessageId) -> [LedgerKey; 2] {
        let (room_id, message_id) = (room.clone(), message.clone());
        let key = MessageKey { room_id, message_id, author_id: self.author_id.clone() };
        keys::rows(&key, self.at, self.shards)
    }
}

impl Rooms {
    /// Records a message, unless it is deleted or its id is taken. A private message makes its room private first, even if it is
    /// not recorded.
    ///
    /// # Errors
    /// [`DynamoError`]; parts of it may be recorded, and posting it again completes it.
    pub fn post<'a>(
        &'a self,
        post: &'a MessagePosted,
    ) -> BoxFuture<'a, Result<Posted, DynamoError>> {
        Box::pin(async move {
            let room = self.room(&post.key.room_id).await?;
            if post.private && !room.private {
                self.make_private(&post.key.room_id).await?;
            }
            let claimed = match self.claim(post, room.shards).await? {
                there if !there.is_of(post) => return Ok(Posted::Taken),
                there if !there.says(&post.payload) => return Ok(Posted::Repeated),
                there => there,
            };
            let arrival = Arrival::new(post, claimed.shards);
            let ([row, authors], marker) = (arrival.rows(), keys::marker(&post.key));
            let keys = vec![row.clone(), authors.clone(), marker.clone()];
            let there = self.items_at(keys).await?;
            if there.contains_key(&marker) {
                self.take_out_last(&post.key).await?;
                return Ok(Posted::Deleted);
            }
            let before = there.get(&row).or(there.get(&authors));
            match before.map(ArrivalPosition::of_row).transpose()?.flatten() {
                // It was delivered before, and keeps its position.
                Some(position) => self.put_rows(&arrival, position).await?,
                None => self.arrive(arrival).await?,
            }
            Ok(Posted::Done)
        })
    }

    /// Claims the id of a message. Returns the claim in force.
    async fn claim(&self, post: &MessagePosted, shards: Shards) -> Result<Claimed, DynamoError> {
        let ours = Claimed::new(post, shards);
        let key = keys::claim(&post.key.room_id, &post.key.message_id);
        // An existing claim stays as it is, even that of this post: it may be marked as expired.
        Ok(match self.ledger.put_if(key, ours.write(), absent()).await? {
            Put::Done => ours,
            Put::Refused(there) => Claimed::read(&self.ledger.table().row(there))?,
        })
    }

    /// Puts the rows of a message that has arrived, where nothing is. A row that exists has the true position of the message; the
    /// given position is then unused, and its arrival is removed.
    pub(super) async fn put_rows(
        &self,
        arrival: &Arrival,
        position: ArrivalPosition,
    ) -> Result<(), DynamoError> {
        let [row, authors] = arrival.rows();
        let (mut truly, mut is_deleted) = (Some(position), false);
        if let Put::Refused(there) = self.put_row(row, arrival, position).await? {
            let there = self.ledger.table().row(there);
            (truly, is_deleted) = (ArrivalPosition::of_row(&there)?, there.flag("deleted")?);
        }
        if is_deleted || truly != Some(position) {
            self.take_out_arrival(&arrival.key, position).await?;
        }
        if !is_deleted {
            let content = content(arrival, truly.unwrap_or(position));
            self.ledger.put_if(authors, content, absent()).await?;
        }
        Ok(())
    }

    /// Puts the row of a message into its shard. If the shard is throttled, later messages are spread over more shards.
    async fn put_row(
        &self,
        key: LedgerKey,
        arrival: &Arrival,
        position: ArrivalPosition,
    ) -> Result<Put, DynamoError> {
        let content = content(arrival, position);
        let put = self.ledger.put_unless_hot(key.clone(), content.clone(), absent());
        if let Some(put) = put.await? {
            return Ok(put);
        }
        self.grow(&arrival.key.room_id, arrival.shards).await?;
        self.ledger.put_if(key, content, absent()).await
    }

    /// Deletes a message if it is by this author, or notes the delete for when the message comes.
    ///
    /// # Errors
    /// [`DynamoError`]; parts of it may be deleted, and deleting it again completes it.
    pub async fn delete(
        &self,
        MessageDeleted { key }: &MessageDeleted,
        now: Timestamp,
    ) -> Result<(), DynamoError> {
        let MessageKey { room_id, message_id, author_id } = key;
        let marker = [("author_id".to_owned(), text(author_id.as_str()))];
        self.ledger.put_if(keys::marker(key), marker, absent()).await?;
        let claimed = self.claimed(room_id, message_id).await?;
        // The erasure put tombstones before it marked the claim, and they must not outlive the mark.
        let theirs = claimed.filter(|it| it.author_id == *author_id && !it.erased);
        let Some(claimed) = theirs else { return Ok(()) };
        let [row, authors] = claimed.rows(room_id, message_id);
        let (position, ()) =
            try_join(self.cover(row, now), self.ledger.put(authors, tombstone(None, now))).await?;
        if let Some(position) = position {
            self.take_out_arrival(key, position).await?;
        }
        self.take_out_last(key).await
    }

    /// Puts a tombstone over the row of a message. Returns its position, if the row has one: a delivery that puts the row later is
    /// refused, and removes its arrival itself.
    async fn cover(
        &self,
        row: LedgerKey,
        now: Timestamp,
    ) -> Result<Option<ArrivalPosition>, DynamoError> {
        let there = match self.ledger.get(row.clone()).await? {
            Some(there) => there,
            None => {
                let put = self.ledger.put_if(row.clone(), tombstone(None, now), absent());
                match put.await? {
                    Put::Done => return Ok(None),
                    Put::Refused(there) => self.ledger.table().row(there),
                }
            }
        };
        let position = ArrivalPosition::of_row(&there)?;
        self.ledger.put(row, tombstone(position, now)).await?;
        Ok(position)
    }

    /// The claim of the id of a message, if there is one.
    pub async fn claimed(
        &self,
        room: &RoomId,
        message: &MessageId,
    ) -> Result<Option<Claimed>, DynamoError> {
        let row = self.ledger.get(keys::claim(room, message)).await?;
        row.as_ref().map(Claimed::read).transpose()
    }

    /// True if there is a marker of this author for the message.
    pub async fn is_deleted(&self, key: &MessageKey) -> Result<bool, DynamoError> {
        Ok(self.ledger.get(keys::marker(key)).await?.is_some())
    }
}

fn absent() -> Condition<'static> {
    Condition::new("attribute_not_exists(pk)")
}

fn content(arrival: &Arrival, position: ArrivalPosition) -> Item {
    Item::from([
        ("author_id".to_owned(), text(arrival.key.author_id.as_str())),
        ("payload".to_owned(), text(arrival.payload.as_json())),
        arrived(position),
    ])
}

fn arrived(ArrivalPosition(position): ArrivalPosition) -> (String, AttributeValue) {
    ("arrived".to_owned(), number(position))
}

/// The tombstone of a message, without its author and payload.
fn tombstone(position: Option<ArrivalPosition>, now: Timestamp) -> Item {
    let mut item = Item::from([
        ("deleted".to_owned(), truth(true)),
        (FORGET_AT.to_owned(), number(now.unix_seconds_after(TOMBSTONES_KEPT))),
    ]);
    item.extend(position.map(arrived));
    item
}

pub(super) fn digest(payload: &Payload) -> String {
    let mut digits = sha256(payload.as_json().as_bytes());
    digits.truncate(DIGEST_DIGITS);
    digits
}

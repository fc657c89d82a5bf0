//! The keys of rooms in the ledger.
//!
//! ```text
//! message#<room>#<message>   claim              whose the id is
//! message#<room>#<message>   deleted#<author>   this author has deleted it
//! room#<room>                room               whether it is private, and how many shards it has
//! room#<room>#<shard>        <sort key>         a message, or its tombstone
//! said#<room>#<author>       <sort key>         the same, by author
//! arrived#<room>             <number>           messages in the order of arrival
//! person#<viewer>#rooms      room#<room>        whether the viewer is in the room
//! ```
//!
//! A claim and its markers have a partition of their own, so only the rows of a busy room share partitions.

use super::Shards;
use crate::dynamo::Query;
use crate::dynamo::item::text;
use crate::ledger::{LedgerKey, PERSON};
use crate::values::{MessageId, RoomId, SortKey, Timestamp, ViewerId};

const MESSAGE: &str = "message#";
const ROOM: &str = "room#";
const SAID: &str = "said#";
const ARRIVED: &str = "arrived#";
const CLAIM: &str = "claim";
const DELETED: &str = "deleted#";
const ITEM: &str = "room";
const MEMBERSHIPS: &str = "#rooms";

/// A message of one author.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageKey {
    pub room_id: RoomId,
    /// Which message; unique within the room.
    pub message_id: MessageId,
    pub author_id: ViewerId,
}

/// What an item of this feature is, by its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoomItem {
    Claim(RoomId, MessageId),
    Marker(MessageKey),
    Room(RoomId),
    Row(RoomId, MessageId),
    /// The message, under its author.
    AuthorRow(MessageKey),
    /// Some messages in the order of arrival.
    Arrivals(RoomId),
}

impl RoomItem {
    /// Which message it is about, if it is about one.
    #[must_use]
    pub fn message(&self) -> Option<(&RoomId, &MessageId)> {
        match self {
            Self::Room(_) | Self::Arrivals(_) => None,
            Self::Claim(room, message) | Self::Row(room, message) => Some((room, message)),
            Self::Marker(key) | Self::AuthorRow(key) => Some((&key.room_id, &key.message_id)),
        }
    }
}

/// Parses the key of an item; `None` if it is not one of this feature's, or is about one person alone.
#[must_use]
pub fn of_key(pk: &str, sk: &str) -> Option<RoomItem> {
    if let Some(rest) = pk.strip_prefix(MESSAGE) {
        let (room, message) = rest.split_once('#')?;
        let (room_id, message_id) = (RoomId::new(room).ok()?, MessageId::new(message).ok()?);
        if sk == CLAIM {
            return Some(RoomItem::Claim(room_id, message_id));
        }
        let author_id = ViewerId::new(sk.strip_prefix(DELETED)?).ok()?;
        return Some(RoomItem::Marker(MessageKey { room_id, message_id, author_id }));
    }
    let message = || SortKey::parse(sk).ok().map(|key| MessageId::from(key.activity_id));
    if let Some(rest) = pk.strip_prefix(SAID) {
        let (room, author) = rest.split_once('#')?;
        let (room_id, author_id) = (RoomId::new(room).ok()?, ViewerId::new(author).ok()?);
        return Some(RoomItem::AuthorRow(MessageKey {
            room_id,
            message_id: message()?,
            author_id,
        }));
    }
    if let Some(room) = pk.strip_prefix(ARRIVED) {
        sk.parse::<u64>().ok()?;
        return RoomId::new(room).ok().map(RoomItem::Arrivals);
    }
    let rest = pk.strip_prefix(ROOM)?;
    match rest.split_once('#') {
        None if sk == ITEM => RoomId::new(rest).ok().map(RoomItem::Room),
        None => None,
        Some((room, shard)) => {
            shard.parse::<u16>().ok()?;
            Some(RoomItem::Row(RoomId::new(room).ok()?, message()?))
        }
    }
}

/// The key of the claim of a message.
#[must_use]
pub fn claim(room: &RoomId, message: &MessageId) -> LedgerKey {
    LedgerKey { pk: format!("{MESSAGE}{room}#{message}"), sk: CLAIM.to_owned() }
}

/// The key of the marker that an author has deleted a message.
#[must_use]
pub fn marker(key: &MessageKey) -> LedgerKey {
    let MessageKey { room_id, message_id, author_id } = key;
    LedgerKey { pk: format!("{MESSAGE}{room_id}#{message_id}"), sk: marker_sort_key(author_id) }
}

/// The sort key of every marker of an author.
#[must_use]
pub fn marker_sort_key(author: &ViewerId) -> String {
    format!("{DELETED}{author}")
}

/// The key of the item of a room.
#[must_use]
pub fn room(room: &RoomId) -> LedgerKey {
    LedgerKey { pk: format!("{ROOM}{room}"), sk: ITEM.to_owned() }
}

/// The partition of a shard, which lists messages by sort key.
#[must_use]
pub fn shard(room: &RoomId, shard: u16) -> String {
    format!("{ROOM}{room}#{shard}")
}

/// The partition with the messages of an author in a room, by sort key.
#[must_use]
pub fn said(room: &RoomId, author: &ViewerId) -> String {
    format!("{SAID}{room}#{author}")
}

/// The keys of the two rows of a message: in its room, and under its author.
#[must_use]
pub fn rows(key: &MessageKey, at: Timestamp, shards: Shards) -> [LedgerKey; 2] {
    let sk = key.sort_key(at).to_string();
    let shard = shard(&key.room_id, shards.of(&key.message_id));
    let said = said(&key.room_id, &key.author_id);
    [LedgerKey { pk: shard, sk: sk.clone() }, LedgerKey { pk: said, sk }]
}

/// The partition of a room's list of arrivals.
#[must_use]
pub fn arrivals(room: &RoomId) -> String {
    format!("{ARRIVED}{room}")
}

/// The key of a row of arrivals.
#[must_use]
pub fn arrival(room: &RoomId, number: u64) -> LedgerKey {
    LedgerKey { pk: arrivals(room), sk: arrival_sort_key(number) }
}

/// The sort key of a row of arrivals: the order of bytes is that of numbers.
#[must_use]
pub fn arrival_sort_key(number: u64) -> String {
    format!("{number:016}")
}

/// The key of the membership of a viewer in a room. A room may have the id of a person, so the sort key has a prefix.
#[must_use]
pub fn membership(viewer: &ViewerId, room: &RoomId) -> LedgerKey {
    LedgerKey { pk: format!("{PERSON}{viewer}{MEMBERSHIPS}"), sk: format!("{ROOM}{room}") }
}

/// The room of a membership, by its key.
#[must_use]
pub fn room_of_membership(pk: &str, sk: &str) -> Option<RoomId> {
    pk.strip_prefix(PERSON)?.strip_suffix(MEMBERSHIPS)?;
    RoomId::new(sk.strip_prefix(ROOM)?).ok()
}

/// The filter of a scan for all items of rooms, including memberships: of one room, or of all.
#[must_use]
pub fn items_of(room: Option<&RoomId>) -> Query<'static> {
    let prefix = room.map_or_else(String::new, |room| format!("{room}#"));
    let of = |start: &str| text(format!("{start}{prefix}"));
    let membership = room.map_or_else(|| ROOM.to_owned(), |room| format!("{ROOM}{room}"));
    Query {
        filter: Some(
            "begins_with(pk, :message) OR begins_with(pk, :room) OR begins_with(pk, :said) \
             OR (begins_with(pk, :person) AND begins_with(sk, :membership))",
        ),
        values: vec![
            (":message", of(MESSAGE)),
            (":room", of(ROOM)),
            (":said", of(SAID)),
            (":person", text(PERSON)),
            (":membership", text(membership)),
        ],
        ..Query::default()
    }
}

/// The filter of a scan for all claims, by which rooms with messages are found.
#[must_use]
pub fn claims() -> Query<'static> {
    Query {
        filter: Some("begins_with(pk, :message) AND sk = :claim"),
        projection: Some("pk, sk"),
        values: vec![(":message", text(MESSAGE)), (":claim", text(CLAIM))],
        ..Query::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Timestamp;

    #[test]
    fn every_key_says_what_its_item_is() {
        let (room_id, message_id) =
            (RoomId::new("r:1").expect("an id"), MessageId::new("m-1").expect("an id"));
        let author_id = ViewerId::new("bob").expect("an id");
        let key = MessageKey {
            room_id: room_id.clone(),
            message_id: message_id.clone(),
            author_id: author_id.clone(),
        };
        let of = |key: LedgerKey| of_key(&key.pk, &key.sk);
        let row = key.sort_key(Timestamp::from_unix_millis(0)).to_string();
        assert_eq!(
            of(claim(&room_id, &message_id)),
            Some(RoomItem::Claim(room_id.clone(), message_id.clone()))
        );
        assert_eq!(of(marker(&key)), Some(RoomItem::Marker(key.clone())));
        assert_eq!(of(room(&room_id)), Some(RoomItem::Room(room_id.clone())));
        assert_eq!(
            of_key(&shard(&room_id, 3), &row),
            Some(RoomItem::Row(room_id.clone(), message_id))
        );
        assert_eq!(of_key(&said(&room_id, &author_id), &row), Some(RoomItem::AuthorRow(key)));
        assert_eq!(of(membership(&author_id, &room_id)), None);
        let arrived = of(arrival(&room_id, 7));
        assert_eq!(arrived, Some(RoomItem::Arrivals(room_id)));
        for (pk, sk) in [
            ("room#r", "rooms"),
            ("room#r#x", row.as_str()),
            ("room#r#1", "room"),
            ("said#r#b#c", row.as_str()),
            ("arrived#r", "last"),
            ("message#r", "claim"),
            ("message#r#m", "deleted"),
        ] {
            assert_eq!(of_key(pk, sk), None, "{pk} {sk}");
        }
    }
}

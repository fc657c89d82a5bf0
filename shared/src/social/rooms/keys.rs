//! The keys of rooms in the ledger.
//!
//! A claim and its markers have a partition of their own, so only the rows of a busy room share partitions.

use super::Shards;
use crate::platform::dynamo::item::text;
use crate::platform::dynamo::{Query, keys};
use crate::platform::ledger::{LedgerKey, PERSON};
use crate::platform::message::members;
use crate::platform::values::{MessageId, RoomId, SortKey, Timestamp, ViewerId};

const MESSAGE: &str = "message#";
const ROOM: &str = "room#";
const SAID: &str = "said#";

members! {
    /// A message of one author.
    MessageKey: PartialOrd, Ord, Hash {
        /// The room's id.
        room_id: RoomId,
        /// The message's id, unique within the room.
        message_id: MessageId,
        /// The author.
        author_id: ViewerId,
    }
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
    pub fn message(&self) -> Option<(&RoomId, &MessageId)> {
        match self {
            Self::Room(_) | Self::Arrivals(_) => None,
            Self::Claim(room, message) | Self::Row(room, message) => Some((room, message)),
            Self::Marker(key) | Self::AuthorRow(key) => Some((&key.room_id, &key.message_id)),
        }
    }
}

keys! {
    /// Parses the key of an item; `None` if it is not one of this feature's, or is about one person alone.
    pub fn of_key -> RoomItem;
    partitions {
        message(room_id: RoomId, message_id: MessageId) = "message#{room_id}#{message_id}";
        room_itself(room: RoomId) = "room#{room}";
        /// A shard, which lists messages by sort key.
        pub shard(room: RoomId, shard: u16) = "room#{room}#{shard}";
        /// The messages of an author in a room, by sort key.
        pub said(room_id: RoomId, author_id: ViewerId) = "said#{room_id}#{author_id}";
        /// A room's list of arrivals.
        pub arrivals(room: RoomId) = "arrived#{room}";
        memberships(viewer: ViewerId) = "person#{viewer}#rooms";
    }
    items {
        /// The claim of a message id, which says who its author is.
        pub claim(room_id: RoomId, message_id: MessageId) = message(room_id, message_id), "claim" in Ledger as "message claim" {
            says: "whose the message {message_id} in {room_id} is",
            most: 1_024, grows: "nothing: written once",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Never, erased: Tombstone,
        }
            => RoomItem::Claim(room_id, message_id);
        marker_of(room_id: RoomId, message_id: MessageId, author_id: ViewerId)
            = message(room_id, message_id), "deleted#{author_id}" in Ledger as "message delete" {
            says: "{author_id} deleted the message {message_id}",
            most: 1_024, grows: "nothing",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Never, erased: Tombstone,
        }
            => RoomItem::Marker(MessageKey { room_id, message_id, author_id });
        /// The item of a room: whether it is private, and how many shards it has.
        pub room(room: RoomId) = room_itself(room), "room" in Ledger as "room" {
            says: "what is known of the room {room}",
            most: 768, grows: "nothing",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Kept, erased: Gone,
        } => RoomItem::Room(room);
        row(room_id: RoomId, nth: u16, sort_key: SortKey) = shard(room_id, nth), "{sort_key}" in Ledger as "message" {
            says: "a message in {room_id}: {sort_key}",
            most: 6_144, grows: "the payload, written once",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Emptied, erased: Tombstone,
        }
            => RoomItem::Row(room_id, sort_key.activity_id.into());
        authors_row(room_id: RoomId, author_id: ViewerId, sort_key: SortKey)
            = said(room_id, author_id), "{sort_key}" in Ledger as "message by author" {
            says: "{sort_key} among what {author_id} said in {room_id}",
            most: 6_144, grows: "the payload, written once",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Emptied, erased: Tombstone,
        }
            => RoomItem::AuthorRow(MessageKey {
                room_id,
                message_id: sort_key.activity_id.into(),
                author_id,
            });
        /// A row of arrivals. The order of its sort keys is that of numbers.
        pub arrival(room: RoomId, number: u64) = arrivals(room), "{number:016}" in Ledger as "arrivals" {
            says: "messages in the order of their arrival in {room}",
            most: 40_000, grows: "messages that wait at the same moment",
            at_bound: "they go into the next row",
            test: "`rooms::busy`",
            later: Kept, erased: Gone,
        }
            => RoomItem::Arrivals(room);
        /// The membership of a viewer in a room. A room may have the id of a person, so the sort key has a prefix.
        pub membership(viewer: ViewerId, room: RoomId) = memberships(viewer), "room#{room}" in Ledger as "membership" {
            says: "whether {viewer} is a member of {room}",
            most: 768, grows: "nothing: one row for a viewer and a room, whatever is repeated",
            at_bound: "cannot be exceeded",
            test: "the model test, with repeaters",
            later: Kept, erased: Tombstone,
        };
    }
}

/// The key of the marker that an author has deleted a message.
pub fn marker(key: &MessageKey) -> LedgerKey {
    marker_of(&key.room_id, &key.message_id, &key.author_id)
}

/// The keys of the two rows of a message: in its room, and under its author.
pub fn rows(key: &MessageKey, at: Timestamp, shards: Shards) -> [LedgerKey; 2] {
    let (room, sort_key) = (&key.room_id, key.sort_key(at));
    let shard = shards.shard_of(&key.message_id);
    [row(room, &shard, &sort_key), authors_row(room, &key.author_id, &sort_key)]
}

/// The room of a membership, by its key.
pub fn room_of_membership(pk: &str, sk: &str) -> Option<RoomId> {
    pk.strip_prefix(PERSON)?.strip_suffix("#rooms")?;
    RoomId::new(sk.strip_prefix(ROOM)?).ok()
}

/// The filter of a scan for all items of rooms, including memberships: of one room, or of all.
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
pub fn claims() -> Query<'static> {
    Query {
        filter: Some("begins_with(pk, :message) AND sk = :claim"),
        projection: Some("pk, sk"),
        values: vec![(":message", text(MESSAGE)), (":claim", text("claim"))],
        ..Query::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::values::Timestamp;

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
            of_key(&shard(&room_id, &3), &row),
            Some(RoomItem::Row(room_id.clone(), message_id))
        );
        assert_eq!(of_key(&said(&room_id, &author_id), &row), Some(RoomItem::AuthorRow(key)));
        assert_eq!(of(membership(&author_id, &room_id)), None);
        let arrived = of(arrival(&room_id, &7));
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

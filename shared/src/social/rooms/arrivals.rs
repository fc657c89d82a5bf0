//! The order in which messages arrive, whatever their `at`. Clients that follow a room read it.
//!
//! # The list
//!
//! A room has one list of *arrivals*, whose rows are numbered 1, 2, 3, … A row has a batch of messages, with everything that
//! readers are shown. A writer puts a row at the number after the last, under the condition that nothing is there
//! ([`append`](super::appending)). So a number is used once, the list has no gaps, and no row ever appears below an existing one:
//! a reader that has read up to a row has read everything below it.
//!
//! The [`ArrivalPosition`] of a message is the number of its row and its index in the row. It is stored with the rows of the
//! message. Only the first put of a row counts, so a message has one position, however often it was delivered. An entry of the
//! list whose message has another position is ignored.
//!
//! # The last row
//!
//! A row is *whole* once all its messages are written in their room and under their authors, or are deleted. A command is
//! acknowledged when the row of its message is whole, and a row is appended only when the one before it is whole. So all rows
//! except the last are whole, and nothing of a row that is not whole is acknowledged.
//!
//! # Bounds
//!
//! A row has at most [`MOST`] messages and [`MOST_BYTES`] of payloads, or one message. It is only changed to remove deleted
//! messages. A room has at most one row for each message, and one for each delivery that crashed between the row and the message,
//! or met another delivery of the same message at the same moment.

use std::collections::{BTreeSet, HashMap};

use aws_sdk_dynamodb::types::AttributeValue;

use super::{MessageKey, MessagePosted, Rooms, Shards, keys};
use crate::platform::dynamo::item::{Item, Row, list, number, text, truth};
use crate::platform::dynamo::{DynamoError, Query, Update};
use crate::platform::ledger::LedgerKey;
use crate::platform::values::{Payload, RoomId, SortKey, Timestamp, ViewerId};

/// The most messages in a row.
pub(super) const MOST: usize = 1 << INDEX_BITS;
/// The most bytes of payloads in a row of several messages.
pub(super) const MOST_BYTES: usize = 12 * 1024;
const INDEX_BITS: u32 = 6;
/// What an entry takes beside its payload, in bytes.
const ENTRY_BYTES: usize = 350;
const MESSAGES: &str = "messages";

/// The position of a message in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArrivalPosition(pub u64);

impl ArrivalPosition {
    /// Before the first.
    pub const NOTHING: Self = Self(MOST as u64 - 1);

    /// The position of a message, by its row and its index there.
    pub fn new(row: u64, index: usize) -> Self {
        Self((row << INDEX_BITS) | (index as u64 % MOST as u64))
    }

    /// The last position of a row.
    pub fn end_of(row: u64) -> Self {
        Self::new(row, MOST - 1)
    }

    pub fn row(self) -> u64 {
        self.0 >> INDEX_BITS
    }

    fn index(self) -> u64 {
        self.0 % MOST as u64
    }

    /// Reads the position of a message.
    pub(super) fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        row.count("arrived").map(Self)
    }

    /// Reads the position from a row of a message or its tombstone. The tombstone of a message that has not arrived has none.
    pub(super) fn of_row(row: &Row<'_>) -> Result<Option<Self>, DynamoError> {
        let is_there = row.item.contains_key("arrived");
        is_there.then(|| Self::read(row)).transpose()
    }
}

/// A message that arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arrival {
    pub key: MessageKey,
    /// When it was said.
    pub at: Timestamp,
    pub payload: Payload,
    /// The number of shards that it is spread over.
    pub shards: Shards,
}

impl Arrival {
    pub(super) fn new(post: &MessagePosted, shards: Shards) -> Self {
        let MessagePosted { key, at, payload, .. } = post.clone();
        Self { key, at, payload, shards }
    }

    /// The keys of its rows: in its room, and under its author.
    pub fn rows(&self) -> [LedgerKey; 2] {
        keys::rows(&self.key, self.at, self.shards)
    }

    fn write(&self) -> AttributeValue {
        AttributeValue::M(Item::from([
            ("message_id".to_owned(), text(self.key.message_id.as_str())),
            ("author_id".to_owned(), text(self.key.author_id.as_str())),
            ("at".to_owned(), text(self.at.to_string())),
            ("payload".to_owned(), text(self.payload.as_json())),
            ("shards".to_owned(), number(self.shards)),
        ]))
    }

    /// Reads an entry; `None` if the message was removed.
    fn read(room: &RoomId, entry: &Row<'_>) -> Result<Option<Self>, DynamoError> {
        if entry.flag("deleted")? {
            return Ok(None);
        }
        let payload = Payload::stored(entry.text("payload")?)
            .map_err(|_| entry.corrupt("payload", "a JSON value of at most 4 KiB"))?;
        let key = MessageKey {
            room_id: room.clone(),
            message_id: entry.parsed("message_id", "an id")?,
            author_id: entry.parsed("author_id", "an id")?,
        };
        let (at, shards) = (entry.parsed("at", "an instant")?, Shards::read(entry)?);
        Ok(Some(Self { key, at, payload, shards }))
    }
}

/// A row of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrivalRow {
    pub number: u64,
    /// Its messages; `None` for those that were removed.
    entries: Vec<Option<Arrival>>,
}

impl ArrivalRow {
    /// Its size in bytes, or a little more.
    pub fn bytes(&self) -> usize {
        let payloads = self.arrivals().map(|(_, it)| it.payload.as_json().len() + ENTRY_BYTES);
        ENTRY_BYTES + payloads.sum::<usize>()
    }

    /// Its messages with their positions.
    pub fn arrivals(&self) -> impl Iterator<Item = (ArrivalPosition, &Arrival)> {
        let entries = self.entries.iter().enumerate();
        entries
            .filter_map(|(n, entry)| Some((ArrivalPosition::new(self.number, n), entry.as_ref()?)))
    }

    /// Its messages, of one author if one is given.
    fn arrivals_of(
        &self,
        author: Option<&ViewerId>,
    ) -> impl Iterator<Item = (ArrivalPosition, &Arrival)> {
        let is_asked = move |it: &Arrival| author.is_none_or(|author| it.key.author_id == *author);
        self.arrivals().filter(move |(_, it)| is_asked(it))
    }

    /// The number of items that tell what became of its messages, or of those of one author: one or two read units each.
    pub fn looked_at(&self, author: Option<&ViewerId>) -> usize {
        self.arrivals_of(author).count() * lists(author)
    }

    pub(super) fn read(room: &RoomId, row: &Row<'_>) -> Result<Self, DynamoError> {
        let number = row.text("sk")?.parse();
        let number = number.map_err(|_| row.corrupt("sk", "a number"))?;
        let entries = row.item.get(MESSAGES).and_then(|entries| entries.as_l().ok());
        let entries = entries.ok_or_else(|| row.corrupt(MESSAGES, "a list"))?.iter().map(|entry| {
            let item = entry.as_m().map_err(|_| row.corrupt(MESSAGES, "messages"))?;
            Arrival::read(room, &Row { table: row.table, item: item.clone() })
        });
        Ok(Self { number, entries: entries.collect::<Result<_, _>>()? })
    }
}

/// The number of lists that a message has to be in before a reader may rely on it: that of its room, and that of its author if it
/// is read.
fn lists(author: Option<&ViewerId>) -> usize {
    if author.is_some() { 2 } else { 1 }
}

/// The content of a row with these messages.
pub(super) fn content(arrivals: &[Arrival]) -> Item {
    let entries = arrivals.iter().map(Arrival::write).collect();
    Item::from([(MESSAGES.to_owned(), list(entries))])
}

/// The outcome of the messages of a row.
#[derive(Debug)]
pub struct RowOutcome {
    /// True if each of them is, or was, written.
    pub is_whole: bool,
    /// The sort keys of those that are in the room.
    pub shown: Vec<SortKey>,
}

/// The outcome of a message that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArrivalState {
    Shown,
    /// It was deleted, or has another position.
    Gone,
    /// It has no row: the arrival is not whole, or the message was deleted long ago.
    Absent,
}

/// True if a row of the room is a message with this position.
fn is_shown(row: Option<&Row<'_>>, position: ArrivalPosition) -> Result<bool, DynamoError> {
    let Some(row) = row else { return Ok(false) };
    Ok(!row.flag("deleted")? && ArrivalPosition::read(row)? == position)
}

/// Rows of the list.
#[derive(Debug, Default)]
pub struct Arrivals {
    pub rows: Vec<ArrivalRow>,
    /// Whether there may be more.
    pub more: bool,
}

impl Rooms {
    /// The last row of the list, if there is one.
    pub async fn last_arrivals(&self, room: &RoomId) -> Result<Option<ArrivalRow>, DynamoError> {
        let query = Query {
            keys: Some("pk = :pk"),
            values: vec![(":pk", text(keys::arrivals(room)))],
            descending: true,
            limit: Some(1),
            ..Query::default()
        };
        let page = self.ledger.table().page(&query).await?;
        page.rows.first().map(|row| ArrivalRow::read(room, row)).transpose()
    }

    /// Up to `limit` rows with messages after a position, in one call.
    pub async fn arrivals_after(
        &self,
        room: &RoomId,
        after: ArrivalPosition,
        limit: usize,
    ) -> Result<Arrivals, DynamoError> {
        let first = ArrivalPosition(after.0 + 1).row();
        let query = Query {
            keys: Some("pk = :pk AND sk >= :first"),
            values: vec![
                (":pk", text(keys::arrivals(room))),
                (":first", text(keys::arrival(room, &first).sk)),
            ],
            limit: Some(i32::try_from(limit).unwrap_or(i32::MAX)),
            ..Query::default()
        };
        let page = self.ledger.table().page(&query).await?;
        let rows = page.rows.iter().map(|row| ArrivalRow::read(room, row));
        Ok(Arrivals { rows: rows.collect::<Result<_, _>>()?, more: page.next.is_some() })
    }

    /// The outcome of the messages of a row, or of those of one author. Reads [`ArrivalRow::looked_at`] items.
    pub async fn outcome(
        &self,
        row: Option<&ArrivalRow>,
        author: Option<&ViewerId>,
    ) -> Result<RowOutcome, DynamoError> {
        let arrivals: Vec<_> = row.iter().flat_map(|row| row.arrivals_of(author)).collect();
        let keys = arrivals.iter().flat_map(|(_, it)| it.rows().into_iter().take(lists(author)));
        let keys: Vec<_> = keys.collect();
        let there = self.items_at(keys.clone()).await?;
        let mut shown = Vec::new();
        for (position, it) in arrivals {
            if is_shown(there.get(&it.rows()[0]), position)? {
                shown.push(it.key.sort_key(it.at));
            }
        }
        Ok(RowOutcome { is_whole: keys.iter().all(|key| there.contains_key(key)), shown })
    }

    /// The states of some messages, by position.
    pub async fn arrival_states(
        &self,
        arrivals: &[(ArrivalPosition, &Arrival)],
    ) -> Result<HashMap<ArrivalPosition, ArrivalState>, DynamoError> {
        let keys: BTreeSet<_> = arrivals.iter().map(|(_, it)| it.rows()[0].clone()).collect();
        let there = self.items_at(keys.into_iter().collect()).await?;
        let state = |(position, it): &(ArrivalPosition, &Arrival)| {
            let row = there.get(&it.rows()[0]);
            let state = match is_shown(row, *position)? {
                true => ArrivalState::Shown,
                false if row.is_some() => ArrivalState::Gone,
                false => ArrivalState::Absent,
            };
            Ok((*position, state))
        };
        arrivals.iter().map(state).collect()
    }

    /// Removes a message from its row, and leaves its index empty.
    pub(super) async fn take_out_arrival(
        &self,
        key: &MessageKey,
        position: ArrivalPosition,
    ) -> Result<(), DynamoError> {
        let entry = format!("{MESSAGES}[{}]", position.index());
        let (expression, condition) =
            (format!("SET {entry} = :gone"), format!("{entry}.message_id = :id"));
        let gone = AttributeValue::M(Item::from([("deleted".to_owned(), truth(true))]));
        let update = Update {
            expression: &expression,
            condition: Some(&condition),
            values: vec![(":gone", gone), (":id", text(key.message_id.as_str()))],
            ..Update::default()
        };
        let row = keys::arrival(&key.room_id, &position.row());
        self.ledger.table().update(row.into_item(), update).await.map(|_| ())
    }

    /// Removes a deleted message from the last row, where a crashed delivery may have left it.
    pub(super) async fn take_out_last(&self, key: &MessageKey) -> Result<(), DynamoError> {
        let Some(last) = self.last_arrivals(&key.room_id).await? else { return Ok(()) };
        for (position, _) in last.arrivals().filter(|(_, it)| it.key.message_id == key.message_id) {
            self.take_out_arrival(key, position).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Part of stored items and of cursors.
    #[test]
    fn places_are_in_the_order_of_rows_and_in_them() {
        assert_eq!(ArrivalPosition::new(3, 5), ArrivalPosition(197));
        assert_eq!((ArrivalPosition(197).row(), ArrivalPosition(197).index()), (3, 5));
        assert!(ArrivalPosition::NOTHING < ArrivalPosition::new(1, 0));
        assert_eq!(ArrivalPosition(ArrivalPosition::NOTHING.0 + 1), ArrivalPosition::new(1, 0));
        assert_eq!(ArrivalPosition(ArrivalPosition::end_of(7).0 + 1), ArrivalPosition::new(8, 0));
    }
}

//! The shards of a room: the number of partitions that it is spread over.

use std::fmt;

use super::{Rooms, keys};
use crate::platform::dynamo::item::{Row, number};
use crate::platform::dynamo::{DynamoError, Update};
use crate::platform::values::{MessageId, RoomId, spread};

/// The number of partitions that messages are spread over: a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shards(u16);

impl Default for Shards {
    fn default() -> Self {
        Self::ONE
    }
}

impl Shards {
    /// The shards of a room that was never busy.
    pub const ONE: Self = Self(1);
    /// The most shards: they take 16,000 small messages a second. A page reads all of them.
    pub const MOST: Self = Self(16);

    /// This number of shards, if it is valid.
    pub fn new(count: u64) -> Option<Self> {
        let count = u16::try_from(count).ok().filter(|count| count.is_power_of_two());
        count.map(Self).filter(|shards| *shards <= Self::MOST)
    }

    /// How many there are.
    pub fn count(self) -> u16 {
        self.0
    }

    /// The next number, if there is one.
    #[must_use]
    pub fn doubled(self) -> Option<Self> {
        Self::new(u64::from(self.0) * 2)
    }

    /// The shard of a message. It is part of stored keys, so it must never change.
    pub fn shard_of(self, message: &MessageId) -> u16 {
        spread(message.as_str()) % self.0
    }

    /// Reads the number in an item.
    pub(super) fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let count = row.count("shards")?;
        Self::new(count).ok_or_else(|| row.corrupt("shards", "a power of two up to 16"))
    }
}

impl fmt::Display for Shards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The item of a room. Both members only ever increase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Room {
    /// True if somebody has joined it or posted a private message, so that only members can read it.
    pub private: bool,
    /// The number of partitions that its messages are spread over.
    pub shards: Shards,
}

impl Room {
    /// Reads the item of a room; a room without one is open and has one shard.
    pub(super) fn read(row: Option<&Row<'_>>) -> Result<Self, DynamoError> {
        let Some(row) = row else { return Ok(Self::default()) };
        let shards = match row.item.contains_key("shards") {
            true => Shards::read(row)?,
            false => Shards::ONE,
        };
        Ok(Self { private: row.flag("private")?, shards })
    }
}

impl Rooms {
    /// What is on record of a room.
    pub async fn room(&self, room: &RoomId) -> Result<Room, DynamoError> {
        let row = self.ledger.get(keys::room(room)).await?;
        Room::read(row.as_ref())
    }

    /// Doubles the shards of a room, unless it has more than those with which a put was refused.
    pub(super) async fn grow(&self, room: &RoomId, refused: Shards) -> Result<(), DynamoError> {
        match refused.doubled() {
            // Many puts are refused at once, and the first lets it grow.
            Some(wanted) if self.room(room).await?.shards < wanted => {
                self.grow_to(room, wanted).await
            }
            _ => Ok(()),
        }
    }

    /// Raises the shards of a room to this number.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have them.
    pub async fn grow_to(&self, room: &RoomId, wanted: Shards) -> Result<(), DynamoError> {
        let update = Update {
            expression: "SET shards = :wanted",
            condition: Some("attribute_not_exists(shards) OR shards < :wanted"),
            values: vec![(":wanted", number(wanted))],
            ..Update::default()
        };
        let key = keys::room(room).into_item();
        self.ledger.table().update(key, update).await.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_as_a_power_of_two() {
        let counts: Vec<_> = (0..40).filter_map(Shards::new).map(Shards::count).collect();
        assert_eq!(counts, [1, 2, 4, 8, 16]);
        assert_eq!(Shards::ONE.doubled(), Shards::new(2));
        assert_eq!(Shards::MOST.doubled(), None);
    }

    /// Part of stored keys.
    #[test]
    fn a_message_stays_where_it_is() {
        let of = |id: &str| Shards::MOST.shard_of(&MessageId::new(id).expect("an id"));
        assert_eq!(["m1", "m2", "bob", "x"].map(of), [5, 0, 2, 11]);
    }

    #[test]
    fn messages_are_spread_evenly() {
        for count in [2, 4, 8, 16] {
            let shards = Shards::new(count).expect("a power of two");
            let mut found = vec![0_u32; usize::from(shards.count())];
            for number in 0..16_000 {
                let id = MessageId::new(format!("chat-{number}")).expect("an id");
                found[usize::from(shards.shard_of(&id))] += 1;
            }
            let expected = 16_000 / u32::from(shards.count());
            assert!(found.iter().all(|n| n.abs_diff(expected) < expected / 10), "{found:?}");
        }
    }
}

//! What a writer knows of rooms, so that it need not ask for each message.
//!
//! What is known of a room only ever increases, and a writer that knows less than there is by now does no harm
//! ([`crate::rooms`] says why). So nothing here has to be checked, and nothing expires. A process works with one table: a
//! backup is restored to another one, of which it knows nothing.

use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use super::{Room, Shards};
use crate::values::RoomId;

/// Rooms that one process remembers: a few hundred kilobytes.
const ROOMS: NonZeroUsize = NonZeroUsize::new(2_000).unwrap();

/// Rooms as a process knows them, the least recently used of which make room for others. Clones share them.
#[derive(Debug, Clone)]
pub struct KnownRooms(Arc<Mutex<LruCache<RoomId, Room>>>);

impl Default for KnownRooms {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(LruCache::new(ROOMS))))
    }
}

impl KnownRooms {
    /// What is known of a room, if anything.
    pub(super) fn get(&self, room: &RoomId) -> Option<Room> {
        self.0.lock().get(room).copied()
    }

    /// Takes in what was read of a room, perhaps a while ago. Returns all that is known now.
    pub(super) fn learn(&self, room: &RoomId, read: Room) -> Room {
        let mut rooms = self.0.lock();
        let known = rooms.get(room).copied().unwrap_or_default();
        let more = Room {
            private: known.private || read.private,
            shards: Shards::max(known.shards, read.shards),
        };
        rooms.put(room.clone(), more);
        more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_only_increases() {
        let (known, room) = (KnownRooms::default(), RoomId::new("r").expect("an id"));
        assert_eq!(known.get(&room), None);
        let two = Shards::new(2).expect("two");
        assert_eq!(known.learn(&room, Room { private: false, shards: two }).shards, two);
        let late = Room { private: true, shards: Shards::ONE };
        assert_eq!(known.clone().learn(&room, late), Room { private: true, shards: two });
        assert_eq!(known.get(&room), Some(Room { private: true, shards: two }));
    }
}

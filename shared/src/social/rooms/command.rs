//! The commands of rooms.

use super::MessageKey;
use crate::platform::message::command;
use crate::platform::register::Register;
use crate::platform::values::{ActivityId, Payload, RoomId, SortKey, Timestamp, ViewerId};

command! {
    /// An author posted a message in a room. The same message again changes nothing. The same
    /// `message_id` in the same room with another `author_id` or another `at`, or once private and
    /// once not, is a dead letter. Of two that differ only in their payload the first that is
    /// processed remains. Messages never expire.
    MessagePosted by key.room_id of key.author_id creates message_id, SHOWN {
        key: MessageKey,
        /// The instant of the message: its position in the room.
        at: Timestamp,
        payload: Payload,
        /// True if only present members read it. The room is private from then on, permanently.
        private: bool,
    }
    "message.posted": r#"{ "room_id": "anna-bob", "message_id": "m1", "author_id": "bob", "at": "2026-11-20T12:00:00.000Z", "payload": { "text": "hi" } }"#
}

command! {
    /// An author deleted a message. A delete is final, even if it arrives before its post. A delete
    /// that names another author than the post has no effect.
    MessageDeleted by key.room_id of key.author_id, SHOWN {
        key: MessageKey,
    }
    "message.deleted": r#"{ "room_id": "anna-bob", "message_id": "m1", "author_id": "bob" }"#
}

command! {
    /// A viewer joined a room, or left it.
    MembershipChange by room_id of viewer_id, SHOWN {
        /// The room's id.
        room_id: RoomId,
        /// The viewer.
        viewer_id: ViewerId,
    }
    /// The instant of the change. The latest wins, and on a tie the leave.
    state: Register {
        /// A viewer joined a room. The room is private from then on: only its members read it. Of
        /// the joins and leaves of one viewer and room the latest `at` wins, and on a tie the
        /// leave.
        "room.joined": r#"{ "room_id": "anna-bob", "viewer_id": "bob", "at": "2026-11-20T12:00:00.000Z" }"#
        /// A viewer left a room. Of the joins and leaves of one viewer and room the latest `at`
        /// wins, and on a tie the leave.
        "room.left": r#"{ "room_id": "anna-bob", "viewer_id": "bob", "at": "2026-11-20T13:00:00.000Z" }"#
    }
}

impl MessageKey {
    /// The sort key of the message, if it was said at this instant.
    pub fn sort_key(&self, at: Timestamp) -> SortKey {
        SortKey { published_at: at, activity_id: ActivityId::from(self.message_id.clone()) }
    }
}

impl MessagePosted {
    /// The sort key of the message in the room.
    pub fn sort_key(&self) -> SortKey {
        self.key.sort_key(self.at)
    }
}

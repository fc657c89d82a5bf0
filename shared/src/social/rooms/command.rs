//! The commands of rooms.

use super::MessageKey;
use crate::platform::message::{Body, CommandError, CommandPayload, LogIds, Members, command};
use crate::platform::register::Register;
use crate::platform::values::{
    ActivityId, MessageId, Payload, RoomId, SortKey, Timestamp, ViewerId,
};

/// Somebody said something in a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessagePosted {
    /// The message and its author. The id belongs to the first post with it in the room.
    pub key: MessageKey,
    /// When it was said, which determines its position in the room.
    pub at: Timestamp,
    /// What readers are given.
    pub payload: Payload,
    /// True if only present members can read the room, which makes it private.
    pub private: bool,
}

/// An author deleted a message, which is final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageDeleted {
    /// The message and its author; a delete by anybody else has no effect.
    pub key: MessageKey,
}

/// A viewer joined a room, or left it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MembershipChange {
    pub room_id: RoomId,
    pub viewer_id: ViewerId,
    /// Whether they are in it, and since when. The latest wins, and on a tie the leave.
    pub state: Register,
}

impl MessageKey {
    /// Reads the members with a message and its author.
    fn read(members: &Members<'_>) -> Result<Self, CommandError> {
        Ok(Self {
            room_id: members.parsed("room_id", RoomId::new)?,
            message_id: members.parsed("message_id", MessageId::new)?,
            author_id: members.parsed("author_id", ViewerId::new)?,
        })
    }

    fn write(&self, body: Body) -> Body {
        body.text("room_id", &self.room_id)
            .text("message_id", &self.message_id)
            .text("author_id", &self.author_id)
    }

    /// Without the id of the message: in log lines `message_id` is the id of the queue's message.
    fn subject(&self) -> LogIds {
        let (room_id, author_id) =
            (Some(self.room_id.to_string()), Some(self.author_id.to_string()));
        LogIds { room_id, author_id, ..LogIds::default() }
    }

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

impl CommandPayload for MessagePosted {
    const TYPES: &'static [&'static str] = &["message.posted"];
    const MEMBERS: &'static [&'static str] =
        &["room_id", "message_id", "author_id", "at", "payload", "private"];
    const SHOWN: bool = true;

    fn read(_: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        Ok(Self {
            key: MessageKey::read(members)?,
            at: members.instant("at")?,
            payload: members.payload()?.unwrap_or_default(),
            private: members.truth("private")?.unwrap_or_default(),
        })
    }

    fn write(&self, body: Body) -> Body {
        let body = self.key.write(body).text("at", &self.at);
        let body = body.json("payload", self.payload.as_json());
        if self.private { body.json("private", "true") } else { body }
    }

    fn subject(&self) -> LogIds {
        self.key.subject()
    }

    fn group(&self) -> &str {
        self.key.room_id.as_str()
    }

    fn person(&self) -> &str {
        self.key.author_id.as_str()
    }
}

impl CommandPayload for MessageDeleted {
    const TYPES: &'static [&'static str] = &["message.deleted"];
    const MEMBERS: &'static [&'static str] = &["room_id", "message_id", "author_id"];
    const SHOWN: bool = true;

    fn read(_: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        Ok(Self { key: MessageKey::read(members)? })
    }

    fn write(&self, body: Body) -> Body {
        self.key.write(body)
    }

    fn subject(&self) -> LogIds {
        self.key.subject()
    }

    fn group(&self) -> &str {
        self.key.room_id.as_str()
    }

    fn person(&self) -> &str {
        self.key.author_id.as_str()
    }
}

command! {
    MembershipChange: ["room.joined", "room.left"] by room_id of viewer_id, SHOWN { room_id, viewer_id }
}

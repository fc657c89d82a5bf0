//! Memberships: one item for a viewer and a room, among the items about one person ([`PERSON`](crate::platform::ledger::PERSON)).

use super::{MembershipChange, Room, Rooms, keys};
use crate::platform::dynamo::item::{Key, Row, truth};
use crate::platform::dynamo::{DynamoError, Update};
use crate::platform::register::{Register, RegisterAttributes};
use crate::platform::values::{RoomId, ViewerId};

/// The attributes of a membership. An erased one only has the instant, and counts as none.
const PRESENCE: RegisterAttributes = RegisterAttributes { on: "present", at: "at" };

/// What decides whether somebody can read a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entrance {
    pub room: Room,
    pub present: bool,
}

impl Entrance {
    /// True if they may read the room.
    pub fn is_open(self) -> bool {
        self.present || !self.room.private
    }
}

impl Rooms {
    /// Records that somebody joined or left, unless a change that wins over it is on record. A join makes the room private first,
    /// even if it does not win.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn change_membership(&self, change: &MembershipChange) -> Result<(), DynamoError> {
        let MembershipChange { room_id, viewer_id, state } = change;
        if state.on && !self.room(room_id).await?.private {
            self.make_private(room_id).await?;
        }
        let (item, wins) = (PRESENCE.write(*state), PRESENCE.wins(*state));
        let key = keys::membership(viewer_id, room_id);
        self.ledger.replace(key, item, &[], Some(wins)).await.map(|_| ())
    }

    /// Makes a room private: from now on only its present members can read it.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be private.
    pub async fn make_private(&self, room: &RoomId) -> Result<(), DynamoError> {
        let update = Update {
            expression: "SET #private = :yes",
            // A reserved word.
            names: vec![("#private", "private")],
            values: vec![(":yes", truth(true))],
            ..Update::default()
        };
        let key = keys::room(room).into_item();
        self.ledger.table().update(key, update).await.map(|_| ())
    }

    /// The membership of a viewer in a room; `None` if they never joined or left.
    pub async fn membership(
        &self,
        room: &RoomId,
        viewer: &ViewerId,
    ) -> Result<Option<Register>, DynamoError> {
        let row = self.ledger.get(keys::membership(viewer, room)).await?;
        let row = row.filter(|row| row.item.contains_key(PRESENCE.on));
        row.as_ref().map(|row| PRESENCE.read(row)).transpose()
    }

    /// Reads in one call what decides whether a viewer can read a room. Without a viewer, nobody is present.
    pub async fn entrance(
        &self,
        room: &RoomId,
        viewer: Option<&ViewerId>,
    ) -> Result<Entrance, DynamoError> {
        let ours = keys::room(room);
        let theirs = viewer.map(|viewer| keys::membership(viewer, room));
        let keys = [Some(ours.clone()), theirs].into_iter().flatten().map(Key::into_item);
        let rows = self.ledger.table().batch_get(keys.collect()).await?;
        let is_room = |row: &Row<'_>| Ok::<_, DynamoError>(row.text("pk")? == ours.pk);
        let mut entrance = Entrance { room: Room::default(), present: false };
        for row in &rows {
            match is_room(row)? {
                true => entrance.room = Room::read(Some(row))?,
                false => entrance.present = row.flag("present")?,
            }
        }
        Ok(entrance)
    }
}

//! The rows of battles and of hits.

use serde::Serialize;

use super::{BattleHit, BattleOpened};
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{Item, Row, number, text};
use crate::platform::values::{ActorId, BattleId, HitId, Payload, Timestamp, ViewerId};

/// The attribute of a hit's row that names the viewer who made it.
pub const VIEWER: &str = "viewer";

/// A battle as it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BattleDefinition {
    pub actor_id: ActorId,
    pub hp: u64,
    /// When it was opened.
    pub at: Timestamp,
    /// Content that the producer has sent, returned as it is.
    pub payload: Payload,
}

impl BattleDefinition {
    /// Reads a battle from its row.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let payload = Payload::stored(row.text("payload")?)
            .map_err(|_| row.corrupt("payload", "a JSON value of at most 4 KiB"))?;
        Ok(Self {
            actor_id: row.parsed("actor", "the id of an actor")?,
            hp: row.count("hp")?,
            at: row.parsed("at", "an instant")?,
            payload,
        })
    }

    pub(super) fn write(&self) -> Item {
        Item::from([
            ("actor".to_owned(), text(self.actor_id.as_str())),
            ("hp".to_owned(), number(self.hp)),
            ("at".to_owned(), text(self.at.to_string())),
            ("payload".to_owned(), text(self.payload.as_json())),
        ])
    }
}

impl From<BattleOpened> for (BattleId, BattleDefinition) {
    fn from(opened: BattleOpened) -> Self {
        let BattleOpened { battle_id, actor_id, hp, at, payload } = opened;
        (battle_id, BattleDefinition { actor_id, hp, at, payload })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    pub hit_id: HitId,
    /// The viewer who made the hit; `None` if erased.
    pub viewer_id: Option<ViewerId>,
    pub damage: u64,
    pub at: Timestamp,
}

impl Hit {
    /// Reads a hit from its row.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(hit_id: HitId, row: &Row<'_>) -> Result<Self, DynamoError> {
        Ok(Self {
            hit_id,
            viewer_id: row.optional(VIEWER, "the id of a viewer")?,
            damage: row.count("damage")?,
            at: row.parsed("at", "an instant")?,
        })
    }

    pub fn write(&self) -> Item {
        let mut item = Item::from([
            ("damage".to_owned(), number(self.damage)),
            ("at".to_owned(), text(self.at.to_string())),
        ]);
        let viewer = self.viewer_id.as_ref();
        item.extend(viewer.map(|viewer| (VIEWER.to_owned(), text(viewer.as_str()))));
        item
    }
}

impl From<BattleHit> for (BattleId, Hit) {
    fn from(hit: BattleHit) -> Self {
        let BattleHit { battle_id, hit_id, viewer_id, damage, at } = hit;
        (battle_id, Hit { hit_id, viewer_id: Some(viewer_id), damage, at })
    }
}

//! The commands of battles.

use crate::message::{Body, CommandError, CommandPayload, Members, Subject};
use crate::values::{ActorId, BattleId, HitId, Payload, Timestamp, ViewerId};

/// The most hit points a boss can have.
pub const MAX_HP: u64 = 1_000_000_000_000_000;
/// The most damage one hit can do.
pub const MAX_DAMAGE: u64 = 1_000_000_000;

/// An actor starts a battle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BattleOpened {
    /// The battle. Its id belongs to the first command with it.
    pub battle_id: BattleId,
    pub actor_id: ActorId,
    /// How much damage the boss withstands: 1 to [`MAX_HP`].
    pub hp: u64,
    /// When it was opened.
    pub at: Timestamp,
    /// What the product keeps there.
    pub payload: Payload,
}

/// A viewer hits the boss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BattleHit {
    pub battle_id: BattleId,
    /// The hit. Its id belongs to the first command with it in the battle.
    pub hit_id: HitId,
    pub viewer_id: ViewerId,
    /// The damage: 1 to [`MAX_DAMAGE`].
    pub damage: u64,
    pub at: Timestamp,
}

impl CommandPayload for BattleOpened {
    const TYPES: &'static [&'static str] = &["battle.opened"];
    const MEMBERS: &'static [&'static str] = &["battle_id", "actor_id", "hp", "at", "payload"];

    fn read(_: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        Ok(Self {
            battle_id: members.parsed("battle_id", BattleId::new)?,
            actor_id: members.parsed("actor_id", ActorId::new)?,
            hp: members.number("hp", 1..=MAX_HP, "a whole number from 1 to 10^15")?,
            at: members.instant("at")?,
            payload: members.payload()?.unwrap_or_default(),
        })
    }

    fn write(&self, body: Body) -> Body {
        body.text("battle_id", &self.battle_id)
            .text("actor_id", &self.actor_id)
            .json("hp", &self.hp.to_string())
            .text("at", &self.at)
            .json("payload", self.payload.as_json())
    }

    fn subject(&self) -> Subject {
        let (battle, actor) = (self.battle_id.to_string(), self.actor_id.to_string());
        Subject { battle_id: Some(battle), actor_id: Some(actor), ..Subject::default() }
    }

    fn group(&self) -> &str {
        self.actor_id.as_str()
    }
}

impl CommandPayload for BattleHit {
    const TYPES: &'static [&'static str] = &["battle.hit"];
    const MEMBERS: &'static [&'static str] = &["battle_id", "hit_id", "viewer_id", "damage", "at"];

    fn read(_: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        Ok(Self {
            battle_id: members.parsed("battle_id", BattleId::new)?,
            hit_id: members.parsed("hit_id", HitId::new)?,
            viewer_id: members.parsed("viewer_id", ViewerId::new)?,
            damage: members.number("damage", 1..=MAX_DAMAGE, "a whole number from 1 to 10^9")?,
            at: members.instant("at")?,
        })
    }

    fn write(&self, body: Body) -> Body {
        body.text("battle_id", &self.battle_id)
            .text("hit_id", &self.hit_id)
            .text("viewer_id", &self.viewer_id)
            .json("damage", &self.damage.to_string())
            .text("at", &self.at)
    }

    fn subject(&self) -> Subject {
        let (battle, hit) = (self.battle_id.to_string(), self.hit_id.to_string());
        let viewer_id = Some(self.viewer_id.to_string());
        Subject { battle_id: Some(battle), hit_id: Some(hit), viewer_id, ..Subject::default() }
    }

    fn group(&self) -> &str {
        self.viewer_id.as_str()
    }
}

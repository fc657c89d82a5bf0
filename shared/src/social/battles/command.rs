//! The commands of battles.

use crate::platform::message::{CommandError, Members, command};
use crate::platform::values::{ActorId, BattleId, HitId, Payload, Timestamp, ViewerId};

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

command! {
    BattleOpened: ["battle.opened"] by actor_id { battle_id, actor_id, hp = hp, at, payload }
}

command! {
    BattleHit: ["battle.hit"] by viewer_id { battle_id, hit_id, viewer_id, damage = damage, at }
}

fn hp(members: &Members<'_>) -> Result<u64, CommandError> {
    members.number("hp", 1..=MAX_HP, "a whole number from 1 to 10^15")
}

fn damage(members: &Members<'_>) -> Result<u64, CommandError> {
    members.number("damage", 1..=MAX_DAMAGE, "a whole number from 1 to 10^9")
}

//! The commands of battles.

use crate::platform::message::{CommandError, Members, command};
use crate::platform::values::{ActorId, BattleId, HitId, Payload, Timestamp, ViewerId};

/// The most hit points a boss can have.
pub const MAX_HP: u64 = 1_000_000_000_000_000;
/// The most damage one hit can do.
pub const MAX_DAMAGE: u64 = 1_000_000_000;

command! {
    /// An actor started a battle with a boss. Opening the same again changes nothing. The same
    /// `battle_id` with another content is a dead letter.
    BattleOpened by actor_id creates battle_id {
        /// The battle's id. It belongs to the first command with it that is processed.
        battle_id: BattleId,
        /// The actor who opens it.
        actor_id: ActorId,
        /// How much damage the boss withstands.
        hp: u64 = hp [ValueSchema::integer(1..=MAX_HP)],
        /// The instant of the opening.
        at: Timestamp,
        payload: Payload,
    }
    "battle.opened": r#"{ "battle_id": "dragon-1", "actor_id": "anna", "hp": 100000, "at": "2026-11-20T12:00:00.000Z", "payload": { "name": "Dragon" } }"#
}

command! {
    /// A viewer hit the boss. The battle need not be known yet. Hits land one after another, in the
    /// order in which they are processed, until no hit points are left. A hit after that is late
    /// and changes nothing. The same hit again changes nothing. The same `hit_id` in the same
    /// battle with another content is a dead letter.
    BattleHit by viewer_id creates hit_id {
        /// The battle's id.
        battle_id: BattleId,
        /// The hit's id, unique within the battle.
        hit_id: HitId,
        /// The viewer who hits.
        viewer_id: ViewerId,
        /// The damage.
        damage: u64 = damage [ValueSchema::integer(1..=MAX_DAMAGE)],
        /// The instant of the hit. It does not decide the order.
        at: Timestamp,
    }
    "battle.hit": r#"{ "battle_id": "dragon-1", "hit_id": "h-77", "viewer_id": "bob", "damage": 80, "at": "2026-11-20T12:00:02.000Z" }"#
}

fn hp(members: &Members<'_>) -> Result<u64, CommandError> {
    members.number("hp", 1..=MAX_HP, "a whole number from 1 to 10^15")
}

fn damage(members: &Members<'_>) -> Result<u64, CommandError> {
    members.number("damage", 1..=MAX_DAMAGE, "a whole number from 1 to 1000000000")
}

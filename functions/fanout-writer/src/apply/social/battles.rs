//! Battles. The projector decides in which order hits land.

use shared::platform::values::BattleId;
use shared::social::battles::{BattleDefinition, BattleHit, BattleOpened, Battles};

use crate::apply::unless_taken;
use crate::context::Context;
use crate::disposition::Disposition;
use crate::failure::Failure;

/// Records a battle. Another battle under the same id is refused.
pub(crate) async fn open(cx: &Context, opened: BattleOpened) -> Result<Disposition, Failure> {
    let (battle, definition): (BattleId, BattleDefinition) = opened.into();
    let claim = battles(cx).open(&battle, &definition).await?;
    unless_taken(claim, "battle_id", &battle)
}

/// Records a hit. Another hit of the same battle under the same id is refused.
pub(crate) async fn hit(cx: &Context, hit: BattleHit) -> Result<Disposition, Failure> {
    let id = hit.hit_id.clone();
    let claim = battles(cx).hit(hit).await?;
    unless_taken(claim, "hit_id", &id)
}

fn battles(cx: &Context) -> Battles {
    Battles::new(&cx.facts, &cx.views)
}

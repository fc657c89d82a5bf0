//! Battles. The projector decides in which order hits land.

use shared::battles::{BattleHit, BattleOpened, Battles, Definition, Recorded};
use shared::values::BattleId;

use crate::{Context, Disposition, Failure};

/// Records what was opened. Another battle under the same id is refused.
pub(crate) async fn open(cx: &Context, opened: BattleOpened) -> Result<Disposition, Failure> {
    let (battle, definition): (BattleId, Definition) = opened.into();
    match battles(cx).open(&battle, &definition, cx.delivery.deadline).await? {
        Recorded::Done => Ok(Disposition::Applied(None)),
        Recorded::Taken => Err(Failure::Taken { member: "battle_id", id: battle.to_string() }),
    }
}

/// Records a hit. Another hit of the same battle under the same id is refused.
pub(crate) async fn hit(cx: &Context, hit: BattleHit) -> Result<Disposition, Failure> {
    let id = hit.hit_id.clone();
    match battles(cx).hit(hit, cx.delivery.deadline).await? {
        Recorded::Done => Ok(Disposition::Applied(None)),
        Recorded::Taken => Err(Failure::Taken { member: "hit_id", id: id.to_string() }),
    }
}

fn battles(cx: &Context) -> Battles {
    Battles::new(&cx.facts, &cx.views)
}

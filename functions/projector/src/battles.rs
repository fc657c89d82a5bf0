//! Folds the changes of a battle, and tells the bus once it is over.
//!
//! The delivery with the last hit tells the bus before it is acknowledged, whoever has written the view. A hit that has waited for
//! its battle lands with the change that opens it, possibly by another delivery while that change is in flight. So the delivery
//! with this change tells the bus too, once nothing waits any more.

use shared::platform::outbound::{Happened, LastHit, OutboundEvent};
use shared::platform::projection::{Change, Shard, View};
use shared::platform::values::BattleId;
use shared::social::battles::{BattleRow, BattleState, BattleStatus, keys};

use crate::blocks;
use crate::fold_target::FoldTarget;
use crate::fold_target::Outcome;
use crate::projector::Projector;
use function_stream::Failure;

/// Folds changes of one shard of a battle into its view.
pub(crate) async fn fold(
    projector: &Projector,
    shard: Shard,
    subject: FoldTarget,
    changes: Vec<&Change>,
) -> Outcome {
    let told = match &subject {
        FoldTarget::Battle(battle) if projector.projection.bus.is_on() => {
            Some((battle.clone(), changes.clone()))
        }
        _ => None,
    };
    let outcome = blocks::fold::<BattleState>(projector, shard, subject, changes).await;
    let Some((battle, changes)) = told.filter(|_| outcome.failure.is_none()) else {
        return outcome;
    };
    match tell_if_over(projector, battle, &changes).await {
        Ok(()) => outcome,
        Err(failure) => outcome.failed(failure.into()),
    }
}

async fn tell_if_over(
    projector: &Projector,
    battle: BattleId,
    changes: &[&Change],
) -> Result<(), Failure> {
    let (views, view) = (&projector.projection.views, keys::view(&battle));
    let view = views.read(view, View::<BattleState>::read_from).await?;
    let status = view.state.status().filter(|status| status.hp_left == 0);
    let Some(BattleStatus { actor_id, hp, hits, last_hit: Some(last), .. }) = status else {
        return Ok(());
    };
    let decides = |change: &&&Change| match BattleRow::of(&change.key) {
        Some(BattleRow::Opened(_)) => true,
        Some(BattleRow::Hit(_, hit)) => hit == last.hit_id,
        None => false,
    };
    let Some(change) = changes.iter().find(decides) else { return Ok(()) };
    let (hit_id, viewer_id, damage) = (last.hit_id, last.viewer_id, last.damage);
    let last_hit = LastHit { hit_id, viewer_id, damage };
    let happened = Happened::BattleDefeated { battle_id: battle, actor_id, hp, hits, last_hit };
    let event = OutboundEvent::new(&happened, last.at, change.at)?;
    Ok(projector.projection.bus.send(vec![event], projector.projection.deadline()).await?)
}

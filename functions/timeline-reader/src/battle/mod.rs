//! Reads a battle. Every authenticated caller may read every battle, and what they did in it themselves.

pub(crate) mod hit;

use serde::Serialize;
use shared::platform::values::{ActorId, BattleId, HitId, Payload, Timestamp, ViewerId};
use shared::social::battles::{Battle, BattleDefinition, Battles, Hit, Shown};

use crate::reader::Context;
use function_http::Problem;
use function_http::response::{Answer, Shareable};

#[derive(Serialize)]
struct BattleBody<'a> {
    battle_id: &'a BattleId,
    actor_id: &'a ActorId,
    payload: &'a Payload,
    state: BattlePhase,
    hp: u64,
    hp_left: u64,
    hits: u64,
    last_hit: Option<LastHit<'a>>,
    viewer: Option<ViewerHits>,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum BattlePhase {
    Open,
    Defeated,
}

#[derive(Serialize)]
struct LastHit<'a> {
    hit_id: &'a HitId,
    /// None if it was erased who hit.
    viewer_id: Option<&'a ViewerId>,
    damage: u64,
    at: Timestamp,
}

impl<'a> From<&'a Hit> for LastHit<'a> {
    fn from(Hit { hit_id, viewer_id, damage, at }: &'a Hit) -> Self {
        Self { hit_id, viewer_id: viewer_id.as_ref(), damage: *damage, at: *at }
    }
}

#[derive(Serialize)]
struct ViewerHits {
    hits: u64,
    damage: u64,
}

/// `GET /v1/battles/{battle_id}`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Shareable, Problem> {
    let id = cx.path.parameter("battle_id", BattleId::new)?;
    let viewer = cx.own_part();
    let battle = battles(cx).battle(&id, viewer).await?;
    let Battle { definition, shown, viewer_hits } = battle.ok_or(Problem::NotFound(&[]))?;
    let Shown { hp_left, hits, last_hit } = shown;
    let BattleDefinition { actor_id, hp, payload, .. } = &definition;
    let body = BattleBody {
        battle_id: &id,
        actor_id,
        payload,
        state: if hp_left == 0 { BattlePhase::Defeated } else { BattlePhase::Open },
        hp: *hp,
        hp_left,
        hits,
        last_hit: last_hit.as_ref().map(LastHit::from),
        viewer: viewer_hits
            .map(|viewer_hits| ViewerHits { hits: viewer_hits.hits, damage: viewer_hits.damage }),
    };
    let answer = Answer { body: serde_json::to_string(&body)?, items: 1 };
    Ok(Shareable { answer, is_public: viewer.is_none() })
}

fn battles(cx: &Context<'_>) -> Battles {
    Battles::new(&cx.reader.facts, &cx.reader.views)
}

//! Reads a hit, and its outcome. Every authenticated caller may.

use serde::Serialize;
use shared::platform::values::{BattleId, HitId, Timestamp, ViewerId};
use shared::social::battles::{Hit, HitState};

use super::battles;
use crate::reader::Context;
use function_http::Problem;
use function_http::response::Answer;

#[derive(Serialize)]
struct HitBody<'a> {
    hit_id: &'a HitId,
    viewer_id: Option<&'a ViewerId>,
    damage: u64,
    at: Timestamp,
    state: &'static str,
}

/// `GET /v1/battles/{battle_id}/hits/{hit_id}`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let battle = cx.path.parameter("battle_id", BattleId::new)?;
    let hit = cx.path.parameter("hit_id", HitId::new)?;
    let found = battles(cx).hit_state(&battle, &hit).await?;
    let (Hit { hit_id, viewer_id, damage, at }, state) = found.ok_or(Problem::NotFound(&[]))?;
    let state = match state {
        HitState::Pending => "pending",
        HitState::Landed => "landed",
        HitState::Late => "late",
    };
    let body = HitBody { hit_id: &hit_id, viewer_id: viewer_id.as_ref(), damage, at, state };
    Ok(Answer { body: serde_json::to_string(&body)?, items: 1 })
}

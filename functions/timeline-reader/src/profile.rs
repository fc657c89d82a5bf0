//! Reads a profile. Every authenticated caller may read every profile.

use serde::Serialize;
use shared::platform::values::{Payload, Timestamp, ViewerId};
use shared::social::profiles::{Profile, Profiles};

use crate::reader::Context;
use function_http::Problem;
use function_http::response::Answer;

#[derive(Serialize)]
struct ProfileBody<'a> {
    viewer_id: &'a ViewerId,
    payload: &'a Payload,
    updated_at: Timestamp,
}

/// `GET /v1/profiles/{viewer_id}`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let viewer = cx.path.parameter("viewer_id", ViewerId::new)?;
    let profiles = Profiles::new(&cx.reader.ledger);
    let profile = profiles.profile(&viewer).await?;
    let Profile { payload, updated_at } = profile.ok_or(Problem::NotFound(&[]))?;
    let body = ProfileBody { viewer_id: &viewer, payload: &payload, updated_at };
    Ok(Answer { body: serde_json::to_string(&body)?, items: 1 })
}

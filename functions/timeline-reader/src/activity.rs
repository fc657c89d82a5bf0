//! Reads one activity, of any age. Every authenticated caller may read every activity.

use futures::future::try_join;
use serde::Serialize;
use shared::platform::values::{ActivityId, ActorId, Kind, Payload, Timestamp};
use shared::social::activities::{Activities, Published};
use shared::social::likes::LikeSummary;

use crate::likes::summaries::of_activities;
use crate::reader::Context;
use function_http::Problem;
use function_http::response::Answer;

/// An activity as callers see it, wherever they do.
#[derive(Serialize)]
pub(crate) struct Activity<'a> {
    activity_id: &'a ActivityId,
    actor_id: &'a ActorId,
    kind: &'a Kind,
    published_at: Timestamp,
    payload: &'a Payload,
    #[serde(skip_serializing_if = "Option::is_none")]
    likes: Option<LikeSummary>,
}

impl<'a> Activity<'a> {
    pub(crate) fn new(
        activity_id: &'a ActivityId,
        actor_id: &'a ActorId,
        content: &'a Published,
    ) -> Self {
        let Published { at, kind, payload } = content;
        Self { activity_id, actor_id, kind, published_at: *at, payload, likes: None }
    }

    /// The same with how many like it.
    pub(crate) fn with_likes(self, likes: Option<LikeSummary>) -> Self {
        Self { likes, ..self }
    }
}

/// `GET /v1/activities/{activity_id}`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let id = cx.path.parameter("activity_id", ActivityId::new)?;
    let activities = Activities::new(&cx.reader.ledger);
    let (published, likes) = try_join(
        activities.published(&id),
        of_activities(cx, cx.own.as_ref(), std::slice::from_ref(&id)),
    )
    .await?;
    let (actor, content) = published.ok_or(Problem::NotFound(&[]))?;
    let activity = Activity::new(&id, &actor, &content).with_likes(likes.get(&id).copied());
    Ok(Answer { body: serde_json::to_string(&activity)?, items: 1 })
}

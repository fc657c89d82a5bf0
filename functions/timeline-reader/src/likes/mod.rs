//! What a viewer likes, and how many like an activity.

use std::collections::HashMap;

use futures::future::try_join;
use serde::Serialize;
use shared::activities::Activities;
use shared::dynamo::{BATCH_GET, DynamoError};
use shared::likes::{Like, LikeCounts, Likes, Standing};
use shared::values::{ActivityId, Timestamp, ViewerId};

use crate::Context;
use crate::activity::Activity;
use crate::http::problem::Problem;
use crate::http::response::Answer;

/// How many like each of these activities, at most [`BATCH_GET`], and whether this viewer does: two calls, side by
/// side.
pub(crate) async fn of_activities(
    cx: &Context<'_>,
    viewer: Option<&ViewerId>,
    activities: &[ActivityId],
) -> Result<HashMap<ActivityId, Standing>, DynamoError> {
    let counts = LikeCounts::new(&cx.reader.views.over(cx.dynamo));
    let likes = Likes::new(&cx.reader.facts.over(cx.dynamo));
    let liked = async {
        match viewer {
            None => Ok(None),
            Some(viewer) => likes.liked(viewer, activities, cx.deadline).await.map(Some),
        }
    };
    let (counts, liked) = try_join(counts.of(activities, cx.deadline), liked).await?;
    let standing = |activity: &ActivityId| {
        let count = counts.get(activity).copied().unwrap_or_default();
        let liked = liked.as_ref().map(|liked| liked.contains(activity));
        (activity.clone(), Standing { count, liked })
    };
    Ok(activities.iter().map(standing).collect())
}

#[derive(Serialize)]
struct Body<'a> {
    items: Vec<Item<'a>>,
    next_cursor: Option<String>,
}

#[derive(Serialize)]
struct Item<'a> {
    #[serde(flatten)]
    activity: Activity<'a>,
    liked_at: Timestamp,
}

/// `GET /v1/viewers/{viewer_id}/likes`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let viewer = cx.path.parameter("viewer_id", ViewerId::new)?;
    cx.caller.may_read(&viewer)?;
    let likes = Likes::new(&cx.reader.facts.over(cx.dynamo));
    let activities = Activities::new(&cx.reader.ledger.over(cx.dynamo));
    let all = likes.of_viewer(&viewer, cx.deadline).await?;
    let mut found = Vec::new();
    for some in all.chunks(BATCH_GET) {
        let ids = some.iter().map(|like| &like.activity_id);
        let mut published = activities.all_published(ids, cx.deadline).await?;
        found.extend(some.iter().filter_map(|like| {
            published.remove(&like.activity_id).map(|activity| (like, activity))
        }));
    }
    let items = found.iter().map(|(Like { activity_id, liked_at }, (actor, content))| Item {
        activity: Activity::new(activity_id, actor, content),
        liked_at: *liked_at,
    });
    let items: Vec<_> = items.collect();
    let count = items.len();
    let body = Body { items, next_cursor: None };
    Ok(Answer { body: serde_json::to_string(&body)?, items: count })
}

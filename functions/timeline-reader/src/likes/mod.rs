//! What a viewer likes, and how many like an activity.

mod listed;

use std::collections::HashMap;

use serde::Serialize;
use shared::dynamo::DynamoError;
use shared::likes::{Like, LikeCounts, Likes, Standing};
use shared::values::{ActivityId, Packer, Timestamp, Unpacker, ViewerId};

use crate::Context;
use crate::activity::Activity;
use crate::http::list;
use crate::http::problem::Problem;
use crate::http::query::Parameters;
use crate::http::response::Answer;
use crate::page::{DEFAULT_LIMIT, limit};
use listed::Listed;

/// How many like each of these activities, at most [`BATCH_GET`](shared::dynamo::BATCH_GET), and whether this viewer is
/// counted among them.
pub(crate) async fn of_activities(
    cx: &Context<'_>,
    viewer: Option<&ViewerId>,
    activities: &[ActivityId],
) -> Result<HashMap<ActivityId, Standing>, DynamoError> {
    let counts = LikeCounts::new(&cx.reader.views.over(cx.dynamo));
    let likes = Likes::new(&cx.reader.facts.over(cx.dynamo));
    let counted: HashMap<_, _> = match viewer {
        Some(viewer) => counts.with_own(&likes, viewer, activities, cx.deadline).await?,
        None => {
            let counts = counts.of(activities, cx.deadline).await?;
            counts.into_iter().map(|(id, count)| (id, Standing { count, liked: None })).collect()
        }
    };
    let nobody = Standing { count: 0, liked: viewer.map(|_| false) };
    let standing = |id: &ActivityId| (id.clone(), counted.get(id).copied().unwrap_or(nobody));
    Ok(activities.iter().map(standing).collect())
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
    let parameters = Parameters::of(cx.event, &["limit", "cursor"])?;
    let limit = parameters.get("limit").map_or(Ok(DEFAULT_LIMIT), limit)?;
    let after = parameters
        .get("cursor")
        .map(|text| list::open(cx, LIST, &viewer, text, read))
        .transpose()?;
    let (found, next) = Listed::new(cx, &viewer).page(after, limit).await?;
    let next_cursor = next.map(|last| seal(cx, &viewer, &last));
    let items = found.iter().map(|(Like { activity_id, liked_at }, (actor, content))| Item {
        activity: Activity::new(activity_id, actor, content),
        liked_at: *liked_at,
    });
    list::answer(items.collect(), next_cursor)
}

/// The name of the list, for its cursors.
const LIST: &str = "likes";

/// A cursor to go on from a like.
fn seal(cx: &Context<'_>, viewer: &ViewerId, last: &Like) -> String {
    let mut packer = Packer::default();
    packer.instant(last.liked_at);
    packer.text(last.activity_id.as_str());
    cx.reader.seal.seal_in(LIST, viewer, &packer.into_bytes())
}

fn read(position: &[u8]) -> Option<Like> {
    let mut unpacker = Unpacker::new(position);
    let liked_at = unpacker.instant()?;
    let activity_id = ActivityId::new(unpacker.text()?).ok()?;
    unpacker.is_empty().then_some(Like { liked_at, activity_id })
}

//! What a viewer likes, and how many like an activity.

mod listed;

use std::collections::HashMap;

use futures::future::try_join;
use serde::Serialize;
use shared::platform::dynamo::DynamoError;
use shared::platform::values::{ActivityId, Packer, Timestamp, Unpacker, ViewerId};
use shared::social::likes::{Like, LikeCount, LikeCounts, LikeSummary, Likes};

use crate::activity::Activity;
use crate::reader::Context;
use function_http::Problem;
use function_http::reader::list::List;
use function_http::response::Answer;
use listed::Listed;

/// The like counts of these activities, at most [`BATCH_GET`](shared::platform::dynamo::BATCH_GET), and which of them this viewer likes. The count
/// of a single activity is read consistently. The counts of a page may be a moment old: they come from a cache or an eventually
/// consistent read.
pub(crate) async fn of_activities(
    cx: &Context<'_>,
    viewer: Option<&ViewerId>,
    activities: &[ActivityId],
) -> Result<HashMap<ActivityId, LikeSummary>, DynamoError> {
    let counts = LikeCounts::new(&cx.reader.views);
    let likes = Likes::new(&cx.reader.facts);
    let rows = async {
        match viewer {
            None => Ok(HashMap::new()),
            Some(viewer) => likes.rows(viewer, activities).await,
        }
    };
    let counted = async {
        match activities {
            [_] => counts.of(activities).await,
            _ => counts.lately(activities, &cx.reader.counts, cx.now).await,
        }
    };
    let (mut counted, rows) = try_join(counted, rows).await?;
    for activity in activities {
        counted.entry(activity.clone()).or_default();
    }
    if let Some(viewer) = viewer {
        return counts.summaries(counted, viewer, &rows, cx.now).await;
    }
    let summary = |count: &LikeCount| LikeSummary { count: count.count(), liked: None };
    Ok(counted.iter().map(|(activity, count)| (activity.clone(), summary(count))).collect())
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
    let list = List::new(cx, "likes", viewer);
    let (after, limit) = list.page(read)?;
    let (found, next) = Listed::new(cx, &list.whose).page(after.as_ref(), limit).await?;
    let items = found.iter().map(|(Like { activity_id, liked_at }, (actor, content))| Item {
        activity: Activity::new(activity_id, actor, content),
        liked_at: *liked_at,
    });
    list.answer(items.collect(), next.as_ref().map(position))
}

/// The position after a like.
fn position(last: &Like) -> Vec<u8> {
    let mut packer = Packer::default();
    packer.instant(last.liked_at);
    packer.text(last.activity_id.as_str());
    packer.into_bytes()
}

fn read(position: &[u8]) -> Option<Like> {
    let mut unpacker = Unpacker::new(position);
    let liked_at = unpacker.instant()?;
    let activity_id = ActivityId::new(unpacker.text()?).ok()?;
    unpacker.is_empty().then_some(Like { liked_at, activity_id })
}

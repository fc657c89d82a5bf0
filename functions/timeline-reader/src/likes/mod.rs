//! What a viewer likes, and how many like an activity.

mod listed;

use std::collections::HashMap;

use futures::future::try_join;
use serde::Serialize;
use shared::dynamo::DynamoError;
use shared::likes::{Like, LikeCounts, LikeSummary, Likes};
use shared::values::{ActivityId, Packer, Timestamp, Unpacker, ViewerId};

use crate::Context;
use crate::activity::Activity;
use crate::http::list::List;
use crate::http::problem::Problem;
use crate::http::response::Answer;
use listed::Listed;

/// The like counts of these activities, at most [`BATCH_GET`](shared::dynamo::BATCH_GET), and which of them this viewer likes. The count
/// of a single activity is read consistently. The counts of a page may be a moment old: they come from a cache or an eventually
/// consistent read.
pub(crate) async fn of_activities(
    cx: &Context<'_>,
    viewer: Option<&ViewerId>,
    activities: &[ActivityId],
) -> Result<HashMap<ActivityId, LikeSummary>, DynamoError> {
    let counts = LikeCounts::new(&cx.reader.views);
    let likes = Likes::new(&cx.reader.facts);
    let liked = async {
        match viewer {
            None => Ok(None),
            Some(viewer) => likes.liked(viewer, activities).await.map(Some),
        }
    };
    let counts = async {
        match activities {
            [_] => counts.of(activities).await,
            _ => counts.lately(activities, &cx.reader.counts, cx.now).await,
        }
    };
    let (counts, liked) = try_join(counts, liked).await?;
    let summary = |activity: &ActivityId| {
        let counted = counts.get(activity).cloned().unwrap_or_default();
        let summary = match viewer.zip(liked.as_ref()) {
            Some((viewer, liked)) => counted.summary(viewer, liked.contains(activity)),
            None => LikeSummary { count: counted.count(), liked: None },
        };
        (activity.clone(), summary)
    };
    Ok(activities.iter().map(summary).collect())
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
    let (found, next) = Listed::new(cx, &list.whose).page(after, limit).await?;
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

//! What a viewer likes, and how many like an activity.

mod listed;
pub(crate) mod summaries;

use serde::Serialize;
use shared::platform::values::{ActivityId, Packer, Timestamp, Unpacker, ViewerId};
use shared::social::likes::Like;

use crate::activity::Activity;
use crate::reader::Context;
use function_http::Problem;
use function_http::reader::list::List;
use function_http::response::Answer;
use listed::Listed;

#[derive(Serialize)]
struct LikedItem<'a> {
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
    let items = found.iter().map(|(Like { activity_id, liked_at }, (actor, content))| LikedItem {
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

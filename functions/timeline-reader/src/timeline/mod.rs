//! A page of one viewer's timeline.

mod answer;
mod cursors;
mod filling;
mod likes;
mod page;
mod request;

use shared::values::ViewerId;
use tokio::sync::OnceCell;

use crate::http::problem::Problem;
use crate::http::response::Answer;
use crate::{Context, Reader};
use cursors::Cursors;
use likes::AskedLikes;
use page::Reading;
use request::Request;
pub(crate) use request::{DEFAULT_LIMIT, limit};

/// `GET /v1/timelines/{viewer_id}`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let Reader { timelines, seal, retention, kept, hold, .. } = cx.reader;
    let viewer = cx.path.parameter("viewer_id", ViewerId::new)?;
    cx.caller.may_read(&viewer)?;
    let request = Request::parse(cx.event, &viewer, seal, &cx.caller)?;
    let likes = AskedLikes::new(cx, &request);
    let timelines = timelines.over(cx.dynamo);
    let mut now = cx.now;
    let (reading, page) = loop {
        let reading = Reading {
            timelines: &timelines,
            kept,
            hold: *hold,
            viewer: &viewer,
            request: &request,
            now,
            retained_from: retention.start(now),
            deadline: cx.deadline,
            seen: OnceCell::new(),
            likes: &likes,
        };
        let page = reading.page().await?;
        now = cx.reader.clock.now();
        if page.is_retained(retention.start(now)) {
            break (reading, page);
        }
    };
    let cursors = Cursors::of(&reading, &page, seal).await?;
    let body = answer::body(seal, &viewer, &page, &likes.shown(), &cursors, reading.retained_from)?;
    Ok(Answer { body, items: page.activities.len() })
}

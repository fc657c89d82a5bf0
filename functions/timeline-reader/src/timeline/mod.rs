//! A page of one viewer's timeline.

mod answer;
mod filling;
mod page;
mod request;

use shared::values::ViewerId;

use crate::http::problem::Problem;
use crate::http::response::Answer;
use crate::{Context, Reader};
use page::Reading;
use request::Request;

/// `GET /v1/timelines/{viewer_id}`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let Reader { timelines, seal, retention, kept, hold, .. } = cx.reader;
    let viewer = cx.path.parameter("viewer_id", ViewerId::new)?;
    cx.caller.may_read(&viewer)?;
    let request = Request::parse(cx.event, &viewer, seal)?;
    let (timelines, retained_from) = (timelines.over(cx.dynamo), retention.start(cx.now));
    let reading = Reading {
        timelines: &timelines,
        kept,
        hold: *hold,
        viewer: &viewer,
        request: &request,
        now: cx.now,
        retained_from,
        deadline: cx.deadline,
    };
    let page = reading.page().await?;
    let body = answer::body(seal, &viewer, &request, &page, retained_from)?;
    Ok(Answer { body, items: page.activities.len() })
}

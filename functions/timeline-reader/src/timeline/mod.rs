//! A page of one viewer's timeline.

mod answer;
mod page;
mod request;

use shared::values::ViewerId;

use crate::http::problem::Problem;
use crate::http::response::Answer;
use crate::{Context, Reader};
use request::Request;

/// `GET /v1/timelines/{viewer_id}`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let Reader { timelines, seal, retention, .. } = cx.reader;
    let viewer = cx.path.parameter("viewer_id", ViewerId::new)?;
    cx.caller.may_read(&viewer)?;
    let request = Request::parse(cx.event, &viewer, seal)?;
    let (timelines, retained_from) = (timelines.over(cx.dynamo), retention.start(cx.now));
    let page = page::read(&timelines, &viewer, &request, retained_from, cx.deadline).await?;
    let body = answer::body(seal, &viewer, &request, &page, retained_from)?;
    Ok(Answer { body, items: page.activities.len() })
}

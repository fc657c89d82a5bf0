//! Whom a viewer follows, by id: theirs alone, like a timeline.

use shared::follows::Follows;
use shared::values::ViewerId;

use super::List;
use crate::Context;
use crate::http::problem::Problem;
use crate::http::response::Answer;

/// `GET /v1/viewers/{viewer_id}/following`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let viewer = cx.path.parameter("viewer_id", ViewerId::new)?;
    cx.caller.may_read(&viewer)?;
    let list = List { name: "following", whose: &viewer };
    let request = list.request(cx)?;
    let follows = Follows::new(&cx.reader.ledger);
    let after = request.after.as_ref();
    let page = follows.following(&viewer, after, request.limit).await?;
    list.answer(cx, page).await
}

//! Whom a viewer follows, by id: theirs alone, like a timeline.

use shared::platform::values::ViewerId;
use shared::social::follows::Follows;

use super::{answer, read};
use crate::reader::Context;
use function_http::Problem;
use function_http::reader::list::List;
use function_http::response::Answer;

/// `GET /v1/viewers/{viewer_id}/following`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let viewer = cx.path.parameter("viewer_id", ViewerId::new)?;
    cx.caller.may_read(&viewer)?;
    let list = List::new(cx, "following", viewer);
    let (after, limit) = list.page(read)?;
    let follows = Follows::new(&cx.reader.ledger);
    let page = follows.following(&list.whose, after.as_ref(), limit).await?;
    answer(cx, &list, page).await
}

//! The followers of an actor. Every authenticated caller may read them.

use shared::platform::values::ActorId;
use shared::social::follows::Follows;

use super::{answer, read};
use crate::reader::Context;
use function_http::Problem;
use function_http::reader::list::List;
use function_http::response::Answer;

/// `GET /v1/actors/{actor_id}/followers`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let actor = cx.path.parameter("actor_id", ActorId::new)?;
    let list = List::new(cx, "followers", actor);
    let (after, limit) = list.page(read)?;
    let follows = Follows::new(&cx.reader.ledger);
    let page = follows.followers(&list.whose, after.as_ref(), limit).await?;
    answer(cx, &list, page).await
}

//! The followers of an actor. Every authenticated caller may read them.

use shared::follows::Follows;
use shared::values::ActorId;

use super::List;
use crate::Context;
use crate::http::problem::Problem;
use crate::http::response::Answer;

/// `GET /v1/actors/{actor_id}/followers`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let actor = cx.path.parameter("actor_id", ActorId::new)?;
    let list = List { name: "followers", whose: &actor };
    let request = list.request(cx)?;
    let follows = Follows::new(&cx.reader.ledger);
    let after = request.after.as_ref();
    let page = follows.followers(&actor, after, request.limit).await?;
    list.answer(cx, page).await
}

//! Reads what was said in a room, or what one author said in it.
//!
//! Who may read is asked anew for every page, beside its first query ([`said`]): no cursor says anything of it.

mod said;

use serde::Serialize;
use shared::paging::CursorError;
use shared::rooms::{Message, Rooms, keys};
use shared::values::{ActivityId, Payload, RoomId, Timestamp, ViewerId};

use crate::Context;
use crate::http::auth::Caller;
use crate::http::problem::Problem;
use crate::http::query::Parameters;
use crate::http::response::Answer;
use crate::page::{Cursors, Page, Paging, Request};
use said::{Reader, Said};

const AUTHOR: &str = "author";
const KNOWN: &[&str] = &["limit", "order", "from", "to", "cursor", "viewer", AUTHOR];

#[derive(Serialize)]
struct Body<'a> {
    room_id: &'a RoomId,
    items: Vec<Item<'a>>,
    next_cursor: Option<String>,
    newer_cursor: String,
}

#[derive(Serialize)]
struct Item<'a> {
    /// Messages stand at the sort keys of activities.
    message_id: &'a ActivityId,
    author_id: &'a ViewerId,
    at: Timestamp,
    payload: &'a Payload,
}

/// `GET /v1/rooms/{room_id}/messages`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let room = cx.path.parameter("room_id", RoomId::new)?;
    let parameters = Parameters::of(cx.event, KNOWN)?;
    let author = parameters.get(AUTHOR).map(ViewerId::new).transpose();
    let author = author.map_err(|e| Problem::invalid(AUTHOR, e.to_string()))?;
    let viewer = cx.caller.own(parameters.get("viewer"))?;
    let list = keys::list(&room, viewer.as_ref());
    let filter = author.map_or_else(Vec::new, |author| String::from(author).into_bytes());
    let request = Request::parse(cx, &parameters, &list, filter, &[AUTHOR])?;
    let reader = match (&cx.caller, viewer) {
        (Caller::Trusted, None) => Reader::Trusted,
        (_, viewer) => Reader::Viewer(viewer),
    };
    let (author, rooms) = (author_of(&request)?, Rooms::new(&cx.reader.ledger.over(cx.dynamo)));
    let said = Said::new(cx, &rooms, &room, author.as_ref(), &reader);
    let paging = Paging::new(cx, &list, &request, cx.now, Timestamp::FIRST);
    let page = said.page(&paging).await?.ok_or(Problem::Forbidden)?;
    answer(cx, &room, &paging, &page).await
}

/// Whose messages are asked for, if it is only one author's. A cursor carries that.
fn author_of(request: &Request) -> Result<Option<ViewerId>, Problem> {
    let filter = &request.cursor.filter;
    if filter.is_empty() {
        return Ok(None);
    }
    let author = String::from_utf8(filter.clone()).ok().and_then(|id| ViewerId::new(id).ok());
    let damaged = || Problem::invalid("cursor", CursorError::Damaged.to_string());
    author.map(Some).ok_or_else(damaged)
}

async fn answer(
    cx: &Context<'_>,
    room: &RoomId,
    paging: &Paging<'_>,
    page: &Page<Message>,
) -> Result<Answer, Problem> {
    let seal = &cx.reader.seal;
    let cursors = Cursors::of(paging, page, seal).await?;
    let items = page.items.iter().map(|(key, Message { author_id, payload, .. })| Item {
        message_id: &key.activity_id,
        author_id,
        at: key.published_at,
        payload,
    });
    let body = Body {
        room_id: room,
        items: items.collect(),
        next_cursor: cursors.next.as_ref().map(|cursor| seal.seal(paging.list, cursor)),
        newer_cursor: seal.seal(paging.list, &cursors.newer),
    };
    Ok(Answer { body: serde_json::to_string(&body)?, items: page.items.len() })
}

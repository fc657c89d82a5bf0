//! Reads the messages of a room, or of one author in it.
//!
//! ```text
//! cursor       sealed positions
//! page_reader  pages in the order of `at`, each with all that has arrived up to a bound
//! newer        what has arrived since
//! ```
//!
//! Only its present members can read a private room. Trusted callers name the viewer for whom they read; without a viewer
//! they cannot read a private room.

mod cursor;
mod newer;
mod page_reader;

use serde::Serialize;
use shared::platform::values::{ActivityId, Payload, RoomId, Timestamp, ViewerId};
use shared::social::rooms::{ArrivalPosition, RoomMessage, Rooms};

use crate::reader::Context;
use cursor::{Cursor, Position};
use function_http::Problem;
use function_http::page::{DEFAULT_LIMIT, limit};
use function_http::reader::query::Parameters;
use function_http::response::{Answer, Shareable};

const AUTHOR: &str = "author";
const KNOWN: &[&str] = &["limit", "order", "from", "to", "cursor", AUTHOR];

#[derive(Serialize)]
struct MessagesBody<'a> {
    room_id: &'a RoomId,
    items: Vec<MessageItem<'a>>,
    next_cursor: Option<String>,
    newer_cursor: String,
}

#[derive(Serialize)]
struct MessageItem<'a> {
    /// Messages have the sort keys of activities.
    message_id: &'a ActivityId,
    author_id: &'a ViewerId,
    at: Timestamp,
    payload: &'a Payload,
}

/// What is asked for.
struct RoomRequest<'a> {
    rooms: &'a Rooms,
    room: &'a RoomId,
    /// The viewer who reads, if there is one.
    viewer: Option<&'a ViewerId>,
    cursor: Cursor,
    limit: usize,
}

struct FoundMessages {
    /// Nobody has joined the room, and nothing private was said there.
    is_open: bool,
    messages: Vec<RoomMessage>,
    next: Option<Position>,
    newer: ArrivalPosition,
}

/// `GET /v1/rooms/{room_id}/messages`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Shareable, Problem> {
    let room = cx.path.parameter("room_id", RoomId::new)?;
    let parameters = Parameters::parse(cx.event, KNOWN)?;
    let rooms = Rooms::new(&cx.reader.ledger);
    let request = RoomRequest {
        rooms: &rooms,
        room: &room,
        viewer: cx.own.as_ref(),
        cursor: Cursor::parse(cx, &parameters, &room)?,
        limit: parameters.get("limit").map_or(Ok(DEFAULT_LIMIT), limit)?,
    };
    let found = match &request.cursor.position {
        Position::Page { order, after, since } => {
            page_reader::page(&request, *order, after.as_ref(), *since).await?
        }
        Position::Newer(after) => newer::page(&request, *after).await?,
    };
    let answer = answer(cx, &request, &found)?;
    // An address that names a viewer is for that viewer, although everybody reads the same.
    Ok(Shareable { answer, is_public: found.is_open && !cx.is_viewer_named })
}

fn answer(
    cx: &Context<'_>,
    request: &RoomRequest<'_>,
    found: &FoundMessages,
) -> Result<Answer, Problem> {
    let items =
        found.messages.iter().map(|RoomMessage { sort_key, author_id, payload, .. }| MessageItem {
            message_id: &sort_key.activity_id,
            author_id,
            at: sort_key.published_at,
            payload,
        });
    let (cursor, room) = (&request.cursor, request.room);
    let seal = |position| cursor.seal(cx, room, position);
    let body = MessagesBody {
        room_id: room,
        items: items.collect(),
        next_cursor: found.next.clone().map(seal),
        newer_cursor: seal(Position::Newer(found.newer)),
    };
    Ok(Answer { body: serde_json::to_string(&body)?, items: found.messages.len() })
}

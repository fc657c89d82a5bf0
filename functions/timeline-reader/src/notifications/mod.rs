//! What a viewer is notified of.

use serde::Serialize;
use shared::notifications::keys::Place;
use shared::notifications::{Notification, Notifications, Wanted};
use shared::timelines::CursorError;
use shared::values::{ActivityId, Timestamp, ViewerId};

use crate::Context;
use crate::http::problem::Problem;
use crate::http::query::Parameters;
use crate::http::response::Answer;
use crate::timeline::{DEFAULT_LIMIT, limit};

#[derive(Serialize)]
struct Body<'a> {
    viewer_id: &'a ViewerId,
    unread_count: u64,
    items: Vec<Item<'a>>,
    next_cursor: Option<String>,
}

#[derive(Serialize)]
struct Item<'a> {
    notification_id: String,
    kind: &'static str,
    activity_id: &'a ActivityId,
    state: &'static str,
    count: u64,
    through: u64,
    viewers: Vec<&'a ViewerId>,
    first_at: Timestamp,
    last_at: Timestamp,
    read_at: Option<Timestamp>,
}

impl<'a> Item<'a> {
    fn new(Notification { id, group, read_at }: &'a Notification) -> Self {
        Self {
            notification_id: id.to_string(),
            kind: "like",
            activity_id: &id.activity_id,
            state: if read_at.is_some() { "read" } else { UNREAD },
            count: group.count,
            // Within the notification, so that it needs no other number to be understood.
            through: group.count,
            viewers: group.viewers().collect(),
            first_at: group.first_at,
            last_at: group.last_at,
            read_at: *read_at,
        }
    }
}

const UNREAD: &str = "unread";

/// `GET /v1/notifications/{viewer_id}`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let viewer = cx.path.parameter("viewer_id", ViewerId::new)?;
    cx.caller.may_read(&viewer)?;
    let parameters = Parameters::of(cx.event, &["limit", "cursor", "state"])?;
    let limit = parameters.get("limit").map_or(Ok(DEFAULT_LIMIT), limit)?;
    let mut wanted = Wanted { limit, after: None, unread_only: false };
    if let Some(cursor) = parameters.get("cursor") {
        (wanted.unread_only, wanted.after) = open(cx, &viewer, cursor)?;
    }
    match parameters.get("state") {
        None => {}
        Some(UNREAD) => wanted.unread_only = true,
        Some(_) => return Err(Problem::invalid("state", format!("expected `{UNREAD}`"))),
    }
    let reader = cx.reader;
    let notifications =
        Notifications::new(&reader.facts.over(cx.dynamo), &reader.views.over(cx.dynamo));
    let page = notifications.page(&viewer, &wanted, cx.now, cx.deadline).await?;
    let last = page.items.last().filter(|_| page.more);
    let body = Body {
        viewer_id: &viewer,
        unread_count: page.unread_count,
        items: page.items.iter().map(Item::new).collect(),
        next_cursor: last.map(|last| seal(cx, &viewer, wanted.unread_only, &last.place())),
    };
    Ok(Answer { body: serde_json::to_string(&body)?, items: page.items.len() })
}

/// The name of the list, for its cursors.
const LIST: &str = "notifications";

/// A cursor to go on behind a notification.
fn seal(cx: &Context<'_>, viewer: &ViewerId, unread_only: bool, last: &Place) -> String {
    let position = [&[u8::from(unread_only)], last.to_text().as_bytes()].concat();
    cx.reader.seal.seal_in(LIST, viewer, &position)
}

fn open(cx: &Context<'_>, viewer: &ViewerId, text: &str) -> Result<(bool, Option<Place>), Problem> {
    let opened = cx.reader.seal.open_in(LIST, viewer, text).and_then(|position| {
        let (unread_only, place) = position.split_first().ok_or(CursorError::Damaged)?;
        let place = std::str::from_utf8(place).ok().and_then(Place::of_text);
        Ok((*unread_only == 1, Some(place.ok_or(CursorError::Damaged)?)))
    });
    opened.map_err(|e| Problem::invalid("cursor", e.to_string()))
}

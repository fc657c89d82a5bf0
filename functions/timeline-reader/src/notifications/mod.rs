//! What a viewer is notified of.

use serde::Serialize;
use shared::platform::values::{ActivityId, Packer, Timestamp, Unpacker, ViewerId};
use shared::social::notifications::keys::NotificationKey;
use shared::social::notifications::{Notification, Notifications, NotificationsQuery};

use crate::Context;
use crate::http::list::{self, List, UNREAD};
use crate::http::problem::Problem;
use crate::http::query::Parameters;
use crate::http::response::Answer;

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
            // What a client sends back to mark as read what this answer shows. It counts within the
            // notification, so no other number is needed to understand it. The places of erased
            // viewers count, so that older numbers keep their meaning.
            through: group.places(),
            viewers: group.viewers().collect(),
            first_at: group.first_at,
            last_at: group.last_at,
            read_at: *read_at,
        }
    }
}

/// `GET /v1/notifications/{viewer_id}`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let viewer = cx.path.parameter("viewer_id", ViewerId::new)?;
    cx.caller.may_read(&viewer)?;
    let parameters = Parameters::of(cx.event, &["limit", "cursor", "state"])?;
    let list = List::new(cx, "notifications", &viewer);
    let (position, limit) = list.page_of(&parameters, read)?;
    let (only, after) = position.unzip();
    let unread_only = list::is_unread_only(&parameters)? || only.unwrap_or(false);
    let wanted = NotificationsQuery { limit, after, unread_only };
    let reader = cx.reader;
    let notifications = Notifications::new(&reader.facts, &reader.views);
    let page = notifications.page(&viewer, &wanted, cx.now).await?;
    let body = Body {
        viewer_id: &viewer,
        unread_count: page.unread_count,
        items: page.items.iter().map(Item::new).collect(),
        next_cursor: page.next.as_ref().map(|after| list.seal(position_after(after, unread_only))),
    };
    Ok(Answer { body: serde_json::to_string(&body)?, items: page.items.len() })
}

/// The position after a notification.
fn position_after(position: &NotificationKey, unread_only: bool) -> Vec<u8> {
    let mut packer = Packer::default();
    packer.number(u64::from(unread_only));
    packer.text(&position.to_text());
    packer.into_bytes()
}

fn read(position: &[u8]) -> Option<(bool, NotificationKey)> {
    let mut unpacker = Unpacker::new(position);
    let unread_only = unpacker.number()? & 1 != 0;
    let position = NotificationKey::of_text(unpacker.text()?)?;
    unpacker.is_empty().then_some((unread_only, position))
}

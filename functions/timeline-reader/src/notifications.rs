//! What a viewer is notified of.

use serde::Serialize;
use shared::platform::values::{ActivityId, Packer, Timestamp, Unpacker, ViewerId};
use shared::social::notifications::keys::NotificationKey;
use shared::social::notifications::{
    After, Carried, Notification, Notifications, NotificationsQuery,
};

use crate::reader::Context;
use function_http::Problem;
use function_http::reader::list::{self, List, UNREAD};
use function_http::reader::query::Parameters;
use function_http::response::Answer;

#[derive(Serialize)]
struct NotificationsBody<'a> {
    viewer_id: &'a ViewerId,
    unread_count: u64,
    items: Vec<NotificationItem<'a>>,
    next_cursor: Option<String>,
}

#[derive(Serialize)]
struct NotificationItem<'a> {
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

impl<'a> NotificationItem<'a> {
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
    let parameters = Parameters::parse(cx.event, &["limit", "cursor", "state"])?;
    let list = List::new(cx, "notifications", &viewer);
    let (position, limit) = list.page_of(&parameters, read)?;
    let (only, after) = position.unzip();
    let unread_only = list::is_unread_only(&parameters)? || only.unwrap_or(false);
    let wanted = NotificationsQuery { limit, after, unread_only };
    let reader = cx.reader;
    let notifications = Notifications::new(&reader.facts, &reader.views);
    let page = notifications.page(&viewer, &wanted, cx.now).await?;
    let body = NotificationsBody {
        viewer_id: &viewer,
        unread_count: page.unread_count,
        items: page.items.iter().map(NotificationItem::new).collect(),
        next_cursor: page.next.as_ref().map(|after| list.seal(position_after(after, unread_only))),
    };
    Ok(Answer { body: serde_json::to_string(&body)?, items: page.items.len() })
}

/// The most bytes of ids in a cursor, so that the cursor is short enough even with the longest position.
const MOST_CARRIED: usize = 160;
const UNREAD_ONLY: u64 = 1;
const CARRIES: u64 = 2;

fn position_after(after: &After, unread_only: bool) -> Vec<u8> {
    let length =
        |listed: &Carried| listed.activities.iter().map(|id| id.as_str().len() + 1).sum::<usize>();
    let carried = after.listed.as_ref().filter(|listed| length(listed) <= MOST_CARRIED);
    let flag = |set: bool, flag: u64| if set { flag } else { 0 };
    let mut packer = Packer::default();
    packer.number(flag(unread_only, UNREAD_ONLY) | flag(carried.is_some(), CARRIES));
    packer.text(&after.position.to_text());
    if let Some(Carried { version, activities }) = carried {
        packer.number(*version);
        activities.iter().for_each(|id| packer.text(id.as_str()));
    }
    packer.into_bytes()
}

fn read(position: &[u8]) -> Option<(bool, After)> {
    let mut unpacker = Unpacker::new(position);
    let flags = unpacker.number()?;
    let position = NotificationKey::of_text(unpacker.text()?)?;
    if flags & CARRIES == 0 {
        return unpacker
            .is_empty()
            .then_some((flags & UNREAD_ONLY != 0, After { position, listed: None }));
    }
    let mut carried = Carried { version: unpacker.number()?, activities: Vec::new() };
    while !unpacker.is_empty() {
        carried.activities.push(ActivityId::new(unpacker.text()?).ok()?);
    }
    Some((flags & UNREAD_ONLY != 0, After { position, listed: Some(carried) }))
}

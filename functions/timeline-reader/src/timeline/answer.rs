//! A page as callers see it.

use serde::Serialize;
use shared::timelines::CursorSeal;
use shared::values::{ActivityId, ActorId, Kind, Payload, Timestamp, ViewerId};

use super::cursors::Cursors;
use super::page::{Page, Shown};

#[derive(Serialize)]
struct Body<'a> {
    viewer_id: &'a ViewerId,
    items: Vec<Activity<'a>>,
    next_cursor: Option<String>,
    newer_cursor: String,
    retained_from: Timestamp,
}

#[derive(Serialize)]
struct Activity<'a> {
    activity_id: &'a ActivityId,
    actor_id: &'a ActorId,
    kind: &'a Kind,
    published_at: Timestamp,
    payload: &'a Payload,
}

impl<'a> From<&'a Shown> for Activity<'a> {
    fn from(shown: &'a Shown) -> Self {
        Self {
            activity_id: &shown.sort_key.activity_id,
            actor_id: &shown.actor,
            kind: &shown.content.kind,
            published_at: shown.sort_key.published_at,
            payload: &shown.content.payload,
        }
    }
}

/// The body that carries a page, with a cursor to go on and one to come back for newer ones.
///
/// # Errors
/// The page cannot be written as JSON: a defect, and not to be answered with an empty body.
pub(super) fn body(
    seal: &CursorSeal,
    viewer: &ViewerId,
    page: &Page,
    cursors: &Cursors,
    retained_from: Timestamp,
) -> Result<String, serde_json::Error> {
    let body = Body {
        viewer_id: viewer,
        items: page.activities.iter().map(Activity::from).collect(),
        next_cursor: cursors.next.as_ref().map(|cursor| seal.seal(viewer, cursor)),
        newer_cursor: seal.seal(viewer, &cursors.newer),
        retained_from,
    };
    serde_json::to_string(&body)
}

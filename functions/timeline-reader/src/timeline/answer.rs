//! A page as callers see it.

use std::collections::HashMap;

use serde::Serialize;
use shared::likes::Standing;
use shared::timelines::CursorSeal;
use shared::values::{ActivityId, Timestamp, ViewerId};

use super::cursors::Cursors;
use super::page::{Page, Shown};
use crate::activity::Activity;

#[derive(Serialize)]
struct Body<'a> {
    viewer_id: &'a ViewerId,
    items: Vec<Activity<'a>>,
    next_cursor: Option<String>,
    newer_cursor: String,
    retained_from: Timestamp,
}

/// The body that carries a page, with a cursor to go on and one to come back for newer ones.
///
/// # Errors
/// The page cannot be written as JSON: a defect, and not to be answered with an empty body.
pub(super) fn body(
    seal: &CursorSeal,
    viewer: &ViewerId,
    page: &Page,
    likes: &HashMap<ActivityId, Standing>,
    cursors: &Cursors,
    retained_from: Timestamp,
) -> Result<String, serde_json::Error> {
    let items = page.activities.iter().map(|Shown { sort_key, actor, content }| {
        let id = &sort_key.activity_id;
        Activity::new(id, actor, content).with_likes(likes.get(id).copied())
    });
    let body = Body {
        viewer_id: viewer,
        items: items.collect(),
        next_cursor: cursors.next.as_ref().map(|cursor| seal.seal(viewer, cursor)),
        newer_cursor: seal.seal(viewer, &cursors.newer),
        retained_from,
    };
    serde_json::to_string(&body)
}

//! A page of activities as callers see it.

use std::collections::HashMap;

use function_http::Problem;
use function_http::page::{Cursors, Page, Paging};
use function_http::response::Answer;
use serde::Serialize;
use shared::platform::values::{ActivityId, ActorId, Timestamp, ViewerId};
use shared::social::likes::LikeSummary;

use super::rows::Shown;
use crate::activity::Activity;
use crate::reader::Context;

/// The members of an answer that describe the list.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Head<'a> {
    Timeline { viewer_id: &'a ViewerId },
    Actor { actor_id: &'a ActorId },
    Tagged { viewer_id: &'a ViewerId },
}

#[derive(Serialize)]
struct ActivitiesBody<'a> {
    #[serde(flatten)]
    head: Head<'a>,
    items: Vec<Activity<'a>>,
    next_cursor: Option<String>,
    newer_cursor: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    retained_from: Option<Timestamp>,
}

/// The answer for a page, with a cursor to go on and one to poll for newer activities.
pub(crate) async fn answer(
    cx: &Context<'_>,
    paging: &Paging<'_>,
    page: &Page<Shown>,
    likes: &HashMap<ActivityId, LikeSummary>,
    head: Head<'_>,
) -> Result<Answer, Problem> {
    let seal = &cx.requests().seal;
    let cursors = Cursors::new(paging, page, seal).await?;
    let items = page.items.iter().map(|(key, Shown { actor, content })| {
        let id = &key.activity_id;
        Activity::new(id, actor, content).with_likes(likes.get(id).copied())
    });
    let body = ActivitiesBody {
        retained_from: matches!(head, Head::Timeline { .. }).then_some(paging.retained_from),
        head,
        items: items.collect(),
        next_cursor: cursors.next.as_ref().map(|cursor| seal.seal(paging.list, cursor)),
        newer_cursor: seal.seal(paging.list, &cursors.newer),
    };
    Ok(Answer { body: serde_json::to_string(&body)?, items: page.items.len() })
}

//! Who is tagged in an activity (docs/QUERIES.md). Every authenticated caller may read that of every activity.
//!
//! An ordinary page is two round trips: the activity and its tags side by side, then the profiles in one call. Those who
//! were untagged are passed over.
//!
//! # One page, one moment
//!
//! Who is tagged is of one moment, as pages of timelines are: if all was read within one [hold](shared::runtime::hold),
//! or if two readings one after the other say the same. A row has the instant of its command, which only grows, also
//! that of an untag, and an activity is published once and deleted for good; so what reads the same twice was the same
//! in between. Each profile is as it was at some moment of the request.

use futures::future::try_join;
use serde::Serialize;
use shared::activities::Activities;
use shared::dynamo::DynamoError;
use shared::paging::CursorError;
use shared::profiles::Profiles;
use shared::runtime::deadline::Deadline;
use shared::tags::{Tag, Tags};
use shared::values::{ActivityId, Payload, ViewerId};
use tokio::time::Instant;

use crate::Context;
use crate::http::problem::Problem;
use crate::http::query::Parameters;
use crate::http::response::Answer;
use crate::page::{DEFAULT_LIMIT, limit};

/// The name of the list, for its cursors.
const LIST: &str = "tags";
/// Tags looked at in one call after the first, if many were passed over.
const MORE: usize = 1_000;

#[derive(Serialize)]
struct Body<'a> {
    items: Vec<Item<'a>>,
    next_cursor: Option<String>,
}

#[derive(Serialize)]
struct Item<'a> {
    tagged_id: &'a ViewerId,
    profile: Option<&'a Payload>,
}

/// `GET /v1/activities/{activity_id}/tags`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let activity = cx.path.parameter("activity_id", ActivityId::new)?;
    let parameters = Parameters::of(cx.event, &["limit", "cursor"])?;
    let limit = parameters.get("limit").map_or(Ok(DEFAULT_LIMIT), limit)?;
    let after = parameters.get("cursor").map(|text| open(cx, &activity, text)).transpose()?;
    let mut tags = read(cx, &activity, after.as_ref(), limit + 1).await?;
    let more = tags.len() > limit;
    tags.truncate(limit);
    let profiles = Profiles::new(&cx.reader.ledger.over(cx.dynamo));
    let profiles = match tags.is_empty() {
        true => Default::default(),
        false => profiles.profiles(tags.iter().map(|tag| &tag.tagged_id), cx.deadline).await?,
    };
    let items = tags.iter().map(|Tag { tagged_id, .. }| Item {
        tagged_id,
        profile: profiles.get(tagged_id).map(|profile| &profile.payload),
    });
    let last = tags.last().filter(|_| more).map(|last| last.tagged_id.as_str());
    let next_cursor = last.map(|last| cx.reader.seal.seal_in(LIST, &activity, last.as_bytes()));
    let body = Body { items: items.collect(), next_cursor };
    Ok(Answer { body: serde_json::to_string(&body)?, items: tags.len() })
}

/// At most so many tags beyond somebody, by id, as they were at one moment.
async fn read(
    cx: &Context<'_>,
    activity: &ActivityId,
    after: Option<&ViewerId>,
    limit: usize,
) -> Result<Vec<Tag>, DynamoError> {
    let ledger = cx.reader.ledger.over(cx.dynamo);
    let (activities, tags) = (Activities::new(&ledger), Tags::new(&ledger));
    let mut before = None;
    let (is_shown, mut tags) = loop {
        let begun = Instant::now();
        let reading = try_join(
            async { Ok(activities.published(activity, cx.deadline).await?.is_some()) },
            looked_at(&tags, activity, after, limit, cx.deadline),
        )
        .await?;
        if cx.reader.hold.covers(begun) || before.as_ref() == Some(&reading) {
            break reading;
        }
        before = Some(reading);
    };
    tags.retain(|tag| is_shown && tag.state.tagged);
    tags.truncate(limit);
    Ok(tags)
}

/// The tags of an activity beyond somebody, untags included, until so many are in force.
async fn looked_at(
    tags: &Tags,
    activity: &ActivityId,
    after: Option<&ViewerId>,
    limit: usize,
    deadline: Deadline,
) -> Result<Vec<Tag>, DynamoError> {
    let (mut found, mut next, mut looks_at) = (Vec::new(), after.cloned(), limit);
    loop {
        let page = tags.of_activity(activity, next.as_ref(), looks_at, deadline).await?;
        found.extend(page.tags);
        next = page.next;
        let in_force = found.iter().filter(|tag| tag.state.tagged).count();
        if next.is_none() || in_force >= limit {
            return Ok(found);
        }
        looks_at = MORE;
    }
}

fn open(cx: &Context<'_>, activity: &ActivityId, text: &str) -> Result<ViewerId, Problem> {
    let opened = cx.reader.seal.open_in(LIST, activity, text).and_then(|position| {
        let id = String::from_utf8(position).map_err(|_| CursorError::Damaged)?;
        ViewerId::new(id).map_err(|_| CursorError::Damaged)
    });
    opened.map_err(|e| Problem::invalid("cursor", e.to_string()))
}

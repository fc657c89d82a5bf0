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
//! in between. There are [`READINGS`] of them. If the last two still differ, the page ends before the first tag in which
//! they do, with a cursor; so what others tag meanwhile never keeps a page from being answered. Each profile is as it was at
//! some moment of the request.
//!
//! Of people who were untagged a page passes some thousands, and is short then, or empty, with a cursor.

use futures::future::try_join;
use serde::Serialize;
use shared::activities::Activities;
use shared::dynamo::DynamoError;
use shared::profiles::Profiles;
use shared::runtime::deadline::Deadline;
use shared::tags::{Tag, Tags};
use shared::values::{ActivityId, Payload, ViewerId};
use tokio::time::Instant;

use crate::Context;
use crate::http::list;
use crate::http::problem::Problem;
use crate::http::query::Parameters;
use crate::http::response::Answer;
use crate::page::{DEFAULT_LIMIT, limit};

/// The name of the list, for its cursors.
const LIST: &str = "tags";
/// How often a page is read until two readings say the same.
const READINGS: usize = 3;
/// Tags looked at in the calls of one reading, if many are passed over: some forty read units in all.
const LOOKS: [usize; 2] = [0, 1_000];

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
    let after = parameters
        .get("cursor")
        .map(|text| list::open(cx, LIST, &activity, text, beyond))
        .transpose()?;
    let after = after.flatten();
    let TagsRead { mut tags, mut next } = read(cx, &activity, after.as_ref(), limit + 1).await?;
    if tags.len() > limit {
        tags.truncate(limit);
        next = Some(tags.last().map(|last| last.tagged_id.clone()));
    }
    let profiles = Profiles::new(&cx.reader.ledger.over(cx.dynamo));
    let profiles = match tags.is_empty() {
        true => Default::default(),
        false => profiles.profiles(tags.iter().map(|tag| &tag.tagged_id), cx.deadline).await?,
    };
    let items = tags.iter().map(|Tag { tagged_id, .. }| Item {
        tagged_id,
        profile: profiles.get(tagged_id).map(|profile| &profile.payload),
    });
    let position = |next: Option<ViewerId>| next.map_or_else(String::new, String::from);
    let next_cursor =
        next.map(|next| cx.reader.seal.seal_in(LIST, &activity, position(next).as_bytes()));
    list::answer(items.collect(), next_cursor)
}

/// Some tags of an activity.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct TagsRead {
    tags: Vec<Tag>,
    /// Beyond whom there may be more, if there may be: beyond nobody where it is to begin again.
    next: Option<Option<ViewerId>>,
}

impl TagsRead {
    /// Those before the first in which a reading differs from the one before.
    fn up_to_difference(mut self, before: &Self, after: Option<&ViewerId>) -> Self {
        let same =
            self.tags.iter().zip(&before.tags).take_while(|(one, other)| one == other).count();
        self.tags.truncate(same);
        let last = self.tags.last().map(|last| &last.tagged_id).or(after);
        Self { next: Some(last.cloned()), ..self }
    }
}

/// Up to `limit` tags after a viewer, ordered by id, as they were at one moment.
async fn read(
    cx: &Context<'_>,
    activity: &ActivityId,
    after: Option<&ViewerId>,
    limit: usize,
) -> Result<TagsRead, DynamoError> {
    let ledger = cx.reader.ledger.over(cx.dynamo);
    let (activities, tags) = (Activities::new(&ledger), Tags::new(&ledger));
    let (mut before, mut readings) = (None::<(bool, TagsRead)>, 0);
    let (is_shown, mut looked) = loop {
        let begun = Instant::now();
        let (is_shown, looked) = try_join(
            async { Ok(activities.published(activity, cx.deadline).await?.is_some()) },
            looked_at(&tags, activity, after, limit, cx.deadline),
        )
        .await?;
        readings += 1;
        let Some((was_shown, was)) = before.filter(|_| !cx.reader.hold.covers(begun)) else {
            if cx.reader.hold.covers(begun) {
                break (is_shown, looked);
            }
            before = Some((is_shown, looked));
            continue;
        };
        // Before its publish and after its delete nobody is tagged in it: one of the two was the case at some moment.
        let is_always_shown = was_shown && is_shown;
        if !is_always_shown || was == looked {
            break (is_always_shown, looked);
        }
        if readings == READINGS {
            break (is_always_shown, looked.up_to_difference(&was, after));
        }
        before = Some((is_shown, looked));
    };
    if !is_shown {
        return Ok(TagsRead::default());
    }
    looked.tags.retain(|tag| tag.state.tagged);
    looked.tags.truncate(limit);
    Ok(looked)
}

/// The tags of an activity beyond somebody, untags included, until enough are in force or enough were looked at.
async fn looked_at(
    tags: &Tags,
    activity: &ActivityId,
    after: Option<&ViewerId>,
    limit: usize,
    deadline: Deadline,
) -> Result<TagsRead, DynamoError> {
    let (mut found, mut next) = (Vec::new(), after.cloned());
    for looks_at in LOOKS {
        let page = tags.of_activity(activity, next.as_ref(), looks_at.max(limit), deadline).await?;
        found.extend(page.tags);
        next = page.next;
        let in_force = found.iter().filter(|tag| tag.state.tagged).count();
        if next.is_none() || in_force >= limit {
            break;
        }
    }
    Ok(TagsRead { tags: found, next: next.map(Some) })
}

/// Beyond whom a cursor goes on.
fn beyond(position: &[u8]) -> Option<Option<ViewerId>> {
    let id = Some(list::text(position)?).filter(|id| !id.is_empty());
    id.map(ViewerId::new).transpose().ok()
}

//! The viewers tagged in an activity (docs/QUERIES.md). Every authenticated caller may read that of every activity.
//!
//! An ordinary page takes two round trips: the activity and its tags in parallel, then the profiles in one call. Untagged people are
//! skipped.
//!
//! # One page, one moment
//!
//! A page is of one moment, like pages of timelines, if everything was read within one [hold](shared::runtime::hold), or if two
//! consecutive readings are the same. Rows have the instant of their command, which only grows, even for an untag, and an activity is
//! published once and deleted permanently. So what reads the same twice was the same in between. There are up to [`READINGS`] readings.
//! If the last two still differ, the page ends before the first difference, with a cursor, so concurrent tags never block a page. Each
//! profile is as it was at some moment of the request.
//!
//! A page skips up to some thousand untagged people, and is then short or empty, with a cursor.

use futures::future::try_join;
use serde::Serialize;
use shared::activities::Activities;
use shared::dynamo::DynamoError;
use shared::profiles::Profiles;
use shared::tags::{Tag, Tags};
use shared::values::{ActivityId, Payload, ViewerId};
use tokio::time::Instant;

use crate::Context;
use crate::http::list::{self, List};
use crate::http::problem::Problem;
use crate::http::response::Answer;

/// The most readings of a page until two of them are the same.
const READINGS: usize = 3;
/// The most tags read in one reading, if many are skipped: about forty read units.
const LOOKS: [usize; 2] = [0, 1_000];

#[derive(Serialize)]
struct Item<'a> {
    tagged_id: &'a ViewerId,
    profile: Option<&'a Payload>,
}

/// `GET /v1/activities/{activity_id}/tags`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let activity = cx.path.parameter("activity_id", ActivityId::new)?;
    let list = List::new(cx, "tags", activity);
    let (after, limit) = list.page(beyond)?;
    let after = after.flatten();
    let TagsRead { mut tags, mut next } = read(cx, &list.whose, after.as_ref(), limit + 1).await?;
    if tags.len() > limit {
        tags.truncate(limit);
        next = Some(tags.last().map(|last| last.tagged_id.clone()));
    }
    let profiles = Profiles::new(&cx.reader.ledger);
    let profiles = match tags.is_empty() {
        true => Default::default(),
        false => profiles.profiles(tags.iter().map(|tag| &tag.tagged_id)).await?,
    };
    let items = tags.iter().map(|Tag { tagged_id, .. }| Item {
        tagged_id,
        profile: profiles.get(tagged_id).map(|profile| &profile.payload),
    });
    let position = |next: Option<ViewerId>| next.map_or_else(String::new, String::from);
    list.answer(items.collect(), next.map(position))
}

/// Some tags of an activity.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct TagsRead {
    tags: Vec<Tag>,
    /// The viewer to continue after, if there may be more; `Some(None)` to begin again.
    next: Option<Option<ViewerId>>,
}

impl TagsRead {
    /// The tags before the first difference to the reading before.
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
    let ledger = &cx.reader.ledger;
    let (activities, tags) = (Activities::new(ledger), Tags::new(ledger));
    let (mut before, mut readings) = (None::<(bool, TagsRead)>, 0);
    let (is_shown, mut looked) = loop {
        let begun = Instant::now();
        let (is_shown, looked) = try_join(
            async { Ok(activities.published(activity).await?.is_some()) },
            looked_at(&tags, activity, after, limit),
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
        // Nobody is tagged in it before its publish and after its delete, and one of the two was the case at some moment.
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
    looked.tags.retain(|tag| tag.state.on);
    looked.tags.truncate(limit);
    Ok(looked)
}

/// The tags of an activity after a viewer, including untags, until enough are in force or enough were read.
async fn looked_at(
    tags: &Tags,
    activity: &ActivityId,
    after: Option<&ViewerId>,
    limit: usize,
) -> Result<TagsRead, DynamoError> {
    let (mut found, mut next) = (Vec::new(), after.cloned());
    for looks_at in LOOKS {
        let page = tags.of_activity(activity, next.as_ref(), looks_at.max(limit)).await?;
        found.extend(page.tags);
        next = page.next;
        let in_force = found.iter().filter(|tag| tag.state.on).count();
        if next.is_none() || in_force >= limit {
            break;
        }
    }
    Ok(TagsRead { tags: found, next: next.map(Some) })
}

/// The viewer that a cursor continues after.
fn beyond(position: &[u8]) -> Option<Option<ViewerId>> {
    let id = Some(list::text(position)?).filter(|id| !id.is_empty());
    id.map(ViewerId::new).transpose().ok()
}

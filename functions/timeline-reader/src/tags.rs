//! The viewers tagged in an activity (docs/QUERIES.md). Every authenticated caller may read that of every activity.
//!
//! An ordinary page takes two round trips: the activity and its tags in parallel, then the profiles in one call. Untagged people are
//! skipped.
//!
//! # One page, one moment
//!
//! A page is of the moment of one query of rows, which say all about who is tagged. An activity is published once and deleted
//! permanently. So if it was shown before that query and after it, it was shown at that moment. If everything was read within one
//! [hold](shared::platform::runtime::hold), one look at the activity is enough. Otherwise the rows are read once more, after the first look and
//! before another one. Each profile is as it was at some moment of the request.
//!
//! A page skips up to a thousand untagged people, and is then short or empty, with a cursor.

use futures::future::try_join;
use serde::Serialize;
use shared::platform::dynamo::DynamoError;
use shared::platform::values::{ActivityId, Payload, ViewerId};
use shared::social::activities::Activities;
use shared::social::profiles::Profiles;
use shared::social::tags::{Tag, Tags};
use tokio::time::Instant;

use crate::reader::Context;
use function_http::Problem;
use function_http::reader::list::{self, List};
use function_http::response::Answer;

/// The tags that a query reads at least, and another one from the same start if too many are skipped: about forty read units.
const LOOKS: [usize; 2] = [0, 1_000];

#[derive(Serialize)]
struct TagItem<'a> {
    tagged_id: &'a ViewerId,
    profile: Option<&'a Payload>,
}

/// `GET /v1/activities/{activity_id}/tags`
pub(crate) async fn get(cx: &Context<'_>) -> Result<Answer, Problem> {
    let activity = cx.path.parameter("activity_id", ActivityId::new)?;
    let list = List::new(cx, "tags", activity);
    let (after, limit) = list.page(list::id)?;
    let TagsRead { mut tags, mut next } = read(cx, &list.whose, after.as_ref(), limit + 1).await?;
    if tags.len() > limit {
        tags.truncate(limit);
        next = tags.last().map(|last| last.tagged_id.clone());
    }
    let profiles = Profiles::new(&cx.reader.ledger);
    let profiles = match tags.is_empty() {
        true => Default::default(),
        false => profiles.profiles(tags.iter().map(|tag| &tag.tagged_id)).await?,
    };
    let items = tags.iter().map(|Tag { tagged_id, .. }| TagItem {
        tagged_id,
        profile: profiles.get(tagged_id).map(|profile| &profile.payload),
    });
    list.answer(items.collect(), next.map(String::from))
}

/// Some tags of an activity.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct TagsRead {
    tags: Vec<Tag>,
    /// The viewer to continue after, if there may be more.
    next: Option<ViewerId>,
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
    let begun = Instant::now();
    let is_shown = async || Ok::<_, DynamoError>(activities.published(activity).await?.is_some());
    let rows = async || looked_at(&tags, activity, after, limit).await;
    let (mut is_always_shown, mut looked) = try_join(is_shown(), rows()).await?;
    if is_always_shown && !cx.reader.hold.covers(begun) {
        looked = rows().await?;
        is_always_shown = is_shown().await?;
    }
    if !is_always_shown {
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
    let mut read = TagsRead::default();
    for looks_at in LOOKS {
        let page = tags.of_activity(activity, after, looks_at.max(limit)).await?;
        read = TagsRead { tags: page.tags, next: page.next };
        let in_force = read.tags.iter().filter(|tag| tag.state.on).count();
        if read.next.is_none() || in_force >= limit {
            break;
        }
    }
    Ok(read)
}

//! Tags.

use futures::{StreamExt, TryStreamExt, stream};
use shared::platform::values::{ActorId, SortKey};
use shared::social::tags::{Tag, TagChange};

use crate::context::Context;
use crate::disposition::Disposition;
use crate::failure::Failure;

/// Tags that are read at once when an activity is published.
const PAGE: usize = 500;
/// Listings that are written at once, each in a partition of its own.
const LISTINGS_IN_FLIGHT: usize = 32;

/// Records a tag or an untag, unless one that wins over it is on record. If the activity is published, it is then listed for the
/// person according to the tag on record; otherwise its publish lists it ([`list_all`]).
pub(crate) async fn tag(cx: &Context, change: TagChange) -> Result<Disposition, Failure> {
    let state = cx.tags.record(&change).await?;
    let TagChange { activity_id, tagged_id, .. } = change;
    let claimed = cx.activities.claimed(&activity_id).await?;
    if let Some((actor, published_at)) = claimed {
        let sort_key = SortKey { published_at, activity_id };
        let tag = Tag { tagged_id, state };
        cx.tags.list(&tag, &actor, &sort_key, cx.clock.now()).await?;
    }
    Ok(Disposition::Applied(None))
}

/// How far an activity was listed.
pub(super) enum ListingProgress {
    /// For everybody who is tagged in it; `many` if these are many.
    All {
        many: bool,
    },
    Stopped,
}

/// Lists an activity for everybody who is tagged in it. Its id has been claimed.
pub(super) async fn list_all(
    cx: &Context,
    actor: &ActorId,
    sort_key: &SortKey,
    noted_beyond: usize,
) -> Result<ListingProgress, Failure> {
    let (tags, delivery) = (&cx.tags, &cx.delivery);
    let (activity, origin) = (&sort_key.activity_id, &delivery.origin);
    let mut position = match delivery.may_have_progress() {
        true => tags.listed_up_to(activity, origin).await?,
        false => None,
    };
    let (mut noted, mut slice) = (position.is_some(), delivery.slice());
    let mut listed = 0;
    loop {
        let page = tags.of_activity(activity, position.as_ref(), PAGE).await?;
        let now = cx.clock.now();
        let mut in_force: Vec<_> = page.tags.iter().filter(|tag| tag.state.on).collect();
        // An erasure marks the claim, and then untags everybody. What it has not seen is not listed.
        if !in_force.is_empty() && cx.activities.claimed(activity).await?.is_none() {
            in_force.clear();
        }
        listed += in_force.len();
        let lists = in_force.into_iter().map(|tag| tags.list(tag, actor, sort_key, now));
        let lists: Vec<_> = lists.collect();
        stream::iter(lists).buffer_unordered(LISTINGS_IN_FLIGHT).try_collect::<()>().await?;
        let Some(next) = page.next else { break };
        if slice.has_passed() {
            tags.note_listed(activity, origin, &next).await?;
            noted = true;
            if delivery.checkpoint_at.has_passed() {
                return Ok(ListingProgress::Stopped);
            }
            slice = delivery.slice();
        }
        position = Some(next);
    }
    if noted {
        tags.end_listing(activity, origin).await?;
    }
    Ok(ListingProgress::All { many: noted || listed > noted_beyond })
}

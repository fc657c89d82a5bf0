//! Audits of tags: comparing what people are tagged in, as it is listed, with the tags and the claims that it follows from.
//!
//! The partition of an activity has who is tagged in it. The partition of a viewer has what is listed for them. So the audit of an
//! activity finds what is missing or out of date, and the audit of a viewer finds what should not be there. A command in flight
//! writes the tag before the listing, so a tag may be found in between.

use futures::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use shared::platform::dynamo::BATCH_GET;
use shared::platform::ledger::Ledger;
use shared::platform::runtime::clock::Clock;
use shared::platform::values::{ActivityId, ActorId, SortKey, ViewerId};
use shared::social::activities::{Activities, ActivityKey};
use shared::social::tags::{Listing, Tag, Tags};

use super::Kind;
use crate::Result;

/// Listings that are checked at once.
const AT_ONCE: usize = 32;
/// How often a repair looks at a claim: it changes twice at most, when it is made and when its actor is erased.
const CLAIM_CHANGES: usize = 3;

/// A listing that differs from its tag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct TagDifference {
    /// Who is tagged, or is not.
    pub tagged_id: ViewerId,
    pub difference: Kind,
    /// Where the activity is listed, or should be.
    pub sort_key: String,
}

/// Compares listings with tags. Cheap to clone.
#[derive(Debug, Clone)]
pub struct TagsAuditor {
    activities: Activities,
    tags: Tags,
    clock: Clock,
}

impl TagsAuditor {
    pub fn new(ledger: &Ledger, clock: Clock) -> Self {
        Self { activities: Activities::new(ledger), tags: Tags::new(ledger), clock }
    }

    /// The listings of an activity that are missing or differ from its tags.
    pub async fn of_activity(&self, activity: &ActivityId) -> Result<Vec<TagDifference>> {
        let Some((actor, published_at)) = self.activities.claimed(activity).await? else {
            return Ok(Vec::new());
        };
        let key = ActivityKey { activity_id: activity.clone(), actor_id: actor.clone() };
        // Nobody is shown it, and one that was deleted before it was published is not listed.
        if self.activities.activity(&key).await?.deleted {
            return Ok(Vec::new());
        }
        let sort_key = SortKey { published_at, activity_id: activity.clone() };
        let (mut differences, mut after) = (Vec::new(), None);
        loop {
            let page = self.tags.of_activity(activity, after.as_ref(), BATCH_GET).await?;
            let people: Vec<_> = page.tags.iter().map(|tag| &tag.tagged_id).collect();
            if !people.is_empty() {
                let listed = self.tags.listed(&people, &sort_key).await?;
                differences.extend(page.tags.iter().zip(&listed).filter_map(|(tag, listed)| {
                    let difference = compare(Some(tag), listed.as_ref(), &actor)?;
                    let (tagged_id, sort_key) = (tag.tagged_id.clone(), sort_key.to_string());
                    Some(TagDifference { tagged_id, difference, sort_key })
                }));
            }
            after = page.next;
            if after.is_none() {
                return Ok(differences);
            }
        }
    }

    /// The listings of a viewer that should not be there, or are out of date.
    pub async fn of_viewer(&self, viewer: &ViewerId) -> Result<Vec<TagDifference>> {
        let listed = self.tags.all_listed(viewer).await?;
        let compared: Vec<_> = stream::iter(listed.iter().filter(|listing| listing.state.on))
            .map(|listing| self.listing(viewer, listing))
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        Ok(compared.into_iter().flatten().collect())
    }

    async fn listing(&self, viewer: &ViewerId, listing: &Listing) -> Result<Option<TagDifference>> {
        let state = self.tags.recorded(&listing.sort_key.activity_id, viewer).await?;
        let tag = state.map(|state| Tag { tagged_id: viewer.clone(), state });
        let difference = match self.actor_of(&listing.sort_key).await? {
            None => Some(Kind::Extra),
            Some(actor) => compare(tag.as_ref(), Some(listing), &actor),
        };
        let (tagged_id, sort_key) = (viewer.clone(), listing.sort_key.to_string());
        Ok(difference.map(|difference| TagDifference { tagged_id, difference, sort_key }))
    }

    /// Makes each listing say what the tag says by now.
    pub async fn repair(&self, differences: &[TagDifference]) -> Result<()> {
        for TagDifference { tagged_id, sort_key, .. } in differences {
            let Ok(sort_key) = sort_key.parse::<SortKey>() else { continue };
            let mut actor = self.actor_of(&sort_key).await?;
            for _ in 0..CLAIM_CHANGES {
                let now = self.clock.now();
                self.tags.repair_listing(tagged_id, &sort_key, actor.as_ref(), now).await?;
                // The actor may have been erased meanwhile.
                let before = std::mem::replace(&mut actor, self.actor_of(&sort_key).await?);
                if before == actor {
                    break;
                }
            }
        }
        Ok(())
    }

    /// The actor that has published an activity at this instant.
    async fn actor_of(&self, sort_key: &SortKey) -> Result<Option<ActorId>> {
        let claimed = self.activities.claimed(&sort_key.activity_id).await?;
        let claimed = claimed.filter(|(_, at)| *at == sort_key.published_at);
        Ok(claimed.map(|(actor, _)| actor))
    }
}

/// How a listing differs from a tag of an activity of this actor.
fn compare(tag: Option<&Tag>, listing: Option<&Listing>, actor: &ActorId) -> Option<Kind> {
    let tag = tag.map(|tag| tag.state).filter(|state| state.on);
    let listing = listing.filter(|listing| listing.state.on);
    match (tag, listing) {
        (None, None) => None,
        (None, Some(_)) => Some(Kind::Extra),
        (Some(_), None) => Some(Kind::Missing),
        (Some(state), Some(listing)) => {
            let is_right = listing.state == state && listing.actor_id.as_ref() == Some(actor);
            (!is_right).then_some(Kind::Stale)
        }
    }
}

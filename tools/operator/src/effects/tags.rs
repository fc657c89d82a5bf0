//! Tags.

use shared::platform::dynamo::BATCH_GET;
use shared::platform::register::Register;
use shared::platform::values::SortKey;
use shared::social::activities::ActivityKey;
use shared::social::tags::{Listing, TagChange};

use super::activities::DELETED;
use super::{CommandStatus, Effects, Looked};
use crate::Result;

impl Effects {
    /// A tag or an untag: the tag holds it, or one that wins over it; and so does the listing, if the activity is
    /// published.
    pub(super) async fn tagged(&self, change: &TagChange) -> Looked {
        let TagChange { activity_id, tagged_id, state } = change;
        let there = self.tags.recorded(activity_id, tagged_id).await?;
        if there != Some(*state) {
            return Ok(CommandStatus::of_record(there, *state, |there| {
                let what = if there.on { "tag" } else { "untag" };
                format!("the {what} of {} holds", there.changed_at)
            }));
        }
        let Some((actor_id, published_at)) = self.activities.claimed(activity_id).await? else {
            return Ok(CommandStatus::but("it is kept until the activity is published"));
        };
        let key = ActivityKey { activity_id: activity_id.clone(), actor_id };
        if self.activities.activity(&key).await?.deleted {
            return Ok(CommandStatus::overtaken(DELETED));
        }
        let sort_key = SortKey { published_at, activity_id: activity_id.clone() };
        let listed = self.tags.listed(&[tagged_id], &sort_key).await?;
        let is_listed = listed.first().is_some_and(|it| is_listed(it.as_ref(), *state));
        Ok(CommandStatus::applied_if(is_listed))
    }

    /// True if everybody who is tagged in an activity has it listed.
    pub(super) async fn all_listed(&self, sort_key: &SortKey) -> Result<bool> {
        let mut after = None;
        loop {
            let activity = &sort_key.activity_id;
            let page = self.tags.of_activity(activity, after.as_ref(), BATCH_GET).await?;
            let tagged: Vec<_> = page.tags.iter().filter(|tag| tag.state.on).collect();
            if !tagged.is_empty() {
                let people: Vec<_> = tagged.iter().map(|tag| &tag.tagged_id).collect();
                let listed = self.tags.listed(&people, sort_key).await?;
                let mut pairs = tagged.iter().zip(&listed);
                if !pairs.all(|(tag, listed)| is_listed(listed.as_ref(), tag.state)) {
                    return Ok(false);
                }
            }
            after = page.next;
            if after.is_none() {
                return Ok(true);
            }
        }
    }
}

/// True if a listing says what a tag does, or something later. One of an untag goes after a while.
fn is_listed(listing: Option<&Listing>, state: Register) -> bool {
    listing.map_or(!state.on, |listing| listing.state >= state)
}

//! Erasure of the tags of a person, and of the tags of others in what the person published.
//!
//! An erasure untags like a command: it writes the tag and then the listing, with the instant of the tag on record. So that tag does
//! not win if it is delivered again, and a publish in flight lists nothing. Both items are marked with the time at which they expire.
//! A later tag is a new fact: it writes the items without the mark.

use futures::{StreamExt, TryStreamExt, stream};
use shared::platform::dynamo::Condition;
use shared::platform::dynamo::item::{Item, number, text, truth};
use shared::platform::ledger::FORGET_AT;
use shared::platform::values::{ActivityId, SortKey, ViewerId};
use shared::social::tags::{Tags, keys};

use super::Erasure;
use super::marks::marking;
use crate::Result;

const PAGE: usize = 500;
/// The number of people who are untagged in one activity at the same time. Several activities are erased at the same time, too.
const TAGS_AT_ONCE: usize = 8;

impl Erasure {
    /// Untags everybody in an activity, if the person published it.
    pub(super) async fn untag_all(&self, activity: &ActivityId) -> Result<()> {
        let claimed = self.activities.claimed_ever(activity).await?;
        let Some((_, published_at)) = claimed.filter(|(actor, _)| *actor == self.actor) else {
            return Ok(());
        };
        let sort_key = SortKey { published_at, activity_id: activity.clone() };
        let (tags, mut after) = (Tags::new(&self.ledger), None);
        loop {
            let page = tags.of_activity(activity, after.as_ref(), PAGE).await?;
            stream::iter(&page.tags)
                .map(|tag| self.erase_tag(activity, &tag.tagged_id, Some(&sort_key)))
                .buffer_unordered(TAGS_AT_ONCE)
                .try_collect::<()>()
                .await?;
            after = page.next;
            if after.is_none() {
                return tags.forget_progress(activity).await;
            }
        }
    }

    pub(super) async fn untag(&self, activity: &ActivityId, tagged: &ViewerId) -> Result<()> {
        let claimed = self.activities.claimed_ever(activity).await?;
        let sort_key = claimed.map(|(_, published_at)| {
            let activity_id = activity.clone();
            SortKey { published_at, activity_id }
        });
        self.erase_tag(activity, tagged, sort_key.as_ref()).await
    }

    /// Erases the tag first and then the listing, in the order of commands. `listed_at` is `None` if the activity is not published.
    async fn erase_tag(
        &self,
        activity: &ActivityId,
        tagged: &ViewerId,
        listed_at: Option<&SortKey>,
    ) -> Result<()> {
        let Some(at) = self.mark_tag(activity, tagged).await? else { return Ok(()) };
        let Some(sort_key) = listed_at else { return Ok(()) };
        let item =
            Item::from([("at".to_owned(), text(&at)), (FORGET_AT.to_owned(), number(self.until))]);
        let unless_later = Condition::new("attribute_not_exists(#at) OR #at <= :at");
        let unless_later = unless_later.name("#at", "at").value(":at", text(&at));
        let key = keys::listing(tagged, sort_key);
        self.ledger.put_if(key, item, unless_later).await.map(|_| ())
    }

    /// Marks the row of a tag as untagged, whatever it says by now, unless it is marked already. Returns its instant; `None` if there is
    /// no row.
    async fn mark_tag(&self, activity: &ActivityId, tagged: &ViewerId) -> Result<Option<String>> {
        loop {
            let key = keys::tag(activity, tagged);
            let Some(row) = self.ledger.get(key.clone()).await? else { return Ok(None) };
            let at = row.text("at")?.to_owned();
            if row.item.contains_key(FORGET_AT) {
                return Ok(Some(at));
            }
            let mut mark = marking("SET tagged = :no, #forget = :until", "#at = :seen", self.until);
            mark.names.push(("#at", "at"));
            mark.values.extend([(":no", truth(false)), (":seen", text(&at))]);
            if self.ledger.table().update(key.into_item(), mark).await?.is_some() {
                return Ok(Some(at));
            }
        }
    }
}

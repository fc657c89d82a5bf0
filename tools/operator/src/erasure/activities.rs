//! What a person published.

use std::time::Duration;

use shared::platform::runtime::deadline::Deadline;
use shared::platform::values::{ActivityId, SortKey};
use shared::social::activities::ActivityChange;
use shared::social::follows::FollowerRange;
use shared::social::timelines::EntryWrite;

use super::marks::Tombstone;
use super::{Erasure, for_each};
use crate::{Result, progress};

/// Followers whose timelines are cleared at once.
const PAGE: u16 = 1_000;
/// Entries erased at once, and held in memory.
const ERASED_AT_ONCE: usize = 10_000;
/// How long to retry while a table admits few writes.
const PATIENCE: Duration = Duration::from_secs(60);

impl Erasure {
    /// Deletes what is in the outbox, and removes it from the timelines of all who ever followed.
    pub(super) async fn activities(&self) -> Result<usize> {
        let sort_keys = self.marks.live_activities(&self.actor).await?;
        for_each(&sort_keys, "activities deleted", |sort_key| self.delete(sort_key)).await?;
        let now = self.clock.now();
        let shown = sort_keys.iter().filter(|p| self.retention.holds(p.published_at, now));
        self.erase(&shown.map(ToString::to_string).collect::<Vec<_>>()).await?;
        let what = "activities marked as expired";
        for_each(&sort_keys, what, |sort_key| self.mark_activity(sort_key)).await?;
        Ok(sort_keys.len())
    }

    async fn delete(&self, sort_key: &SortKey) -> Result<()> {
        self.activities.merge(&self.key(&sort_key.activity_id), ActivityChange::Delete).await?;
        self.activities.list_in_outbox(&self.actor, sort_key, true).await
    }

    /// Erases entries of deleted activities, which anybody may do at any time.
    async fn erase(&self, sort_keys: &[String]) -> Result<()> {
        if sort_keys.is_empty() {
            return Ok(());
        }
        let bar = progress::counter("entries erased");
        let mut after = None;
        loop {
            let range = FollowerRange::ALL;
            let page = self.follows.edges(&self.actor, range, after.as_deref(), PAGE).await?;
            let chunk = (ERASED_AT_ONCE / page.edges.len().max(1)).max(1);
            for sort_keys in sort_keys.chunks(chunk) {
                let deletions = page.edges.iter().flat_map(|edge| {
                    let viewer = &edge.follower;
                    sort_keys.iter().map(move |sort_key| EntryWrite::Delete { viewer, sort_key })
                });
                let deadline = Deadline::after(PATIENCE);
                let timelines = self.timelines.until(deadline);
                let written = timelines.write(deletions, deadline).await?;
                bar.inc(written.whole()?.written);
            }
            after = page.next;
            if after.is_none() {
                return Ok(());
            }
        }
    }

    /// Marks all that is left of an activity. The outbox row, by which it is found again, comes last.
    async fn mark_activity(&self, sort_key: &SortKey) -> Result<()> {
        self.mark_record(&sort_key.activity_id).await?;
        self.mark(Tombstone::OutboxRow(self.actor.clone(), sort_key.clone())).await
    }

    pub(super) async fn mark_record(&self, activity: &ActivityId) -> Result<()> {
        let key = self.key(activity);
        // A command that tags reads the claim after it has recorded the tag: either it sees the mark, or
        // its tag is found here.
        self.mark(Tombstone::Claim(key.clone())).await?;
        self.untag_all(activity).await?;
        self.marks.remove_progress(&key).await?;
        self.mark(Tombstone::Record(key)).await
    }
}

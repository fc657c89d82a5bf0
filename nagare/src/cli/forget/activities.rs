//! What a person published.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use shared::activity::Change;
use shared::keys::FollowerRange;
use shared::store::{EntryWrite, Tombstone, Trace};
use shared::{ActivityId, Deadline, SortKey};

use super::{AT_ONCE, Forgetting};
use crate::cli::remote::soon;
use crate::cli::{Failure, progress};

/// Followers whose timelines are cleared at once.
const PAGE: u16 = 1_000;
/// Entries erased at once; what is held in memory.
const ERASED_AT_ONCE: usize = 10_000;
/// How long a table that admits few writes is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

impl Forgetting {
    /// Deletes what is in the outbox, and clears it out of the timelines of all who ever followed.
    pub(super) async fn activities(&self) -> Result<usize, Failure> {
        let places = self.store.unburied_activities(&self.actor, soon).await?;
        let bar = progress::bar(places.len() as u64, "activities deleted");
        stream::iter(&places)
            .map(|place| self.delete(place))
            .buffer_unordered(AT_ONCE)
            .try_for_each(async |()| {
                bar.inc(1);
                Ok(())
            })
            .await?;
        bar.finish_and_clear();
        let now = self.writer.clock.now();
        let shown = places.iter().filter(|p| self.writer.retention.holds(p.published_at, now));
        self.erase(&shown.map(ToString::to_string).collect::<Vec<_>>()).await?;
        stream::iter(&places)
            .map(|place| self.bury_activity(place))
            .buffer_unordered(AT_ONCE)
            .try_collect::<()>()
            .await?;
        Ok(places.len())
    }

    async fn delete(&self, place: &SortKey) -> Result<(), Failure> {
        self.store.merge(&self.key(&place.activity_id), Change::Delete, soon()).await?;
        Ok(self.store.list_in_outbox(&self.actor, place, true, soon()).await?)
    }

    /// Erases entries of deleted activities, which anybody may do at any time.
    async fn erase(&self, places: &[String]) -> Result<(), Failure> {
        if places.is_empty() {
            return Ok(());
        }
        let bar = progress::counter("entries erased");
        let mut after = None;
        loop {
            let range = FollowerRange::ALL;
            let page = self.store.edges(&self.actor, range, after.as_deref(), PAGE, soon()).await?;
            let chunk = (ERASED_AT_ONCE / page.edges.len().max(1)).max(1);
            for places in places.chunks(chunk) {
                let erasures = page.edges.iter().flat_map(|edge| {
                    let viewer = &edge.follower;
                    places.iter().map(move |sort_key| EntryWrite::Erase { viewer, sort_key })
                });
                let deadline = Deadline::after(PATIENCE);
                let written = self.store.write_entries(erasures, deadline, deadline).await?;
                bar.inc(written.whole()?.entries);
            }
            match page.next {
                None => break,
                next => after = next,
            }
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// Marks all that is left of an activity; what finds it again comes last.
    async fn bury_activity(&self, place: &SortKey) -> Result<(), Failure> {
        self.bury_facts(&place.activity_id).await?;
        let row = Tombstone::OutboxRow(self.actor.clone(), place.clone());
        self.store.bury(&row, self.until, soon()).await?;
        Ok(())
    }

    async fn bury_facts(&self, activity: &ActivityId) -> Result<(), Failure> {
        let key = self.key(activity);
        self.store.drop_progress(&key, soon()).await?;
        self.store.bury(&Tombstone::Claim(key.clone()), self.until, soon()).await?;
        self.store.bury(&Tombstone::Record(key), self.until, soon()).await?;
        Ok(())
    }

    /// What nothing lists: activities that were updated or deleted and never published, or half published,
    /// and how far something has come. Returns how many activities, and how many of the rest.
    pub(super) async fn strays(&self) -> Result<(usize, usize), Failure> {
        let bar = progress::counter("items of the ledger read");
        let traces = self.store.traces(&self.actor, |read| bar.inc(read), soon).await?;
        bar.finish_and_clear();
        let mut activities = BTreeSet::new();
        let mut notes = 0;
        for trace in traces {
            match trace {
                Trace::Activity(activity) => drop(activities.insert(activity)),
                Trace::Position { .. } | Trace::Settling(_) => {
                    self.store.drop_trace(&trace, soon()).await?;
                    notes += 1;
                }
            }
        }
        for activity in &activities {
            self.store.merge(&self.key(activity), Change::Delete, soon()).await?;
            self.bury_facts(activity).await?;
        }
        Ok((activities.len(), notes))
    }
}

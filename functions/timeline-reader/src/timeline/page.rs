//! A page of a timeline, as it was at one moment.
//!
//! An ordinary page takes one round trip: the entries, and beside them the view (who is hidden, and which
//! records have changed). A second one asks for the records that this process has not kept.
//!
//! # One page, one moment
//!
//! A page whose reads fall within one [hold](shared::runtime::hold) is of one moment. One that took longer is
//! read once more. If that takes too long as well, calls are slow, and the page is read in an order that needs
//! no clock: view, records, entries, view. It is of the moment at which its entries were read if
//!
//! * the view before and the view after say the same of hidden actors, and of none of its records that it
//!   changed: then hidden actors were the same at that moment, and no change of a record was acknowledged before
//!   it that the page does not show;
//! * all records were read before the entries, so the page shows no change of a record that began after what its
//!   entries show;
//! * its entries were read by one call, or were the same when read twice.
//!
//! Otherwise it goes on from the later view. Nobody's follows or records change for long.
//!
//! Retention ends for readers and for writers at one moment: what has left it before a follow came to copy it is
//! not in the timeline, and a page that still counted it as retained would show what is older and miss this. So a
//! page with something that has left retention while it was read is read again.

use shared::activities::{KeptRecords, Published};
use shared::dynamo::DynamoError;
use shared::runtime::deadline::Deadline;
use shared::runtime::hold::Hold;
use shared::timelines::{Hydration, SeenSet, Timelines, View};
use shared::values::{ActorId, SortKey, Timestamp, ViewerId};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use super::filling::{Filled, fill};
use super::likes::AskedLikes;
use super::request::Request;

/// How often a page is read in the hope that all of it falls within one hold.
const TRIES: usize = 2;

/// An activity as a viewer is shown it.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) sort_key: SortKey,
    pub(super) actor: ActorId,
    pub(super) content: Published,
}

/// One page.
#[derive(Debug)]
pub(super) struct Page {
    /// In the order asked for.
    pub(super) activities: Vec<Shown>,
    /// True if there is more beyond it.
    pub(super) more: bool,
    /// When the oldest entry that was read for it was published, if any was.
    pub(super) oldest_read: Option<Timestamp>,
}

impl Page {
    /// What it shows, in its order.
    pub(super) fn keys(&self) -> impl Iterator<Item = &SortKey> + Clone {
        self.activities.iter().map(|shown| &shown.sort_key)
    }

    /// True if all that it was made of is retained, if retention reaches back to this instant.
    pub(super) fn is_retained(&self, retained_from: Timestamp) -> bool {
        self.oldest_read.is_none_or(|oldest| oldest >= retained_from)
    }

    /// The last activity on it.
    pub(super) fn last(&self) -> Option<SortKey> {
        self.keys().last().cloned()
    }
}

/// What a page is read with.
pub(super) struct Reading<'a> {
    pub(super) timelines: &'a Timelines,
    pub(super) kept: &'a KeptRecords,
    pub(super) hold: Hold,
    pub(super) viewer: &'a ViewerId,
    pub(super) request: &'a Request,
    pub(super) now: Timestamp,
    pub(super) retained_from: Timestamp,
    pub(super) deadline: Deadline,
    /// What was shown before. It never changes, so it is read once, beside the first entries.
    pub(super) seen: OnceCell<Option<SeenSet>>,
    /// The likes of what was read so far, if they are asked for.
    pub(super) likes: &'a AskedLikes<'a>,
}

impl Reading<'_> {
    /// What was shown before, as far as this page may show it again or add to it.
    pub(super) async fn seen(&self) -> Result<Option<&SeenSet>, DynamoError> {
        let read = async || {
            let Some(seen) = self.request.window() else { return Ok(None) };
            self.timelines.seen(self.viewer, seen, self.now, self.deadline).await.map(Some)
        };
        self.seen.get_or_try_init(read).await.map(Option::as_ref)
    }

    /// The entries that a page may show: all of them, or of what became visible since those that were not shown.
    pub(super) async fn unseen(
        &self,
        entries: &[(SortKey, ActorId)],
    ) -> Result<Vec<(SortKey, ActorId)>, DynamoError> {
        let seen = if self.request.is_newer() { self.seen().await? } else { None };
        let was_shown = |key: &SortKey| seen.is_some_and(|seen| seen.holds(key));
        Ok(entries.iter().filter(|(key, _)| !was_shown(key)).cloned().collect())
    }

    /// Reads the page that the request asks for.
    pub(super) async fn page(&self) -> Result<Page, DynamoError> {
        let mut hydration = Hydration::default();
        for _ in 0..TRIES {
            let begun = Instant::now();
            let filled = fill(self, &mut hydration, true).await?;
            if self.hold.covers(begun) {
                return Ok(filled.page);
            }
        }
        self.slow_page(hydration).await
    }

    /// Reads it in the order that needs no clock.
    async fn slow_page(&self, mut hydration: Hydration) -> Result<Page, DynamoError> {
        let mut view = self.view().await?;
        hydration.see(&view, self.now);
        let mut before: Option<Filled> = None;
        loop {
            let known = hydration.additions();
            let filled = fill(self, &mut hydration, false).await?;
            let is_one_reading = filled.queries == 1
                || before.is_some_and(|before| before.entries == filled.entries);
            let later = self.view().await?;
            let holds = view.holds_until(&later, &hydration);
            if hydration.additions() == known
                && is_one_reading
                && holds
                && self.edges_hold(&later, &hydration, &filled).await?
            {
                return Ok(filled.page);
            }
            if !holds {
                hydration.see(&later, self.now);
            }
            (view, before) = (later, Some(filled));
        }
    }

    async fn view(&self) -> Result<View, DynamoError> {
        self.timelines.view(self.viewer, self.kept, self.deadline).await
    }

    /// True if the edges that had to be asked for say the same when they are asked for again.
    async fn edges_hold(
        &self,
        view: &View,
        hydration: &Hydration,
        filled: &Filled,
    ) -> Result<bool, DynamoError> {
        if hydration.edges().is_empty() {
            return Ok(true);
        }
        let mut again = Hydration::of_page(view, self.now);
        let (timelines, viewer, deadline) = (self.timelines, self.viewer, self.deadline);
        timelines.hydrate_edges(&mut again, viewer, &filled.entries, deadline).await?;
        Ok(again.edges() == hydration.edges())
    }
}

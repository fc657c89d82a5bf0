//! Pages of activities, each as it was at one moment.
//!
//! An ordinary page takes one round trip: the rows, and beside them the view (who is hidden, and which
//! records have changed). A second one asks for the records that this process has not kept.
//!
//! # One page, one moment
//!
//! If all reads of a page fall within one [hold](shared::runtime::hold), the page is of one moment. If they took longer,
//! it is read once more. If that takes too long as well, calls are slow, and the page is read in an order that needs
//! no clock: view, records, entries, view. It is of the moment at which its entries were read if
//!
//! * the view before and the view after say the same of hidden actors, and of none of its records that it
//!   changed: then hidden actors were the same at that moment, and no change of a record was acknowledged before
//!   it that the page does not show;
//! * all records were read before the entries, so the page shows no change of a record that began after what its
//!   entries show;
//! * its entries were read by one call, or were the same when read twice, and where rows may go from one list to another
//!   ([by kind](shared::activities::Activities::published_of_kinds)), none did from before the first time until after
//!   the second.
//!
//! Otherwise it goes on from the later view. Nobody's follows or records change for long.
//!
//! Retention ends for readers and for writers at one moment: what has left it before a follow came to copy it is
//! not in the timeline, and a page that still counted it as retained would show what is older and miss this. So a
//! page with something that has left retention while it was read is read again.

use std::future::Future;

use futures::future::try_join;
use shared::activities::changes::Fingerprint;
use shared::activities::{KeptRecords, Published};
use shared::dynamo::DynamoError;
use shared::paging::Stretch;
use shared::runtime::deadline::Deadline;
use shared::runtime::hold::Hold;
use shared::timelines::{Hydration, Timelines, View};
use shared::values::{ActorId, SortKey, Span, Timestamp, ViewerId};
use tokio::time::Instant;

use super::filling::{Filled, fill};
use super::likes::AskedLikes;
use super::{Page, Paging, Source};
use crate::{Context, Reader};

/// How often a page is read in the hope that all of it falls within one hold.
const TRIES: usize = 2;
/// The most rows whose edges and records are asked for at once, which saves a round trip. With more
/// the edges are read first, so that no read unit is spent on the record of a hidden row.
const AT_ONCE: usize = 40;

/// The activity of a row, and its actor.
pub(crate) type Target = (SortKey, ActorId);

/// An activity as it is shown.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) actor: ActorId,
    pub(crate) content: Published,
}

/// A list of activities.
pub(crate) trait Rows {
    /// Reads up to `limit` rows of a span. With `after`, begins behind that stored key.
    fn rows(
        &self,
        span: Span,
        after: Option<&str>,
        limit: usize,
    ) -> impl Future<Output = Result<Stretch<Target>, DynamoError>> + Send;

    /// How many lists they are, each of which takes a call.
    fn lists(&self) -> usize {
        1
    }

    /// What the change log says when rows leave one of these lists for another; nothing if none ever does.
    fn leaving(&self) -> Option<Fingerprint> {
        None
    }

    /// The viewer of a timeline: only actors whom they follow are shown. None for lists that look the same to everybody.
    fn viewer(&self) -> Option<&ViewerId> {
        None
    }

    /// Whether the list shows an activity that says this.
    fn shows(&self, _: &Published) -> bool {
        true
    }
}

/// A page of a list of activities, while it is read.
pub(crate) struct Moment<'a, R> {
    rows: &'a R,
    timelines: &'a Timelines,
    kept: &'a KeptRecords,
    hold: Hold,
    likes: &'a AskedLikes<'a>,
    now: Timestamp,
    deadline: Deadline,
    /// What was asked for this page, so that nothing is asked for twice.
    hydration: Hydration,
    /// True if the view is read beside the next rows.
    wants_view: bool,
}

impl<'a, R: Rows> Moment<'a, R> {
    pub(crate) fn new(
        cx: &Context<'a>,
        rows: &'a R,
        timelines: &'a Timelines,
        likes: &'a AskedLikes<'a>,
        now: Timestamp,
    ) -> Self {
        let Reader { kept, hold, .. } = cx.reader;
        let (hold, deadline) = (*hold, cx.deadline);
        let hydration = Hydration::default();
        Self { rows, timelines, kept, hold, likes, now, deadline, hydration, wants_view: true }
    }

    /// Reads the page that is asked for.
    pub(crate) async fn page(mut self, paging: &Paging<'_>) -> Result<Page<Shown>, DynamoError> {
        for _ in 0..TRIES {
            let begun = Instant::now();
            self.wants_view = true;
            let filled = fill(paging, &mut self).await?;
            if self.hold.covers(begun) {
                return Ok(filled.page);
            }
        }
        self.slow_page(paging).await
    }

    /// Reads it in the order that needs no clock.
    async fn slow_page(mut self, paging: &Paging<'_>) -> Result<Page<Shown>, DynamoError> {
        let mut view = self.view().await?;
        self.hydration.see(&view, self.now);
        let mut before: Option<Filled<Self>> = None;
        loop {
            let known = self.hydration.additions();
            let filled = fill(paging, &mut self).await?;
            let later = self.view().await?;
            let none_left = view.changes_none_until(&later, self.rows.leaving().into_iter());
            let is_one_call = filled.stretches * self.rows.lists() == 1;
            let is_one_reading = is_one_call
                || (none_left && before.is_some_and(|before| before.rows == filled.rows));
            let holds = view.holds_until(&later, &self.hydration);
            if self.hydration.additions() == known
                && is_one_reading
                && holds
                && self.edges_hold(&later, &filled.rows).await?
            {
                return Ok(filled.page);
            }
            if !holds {
                self.hydration.see(&later, self.now);
            }
            (view, before) = (later, none_left.then_some(filled));
        }
    }

    async fn view(&self) -> Result<View, DynamoError> {
        self.timelines.view(self.rows.viewer(), self.kept, self.deadline).await
    }

    /// True if the edges that had to be asked for say the same when they are asked for again.
    async fn edges_hold(&self, view: &View, rows: &[Target]) -> Result<bool, DynamoError> {
        if self.hydration.edges().is_empty() {
            return Ok(true);
        }
        let mut again = Hydration::of_page(view, self.now);
        self.timelines.hydrate_edges(&mut again, rows, self.deadline).await?;
        Ok(again.edges() == self.hydration.edges())
    }
}

impl<R: Rows> Source for Moment<'_, R> {
    type Row = Target;
    type Shown = Shown;

    fn key((key, _): &Target) -> &SortKey {
        key
    }

    async fn read(
        &mut self,
        span: Span,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Stretch<Target>, DynamoError> {
        let rows = self.rows.rows(span, after, limit);
        if !std::mem::take(&mut self.wants_view) {
            return rows.await;
        }
        let (rows, view) = try_join(rows, self.view()).await?;
        self.hydration.see(&view, self.now);
        Ok(rows)
    }

    fn is_hidden(&self, (_, actor): &Target) -> bool {
        self.hydration.hides(actor)
    }

    async fn look_up(&mut self, rows: &[Target], is_first: bool) -> Result<(), DynamoError> {
        let (timelines, deadline) = (self.timelines, self.deadline);
        if !is_first || rows.len() > AT_ONCE {
            timelines.hydrate_edges(&mut self.hydration, rows, deadline).await?;
        }
        try_join(
            timelines.hydrate(&mut self.hydration, rows, Some(self.kept), deadline),
            self.likes.ask(rows.iter().map(|(key, _)| &key.activity_id)),
        )
        .await
        .map(|_| ())
    }

    fn shown(&self, (key, actor): &Target) -> Option<Shown> {
        let content =
            self.hydration.shown(key, actor).filter(|content| self.rows.shows(content))?;
        Some(Shown { actor: actor.clone(), content: content.clone() })
    }
}

//! Pages of activities, each as it was at one moment.
//!
//! An ordinary page takes one round trip for the rows and, at the same time, the view (the [`VisibilitySnapshot`]: who is
//! hidden, and which records have changed). A second one reads the records that are not cached. A poll with a
//! `newer_cursor` mostly finds nothing, so it reads the view only once it has found a row, before it reads anything about
//! that row.
//!
//! # One page, one moment
//!
//! If all reads of a page fall within one [hold](shared::runtime::hold), the page is of one moment. If they took longer,
//! the rows are read again, in one call, and a view after them; the view before is the one that was read already.
//! The page is of the moment *m* at which its rows were read, if
//!
//! * who is hidden did not change from the view before to the view after. If it did change, and the rows were answered within a
//!   long hold after the view before was requested, it is known for each actor what held at *m*. An actor who was hidden then
//!   was not yet shown by an acknowledged follow. An actor who is joining in the view after was not joined at *m*, so their rows
//!   are left out. If the viewer has left an actor meanwhile, and rows of that actor were read before the first view, nothing
//!   of theirs was deleted yet: they are shown, and the unfollow comes after *m*. Any other difference is a reason to read
//!   again;
//! * each record was read before the rows, and the change log says that nobody has changed it since. Or it was read
//!   after the rows, and nobody has ever edited or deleted the activity: then it says what its publish said, which began
//!   before the row existed.
//!
//! **A page ends after [`ROUNDS`] rounds of calls.** Each reading leaves fewer things in doubt, because what it read is known
//! before the next one. If a row is still in doubt after the last one, the page ends before that row, with a `next_cursor`; if
//! it is in doubt who is hidden, the page is empty and has one. The next page finds the doubt resolved. So new commands never
//! change a page, and a page never waits for them.
//!
//! A timeline that is read in several calls is checked in the same way: the reading that counts is one call. So a page that
//! needs more rows than one call returns is short if calls are slow. DynamoDB reads the items of one call one by one, in their
//! order. That makes no difference as long as the call takes less time there than a command takes from its beginning to its
//! acknowledgement, a hold included; how long the call travels does not matter.
//!
//! If rows may move from one list to another ([by kind](shared::activities::Activities::published_of_kinds)), the
//! reading that counts is of a list that no row leaves.

use std::collections::HashSet;
use std::future::Future;

use futures::future::{OptionFuture, try_join, try_join3};
use shared::activities::{Published, RecordCache};
use shared::dynamo::DynamoError;
use shared::paging::RowChunk;
use shared::runtime::hold::Hold;
use shared::timelines::{Hydration, Timelines, VisibilitySnapshot};
use shared::values::{ActorId, SortKey, Span, Timestamp, ViewerId};
use tokio::time::Instant;

use super::doubt::{Between, Doubt};
use super::filling::{Filled, MAX_ROWS_PER_LOOKUP, MAX_ROWS_PER_READ, ROUNDS, fill, fill_at_once};
use super::likes::AskedLikes;
use super::{Page, Paging, Source};
use crate::{Context, Reader};

/// The most rows whose edges and records are read at once, which saves a round trip. With more rows, edges are
/// read first, so that no read unit is spent on the record of a hidden row.
const MAX_ROWS_WITH_EDGES: usize = 40;

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
    /// Reads up to `limit` rows of a span, after a stored key if one is given.
    fn rows(
        &self,
        span: Span,
        after: Option<&str>,
        limit: usize,
    ) -> impl Future<Output = Result<RowChunk<Target>, DynamoError>> + Send;

    /// Like [`Self::rows`], from a list that no row leaves, in one call. Some of its rows may not be shown.
    fn rows_of_one_list(
        &self,
        span: Span,
        after: Option<&str>,
        limit: usize,
    ) -> impl Future<Output = Result<RowChunk<Target>, DynamoError>> + Send {
        self.rows(span, after, limit)
    }

    /// The viewer of a timeline, who is only shown actors that they follow; `None` for lists that are the same for everybody.
    fn viewer(&self) -> Option<&ViewerId> {
        None
    }

    /// Takes note of each view that the page is made with.
    fn note(&self, _: &VisibilitySnapshot) {}

    /// True if the list shows an activity with this content.
    fn shows(&self, _: &Published) -> bool {
        true
    }
}

/// Reads a page of a list of activities that is of one moment.
pub(crate) struct ConsistentPageReader<'a, R> {
    rows: &'a R,
    timelines: &'a Timelines,
    cache: &'a RecordCache,
    hold: Hold,
    likes: &'a AskedLikes<'a>,
    now: Timestamp,
    /// What was read for this page, so that nothing is read twice.
    hydration: Hydration,
    begun: Instant,
    rounds: usize,
    /// True for a poll for what became visible since, which mostly finds nothing.
    is_poll: bool,
    pass: Pass,
    /// The latest view, and when it was requested.
    seen: Option<(VisibilitySnapshot, Instant)>,
    /// When the latest rows were answered.
    rows_answered: Instant,
}

/// How a page is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// The view and the first rows at the same time.
    First,
    /// The rows between the view that was read before and one after them.
    Checked,
}

impl<'a, R: Rows> ConsistentPageReader<'a, R> {
    pub(crate) fn new(
        cx: &Context<'a>,
        rows: &'a R,
        timelines: &'a Timelines,
        likes: &'a AskedLikes<'a>,
        now: Timestamp,
    ) -> Self {
        let Reader { records: cache, hold, .. } = cx.reader;
        let begun = Instant::now();
        Self {
            rows,
            timelines,
            cache,
            hold: *hold,
            likes,
            now,
            hydration: Hydration::default(),
            begun,
            rounds: 0,
            is_poll: false,
            pass: Pass::First,
            seen: None,
            rows_answered: begun,
        }
    }

    /// Reads the requested page.
    pub(crate) async fn page(mut self, paging: &Paging<'_>) -> Result<Page<Shown>, DynamoError> {
        self.is_poll = paging.request.is_poll();
        let first = fill(paging, &mut self).await?;
        let is_one_call = self.rounds == 1 && self.seen.is_none();
        if is_one_call || self.hold.covers(self.begun) {
            return Ok(first.page);
        }
        self.pass = Pass::Checked;
        // If that did not fill the page, as many as a page may read at once.
        let wanted = match &first.page.end {
            Some(_) => MAX_ROWS_PER_READ,
            None => (first.rows.len() + 1).max(MAX_ROWS_PER_LOOKUP),
        };
        self.checked_page(paging, first.rows, wanted).await
    }

    /// Reads the page again, between two views, until nothing is in doubt or the rounds are used up.
    async fn checked_page(
        mut self,
        paging: &Paging<'_>,
        first: Vec<Target>,
        wanted: usize,
    ) -> Result<Page<Shown>, DynamoError> {
        let (mut before, mut is_first) = (first, true);
        let (mut view, mut asked_at) = match self.seen.take() {
            Some(seen) => seen,
            None => self.view().await?,
        };
        loop {
            let edges = self.hydration.begin_reading();
            let filled = fill_at_once(paging, &mut self, wanted).await?;
            let (later, later_asked_at) = match self.seen.take() {
                Some(seen) => seen,
                None => self.view().await?,
            };
            let between = Between {
                view: &view,
                later: &later,
                took: self.rows_answered - asked_at,
                rows_before: (!is_first).then_some(&before),
                rows: &filled.rows,
                edges_before: &edges,
                hydration: &self.hydration,
                hold: self.hold,
            };
            let is_last = self.rounds + 2 > ROUNDS;
            let (joining, doubt) = (between.joining(), between.content());
            let is_settled = joining.is_some() && doubt == Doubt::None;
            if is_settled || is_last {
                let doubt = if joining.is_some() { doubt } else { Doubt::From(0) };
                return Ok(settled(filled, doubt, &joining.unwrap_or_default()));
            }
            self.hydration.see(&later, self.now);
            (view, asked_at, before, is_first) = (later, later_asked_at, filled.rows, false);
        }
    }

    async fn view(&mut self) -> Result<(VisibilitySnapshot, Instant), DynamoError> {
        self.rounds += 1;
        self.ask_view().await
    }

    async fn ask_view(&self) -> Result<(VisibilitySnapshot, Instant), DynamoError> {
        let asked_at = Instant::now();
        let view = self.timelines.visibility(self.rows.viewer(), self.cache).await?;
        self.rows.note(&view);
        Ok((view, asked_at))
    }
}

/// The page up to the first row in doubt, without rows of actors that are left out.
fn settled<R: Rows>(
    filled: Filled<ConsistentPageReader<'_, R>>,
    doubt: Doubt,
    left_out: &HashSet<ActorId>,
) -> Page<Shown> {
    let Filled { page, rows } = filled;
    let mut page = match doubt {
        Doubt::None => page,
        Doubt::From(row) => page.until(row, rows.iter().map(|(key, _)| key.clone())),
    };
    page.items.retain(|(_, shown)| !left_out.contains(&shown.actor));
    page
}

impl<R: Rows> Source for ConsistentPageReader<'_, R> {
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
    ) -> Result<RowChunk<Target>, DynamoError> {
        self.rounds += 1;
        let rows = match (self.pass, self.seen.is_some()) {
            (Pass::Checked, _) => self.rows.rows_of_one_list(span, after, limit).await?,
            (Pass::First, is_seen) if is_seen || self.is_poll => {
                self.rows.rows(span, after, limit).await?
            }
            (Pass::First, _) => {
                let rows = self.rows.rows(span, after, limit);
                let (rows, (view, asked_at)) = try_join(rows, self.ask_view()).await?;
                self.hydration.see(&view, self.now);
                self.seen = Some((view, asked_at));
                rows
            }
        };
        self.rows_answered = Instant::now();
        Ok(rows)
    }

    fn is_hidden(&self, (_, actor): &Target) -> bool {
        self.hydration.hides(actor)
    }

    async fn look_up(&mut self, rows: &[Target], is_first: bool) -> Result<(), DynamoError> {
        let timelines = self.timelines;
        let is_checked = self.pass == Pass::Checked;
        let mut open = Vec::new();
        let rows = if is_checked || self.seen.is_some() {
            rows
        } else {
            let (view, asked_at) = self.view().await?;
            self.hydration.see(&view, self.now);
            self.seen = Some((view, asked_at));
            open.extend(rows.iter().filter(|row| !self.is_hidden(row)).cloned());
            &open
        };
        if rows.is_empty() {
            return Ok(());
        }
        self.rounds += 1;
        if !is_checked && (!is_first || rows.len() > MAX_ROWS_WITH_EDGES) {
            timelines.hydrate_edges(&mut self.hydration, rows).await?;
        }
        let wants_view = is_checked && self.seen.is_none();
        let (list, cache) = (self.rows, self.cache);
        let view = OptionFuture::from(wants_view.then_some(async {
            let asked_at = Instant::now();
            let view = timelines.visibility(list.viewer(), cache).await?;
            list.note(&view);
            Ok::<_, DynamoError>((view, asked_at))
        }));
        // Records in the cache may have been read after the rows.
        let (_, _, view) = try_join3(
            timelines.hydrate(&mut self.hydration, rows, cache, !is_checked),
            self.likes.ask(rows.iter().map(|(key, _)| &key.activity_id)),
            async { view.await.transpose() },
        )
        .await?;
        self.seen = self.seen.take().or(view);
        Ok(())
    }

    fn units_a_row(&self) -> usize {
        if self.likes.are_asked_for() { 3 } else { 1 }
    }

    fn rounds_left(&self) -> usize {
        // Two calls may take a round of their own: the view of a poll, and the likes of a viewer with very many.
        let apart = usize::from(self.is_poll) + usize::from(self.likes.are_asked_for());
        let left = ROUNDS.saturating_sub(self.rounds + apart);
        match self.pass {
            // Another reading takes two rounds.
            Pass::First => left.saturating_sub(2),
            Pass::Checked => left,
        }
    }

    fn may_go_on(&self) -> bool {
        self.pass == Pass::First && self.hold.covers(self.begun)
    }

    fn shown(&self, (key, actor): &Target) -> Option<Shown> {
        let content =
            self.hydration.shown(key, actor).filter(|content| self.rows.shows(content))?;
        Some(Shown { actor: actor.clone(), content: content.clone() })
    }
}

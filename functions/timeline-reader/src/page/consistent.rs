//! Pages of activities, each as it was at one moment.
//!
//! An ordinary page takes one round trip for the rows and, at the same time, the view (the [`VisibilitySnapshot`]: who is
//! hidden, and which records have changed). A second one reads the records that are not cached. A poll with a
//! `newer_cursor` mostly finds nothing, so it reads the view only once it has found a row, before it reads anything about
//! that row.
//!
//! # One page, one moment
//!
//! If all reads of a page fall within one [hold](shared::platform::runtime::hold), the page is of one moment. If they took longer, it is
//! read again, in *readings*: the rows in one call, then what is not known of them. A page is of one moment in two cases.
//!
//! **The moment of the rows**, between a view before them and a view after them, if
//!
//! * the same actors were hidden. If they were not, and the rows were answered within a
//!   long hold after the view before was requested, it is known for each actor what held at that moment. An actor who was hidden then
//!   was not yet shown by an acknowledged follow. An actor who is joining in the view after was not joined, so their rows
//!   are left out. If the viewer has left an actor meanwhile, and rows of that actor were read before the first view, nothing
//!   of theirs was deleted yet: they are shown, and the unfollow comes later. Actors without rows make no difference;
//! * each record was read before the rows, and the change log says that nobody has changed it since. Or it was read
//!   after the rows, and nobody has ever edited or deleted the activity: then it says what its publish said, which began
//!   before the row existed.
//!
//! **The moment of the records**, between the rows before them and the rows after them, if these are the same, the same actors were
//! hidden, and all records that were changed in between were read at one moment: one record alone, or several in one transaction. So
//! an activity that is edited all the time is on the page as it was when it was read. The next reading reads what was changed around
//! the one before together, and the one after that reads all records of the page together.
//!
//! **A page ends after [`ROUNDS`] rounds of calls**, and begins [`ATTEMPTS`] times at most. So new commands never change a page, and
//! a page never waits for them. If rows and records of the page have moved in each of its three readings, it begins again. The last
//! attempt ends before the first row that is in doubt, with a `next_cursor`.
//!
//! DynamoDB reads the items of one call one by one, in their
//! order. That makes no difference as long as the call takes less time there than a command takes from its beginning to its
//! acknowledgement, a hold included; how long the call travels does not matter.
//!
//! If rows have moved from one list to another ([by kind](shared::social::activities::Activities::published_of_kinds)), the next reading is
//! of a list that no row leaves.

use std::collections::HashSet;

use function_http::page::{
    Filled, MAX_ROWS_PER_LOOKUP, MAX_ROWS_PER_READ, Page, Paging, ROUNDS, Source, fill,
    fill_at_once,
};
use futures::future::{OptionFuture, try_join, try_join3};
use shared::platform::dynamo::DynamoError;
use shared::platform::paging::{RowChunk, Slice};
use shared::platform::runtime::hold::Hold;
use shared::platform::values::{ActorId, SortKey, Timestamp};
use shared::social::activities::RecordCache;
use shared::social::timelines::{Hydration, Timelines, VisibilitySnapshot};
use tokio::time::Instant;

use super::doubt::{Between, Doubt};
use super::likes::AskedLikes;
use super::rows::{Rows, Shown, Target};
use crate::reader::{Context, Reader};

/// The most rows whose edges and records are read at once, which saves a round trip. With more rows, edges are
/// read first, so that no read unit is spent on the record of a hidden row.
const MAX_ROWS_WITH_EDGES: usize = 40;

/// How many times a page begins at most. With calls of 40 ms, while an activity is edited 20 times a second and ten others are
/// published, one attempt in fifty has to begin again.
const ATTEMPTS: usize = 3;

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
    /// How many times rows were read for the first page.
    reads: usize,
    /// True if rows move between the lists of the page, so that it is read from one that they do not leave.
    has_moved: bool,
    /// The rows of a checked page, which are read before it is filled.
    prefetched: Option<RowChunk<Target>>,
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
            reads: 0,
            has_moved: false,
            prefetched: None,
        }
    }

    /// Reads the requested page.
    pub(crate) async fn page(mut self, paging: &Paging<'_>) -> Result<Page<Shown>, DynamoError> {
        self.is_poll = paging.request.is_poll();
        let mut attempts_left = ATTEMPTS;
        loop {
            let first = fill(paging, &mut self).await?;
            let is_one_call = self.rounds == 1 && self.seen.is_none();
            if is_one_call || self.hold.covers(self.begun) {
                return Ok(first.page);
            }
            self.pass = Pass::Checked;
            let (page, is_short) = self.checked_page(paging, first).await?;
            attempts_left -= 1;
            if !is_short || attempts_left == 0 {
                return Ok(page);
            }
            self.begin_again();
        }
    }

    /// Forgets what was read.
    fn begin_again(&mut self) {
        (self.hydration, self.begun) = (Hydration::default(), Instant::now());
        (self.rounds, self.reads, self.pass, self.seen) = (0, 0, Pass::First, None);
    }

    /// Reads the page again, until it is known to be of one moment or the rounds are used up. The page, and true if it is short because
    /// of that.
    async fn checked_page(
        &mut self,
        paging: &Paging<'_>,
        first: Filled<Self>,
    ) -> Result<(Page<Shown>, bool), DynamoError> {
        let least = first.rows.len().max(paging.request.limit + paging.request.skipped()) + 1;
        let mut wanted = least.max(MAX_ROWS_PER_LOOKUP);
        let (mut view, mut asked_at) = match self.seen.take() {
            Some(seen) => seen,
            None => self.view().await?,
        };
        // The view that the page before was judged by, if its rows were read in one call.
        let (mut before, mut judged_by) = (first, (self.reads == 1).then(|| view.clone()));
        let (mut is_first, mut was_wanted) = (true, 0);
        loop {
            let is_open = before.is_cut && was_wanted < MAX_ROWS_PER_READ;
            if is_open && (was_wanted > 0 || before.page.end.is_some()) {
                wanted = MAX_ROWS_PER_READ;
            }
            self.has_moved |= self.rounds + 4 > ROUNDS;
            self.rounds += 1;
            let (span, after) = paging.request.start(paging.retained_from);
            let slice = Slice { span, after: after.as_deref(), limit: wanted };
            let rows = self.checked_rows(slice);
            let (rows, (beside, _)) = try_join(rows, self.ask_view()).await?;
            self.rows_answered = Instant::now();
            if let Some(judged_by) = &judged_by {
                let is_settled = self.is_of_one_reading(&before, &rows, judged_by, &beside);
                if is_settled && !is_open {
                    return Ok((before.page, false));
                }
                self.hydration.follow(&before.rows, beside.changes_since(judged_by));
            }
            if !is_first {
                self.hydration.see(&view, self.now);
            }
            let edges = self.hydration.begin_reading();
            self.prefetched = Some(rows);
            let filled = fill_at_once(paging, self, wanted).await?;
            let (later, later_asked_at) = match self.seen.take() {
                Some(seen) => seen,
                None => self.view().await?,
            };
            let between = Between {
                view: &view,
                later: &later,
                took: self.rows_answered - asked_at,
                rows_before: (!is_first).then_some(&before.rows),
                rows: &filled.rows,
                edges_before: &edges,
                hydration: &self.hydration,
                hold: self.hold,
            };
            let (joining, mut doubt) = (between.joining(), between.content());
            if !self.has_moved && self.rows.may_have_moved(later.changes_since(&view)) {
                (self.has_moved, doubt) = (true, Doubt::From(0));
            }
            let is_open = filled.is_cut && wanted < MAX_ROWS_PER_READ;
            let is_settled = joining.is_ok() && doubt == Doubt::None && !is_open;
            if is_settled || self.rounds + 2 > ROUNDS {
                let (joining, actors) = match joining {
                    Ok(joining) => (joining, Doubt::None),
                    Err(doubt) => (HashSet::new(), doubt),
                };
                return Ok(settled(filled, doubt.or(actors), &joining));
            }
            judged_by = Some(std::mem::replace(&mut view, later));
            (asked_at, before) = (later_asked_at, filled);
            (is_first, was_wanted) = (false, wanted);
        }
    }

    /// The rows of a reading, in one call of each list.
    async fn checked_rows(&self, slice: Slice<'_>) -> Result<RowChunk<Target>, DynamoError> {
        match self.has_moved {
            true => self.rows.rows_of_one_list(slice).await,
            false => self.rows.rows(slice).await,
        }
    }

    /// True if the page before is of the moment at which its records were read: its rows were the same before and after
    /// that, the same actors were hidden as far as they have rows, and what has changed was read at one moment.
    fn is_of_one_reading(
        &self,
        before: &Filled<Self>,
        rows: &RowChunk<Target>,
        judged_by: &VisibilitySnapshot,
        later: &VisibilitySnapshot,
    ) -> bool {
        let is_same = match before.page.more {
            true => rows.rows.starts_with(&before.rows),
            false => rows.rows == before.rows && rows.next.is_none(),
        };
        let has_same_actors = later
            .hidden_since(judged_by)
            .is_some_and(|change| !before.rows.iter().any(|(_, actor)| change.is_about(actor)));
        let changed = later.changes_since(judged_by);
        let has_moved = !self.has_moved && self.rows.may_have_moved(changed);
        is_same
            && has_same_actors
            && !has_moved
            && self.hydration.is_of_one_reading(&before.rows, changed)
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

/// The page up to the first row in doubt, without rows of actors that are left out. True if rows in doubt are missing from it.
fn settled<R: Rows>(
    filled: Filled<ConsistentPageReader<'_, R>>,
    doubt: Doubt,
    left_out: &HashSet<ActorId>,
) -> (Page<Shown>, bool) {
    let Filled { page, rows, .. } = filled;
    let found = page.items.len();
    let mut page = match doubt {
        Doubt::None => page,
        Doubt::From(row) => page.until(row, rows.iter().map(|(key, _)| key.clone())),
    };
    let is_short = page.items.len() < found;
    page.items.retain(|(_, shown)| !left_out.contains(&shown.actor));
    (page, is_short)
}

impl<R: Rows> Source for ConsistentPageReader<'_, R> {
    type Row = Target;
    type Shown = Shown;

    fn key((key, _): &Target) -> &SortKey {
        key
    }

    async fn read(&mut self, slice: Slice<'_>) -> Result<RowChunk<Target>, DynamoError> {
        if let Some(prefetched) = self.prefetched.take() {
            return Ok(prefetched);
        }
        (self.rounds, self.reads) = (self.rounds + 1, self.reads + 1);
        let rows = match (self.pass, self.seen.is_some()) {
            (Pass::Checked, _) => self.checked_rows(slice).await?,
            (Pass::First, is_seen) if is_seen || self.is_poll => self.rows.rows(slice).await?,
            (Pass::First, _) => {
                let rows = self.rows.rows(slice);
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

//! Pages of lists that are in the order of time.
//!
//! ```text
//! request   which page: everything is parsed here
//! filling   rows -> what is known of them -> what is shown, until the page is full
//! cursors   where to go on, and what was shown
//! words     which kinds or names are asked for
//! consistent pages of activities, each as it was at one moment
//! doubt     what may have changed while a page was read
//! likes     how many like what is on it
//! answer    a page of activities as JSON, with its cursors
//! ```
//!
//! A list says where its rows are ([`Source`]) and what is shown of them. How far to read for a page, which way, where it
//! ends and what a client has seen before is the same for all lists.

mod answer;
mod consistent;
mod cursors;
mod doubt;
mod filling;
mod likes;
mod request;
mod words;

pub(crate) use answer::{Head, answer};
pub(crate) use consistent::{ConsistentPageReader, Rows, Target};
pub(crate) use cursors::Cursors;
pub(crate) use filling::fill;
pub(crate) use likes::AskedLikes;
pub(crate) use request::{DEFAULT_LIMIT, Request, from, limit, order, parameters, to};
pub(crate) use words::{Kinds, Names};

use shared::dynamo::DynamoError;
use shared::paging::{List, RowChunk, SeenSet, SeenSets};
use shared::runtime::deadline::Deadline;
use shared::values::{SortKey, Span, Timestamp};
use tokio::sync::OnceCell;

use crate::Context;

/// Where the rows of a page are, and what is shown of them.
pub(crate) trait Source {
    /// One row.
    type Row: Clone;
    /// What is shown of one.
    type Shown;

    /// Where a row stands.
    fn key(row: &Self::Row) -> &SortKey;

    /// Reads up to `limit` rows of a span. With `after`, begins behind that stored key.
    async fn read(
        &mut self,
        span: Span,
        after: Option<&str>,
        limit: usize,
    ) -> Result<RowChunk<Self::Row>, DynamoError>;

    /// True if it is known already that a row is not shown.
    fn is_hidden(&self, row: &Self::Row) -> bool;

    /// Finds out what is shown of these rows, which are not known to be hidden. `is_first` says that nothing was found
    /// out before.
    async fn look_up(&mut self, rows: &[Self::Row], is_first: bool) -> Result<(), DynamoError>;

    /// What is shown of a row that was looked up, if anything is.
    fn shown(&self, row: &Self::Row) -> Option<Self::Shown>;

    /// False if nothing has to be called to know what is shown of a row.
    fn looks_up_by_calls(&self) -> bool {
        true
    }

    /// What looking up a row costs, in read units.
    fn units_a_row(&self) -> usize {
        0
    }

    /// How many more rounds of calls a page may make.
    fn rounds_left(&self) -> usize {
        filling::ROUNDS
    }

    /// False if a page that is not full is to be given out as it is.
    fn may_go_on(&self) -> bool {
        true
    }
}

/// One page.
#[derive(Debug)]
pub(crate) struct Page<T> {
    /// What is shown, and where it stands, in the order asked for.
    pub(crate) items: Vec<(SortKey, T)>,
    /// True if there is more beyond it.
    pub(crate) more: bool,
    /// Up to where rows were looked at, of a page that is short because too many were hidden.
    pub(crate) end: Option<SortKey>,
    /// The instant of the oldest row that was read for it, if any was.
    pub(crate) oldest_read: Option<Timestamp>,
}

impl<T> Page<T> {
    /// Where what it shows stands, in its order.
    fn keys(&self) -> impl Iterator<Item = &SortKey> + Clone {
        self.items.iter().map(|(key, _)| key)
    }

    /// True if all that it was made of is retained, if retention reaches back to this instant.
    pub(crate) fn is_retained(&self, retained_from: Timestamp) -> bool {
        self.oldest_read.is_none_or(|oldest| oldest >= retained_from)
    }

    /// Without what retention has passed by since it was read: it is the same for all actors who are on it.
    pub(crate) fn retained(mut self, retained_from: Timestamp) -> Self {
        self.items.retain(|(key, _)| key.published_at >= retained_from);
        self
    }

    /// The same up to where there is doubt about a row: it ends with the last thing before that. Where nothing is, whoever
    /// goes on begins where it began.
    fn until(mut self, doubtful: usize, rows: impl Iterator<Item = SortKey>) -> Self {
        let before: Vec<_> = rows.take(doubtful).collect();
        let there = self.items.len();
        self.items.retain(|(key, _)| before.contains(key));
        let is_full_before = self.items.len() == there && self.more && self.end.is_none();
        if is_full_before { self } else { Self { more: true, end: None, ..self } }
    }
}

/// What every page is read with.
pub(crate) struct Paging<'a> {
    pub(crate) list: &'a List,
    pub(crate) request: &'a Request,
    pub(crate) now: Timestamp,
    /// What is older is not in the list.
    pub(crate) retained_from: Timestamp,
    deadline: Deadline,
    seen_sets: SeenSets,
    /// What was shown before. It never changes, so it is read once, beside the first rows.
    seen: OnceCell<Option<SeenSet>>,
}

impl<'a> Paging<'a> {
    /// For a request, of a list that goes back to an instant.
    pub(crate) fn new(
        cx: &Context<'_>,
        list: &'a List,
        request: &'a Request,
        now: Timestamp,
        retained_from: Timestamp,
    ) -> Self {
        let seen_sets = SeenSets::new(&cx.reader.ledger.over(cx.dynamo));
        let deadline = cx.deadline;
        Self { list, request, now, retained_from, deadline, seen_sets, seen: OnceCell::new() }
    }

    /// What was shown before, as far as this page may show it again or add to it.
    async fn seen(&self) -> Result<Option<&SeenSet>, DynamoError> {
        let read = async || {
            let Some(seen) = self.request.window() else { return Ok(None) };
            self.seen_sets.read(self.list, seen, self.now, self.deadline).await.map(Some)
        };
        self.seen.get_or_try_init(read).await.map(Option::as_ref)
    }

    /// The rows that a page may show: all of them, or of what became visible since those that were not shown.
    async fn unseen<S: Source>(&self, rows: &[S::Row]) -> Result<Vec<S::Row>, DynamoError> {
        let seen = if self.request.is_newer() { self.seen().await? } else { None };
        let was_shown = |key: &SortKey| seen.is_some_and(|seen| seen.holds(key));
        Ok(rows.iter().filter(|row| !was_shown(S::key(row))).cloned().collect())
    }
}

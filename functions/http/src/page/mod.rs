//! Pages of lists that are in the order of time.
//!
//! ```text
//! request   which page: everything is parsed here
//! filling   rows -> what is known of them -> what is shown, until the page is full
//! cursors   where to go on, and what was shown
//! words     which kinds or names are asked for
//! ```
//!
//! A list says where its rows are ([`Source`]) and what is shown of them. Everything else is the same for all lists: how far and
//! in which direction a page reads, where it ends, and what a client has seen before.

mod cursors;
mod filling;
mod request;
mod words;

pub use cursors::Cursors;
pub use filling::{Filled, MAX_ROWS_PER_LOOKUP, MAX_ROWS_PER_READ, ROUNDS, fill, fill_at_once};
pub use request::{DEFAULT_LIMIT, Request, from, limit, order, parameters, to};
pub use words::{Kinds, Names, Word, Words};

use shared::platform::dynamo::DynamoError;
use shared::platform::paging::{List, RowChunk, SeenSet, SeenSets, Slice};
use shared::platform::values::{SortKey, Timestamp};
use tokio::sync::OnceCell;

use crate::reader::{Context, Routes};

/// Where the rows of a page are, and what is shown of them.
pub trait Source {
    type Row: Clone;
    type Shown;

    fn key(row: &Self::Row) -> &SortKey;

    fn read(
        &mut self,
        slice: Slice<'_>,
    ) -> impl Future<Output = Result<RowChunk<Self::Row>, DynamoError>> + Send;

    /// True if it is known already that a row is not shown.
    fn is_hidden(&self, row: &Self::Row) -> bool;

    /// Looks up rows that are not known to be hidden. `is_first` is true for the first lookup of a page.
    fn look_up(
        &mut self,
        rows: &[Self::Row],
        is_first: bool,
    ) -> impl Future<Output = Result<(), DynamoError>> + Send;

    /// What is shown of a row that was looked up; `None` if it is not shown.
    fn shown(&self, row: &Self::Row) -> Option<Self::Shown>;

    /// False if a lookup makes no calls.
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

    /// False if a page that is not full has to end as it is.
    fn may_go_on(&self) -> bool {
        true
    }
}

#[derive(Debug)]
pub struct Page<T> {
    /// What is shown, and where it stands, in the order asked for.
    pub items: Vec<(SortKey, T)>,
    /// True if there is more beyond it.
    pub more: bool,
    /// The last row examined, if the page is short because too many rows were hidden.
    pub end: Option<SortKey>,
    /// The instant of the oldest row that was read for it, if any was.
    pub oldest_read: Option<Timestamp>,
}

impl<T> Page<T> {
    /// The sort keys of what it shows, in its order.
    pub fn keys(&self) -> impl Iterator<Item = &SortKey> + Clone {
        self.items.iter().map(|(key, _)| key)
    }

    /// True if all rows that it was made from are retained, with retention reaching back to this instant.
    pub fn is_retained(&self, retained_from: Timestamp) -> bool {
        self.oldest_read.is_none_or(|oldest| oldest >= retained_from)
    }

    /// Removes what retention has dropped since the page was read, which is the same for all actors on it.
    pub fn retained(mut self, retained_from: Timestamp) -> Self {
        self.items.retain(|(key, _)| key.published_at >= retained_from);
        self
    }

    /// Ends the page before a row that is in doubt. If nothing is left, the next page begins where this one began.
    #[must_use]
    pub fn until(mut self, doubtful: usize, rows: impl Iterator<Item = SortKey>) -> Self {
        let before: Vec<_> = rows.take(doubtful).collect();
        let there = self.items.len();
        self.items.retain(|(key, _)| before.contains(key));
        let is_full_before = self.items.len() == there && self.more && self.end.is_none();
        if is_full_before { self } else { Self { more: true, end: None, ..self } }
    }
}

/// What every page is read with.
pub struct Paging<'a> {
    pub list: &'a List,
    pub request: &'a Request,
    pub now: Timestamp,
    /// What is older is not in the list.
    pub retained_from: Timestamp,
    seen_sets: SeenSets,
    /// What was shown before. It never changes, so it is read once, together with the first rows.
    seen: OnceCell<Option<SeenSet>>,
}

impl<'a> Paging<'a> {
    /// For a request of a list that reaches back to `retained_from`.
    pub fn new(
        cx: &Context<'_, impl Routes>,
        list: &'a List,
        request: &'a Request,
        now: Timestamp,
        retained_from: Timestamp,
    ) -> Self {
        let seen_sets = SeenSets::new(cx.reader.ledger());
        Self { list, request, now, retained_from, seen_sets, seen: OnceCell::new() }
    }

    /// What was shown before, as far as this page may show it again or add to it.
    async fn seen(&self) -> Result<Option<&SeenSet>, DynamoError> {
        let read = async || {
            let Some(seen) = self.request.window() else { return Ok(None) };
            self.seen_sets.read(self.list, seen, self.now).await.map(Some)
        };
        self.seen.get_or_try_init(read).await.map(Option::as_ref)
    }

    /// The rows that a page may show: all of them, or for a poll those that were not shown before.
    async fn unseen<S: Source>(&self, rows: &[S::Row]) -> Result<Vec<S::Row>, DynamoError> {
        let seen = if self.request.is_newer() { self.seen().await? } else { None };
        let was_shown = |key: &SortKey| seen.is_some_and(|seen| seen.holds(key));
        Ok(rows.iter().filter(|row| !was_shown(S::key(row))).cloned().collect())
    }
}

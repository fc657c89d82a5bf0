//! Fills a page with rows that are not hidden.
//!
//! Some rows are hidden, for a moment or permanently: those of an actor unfollowed a moment ago, of a deleted activity, or
//! put there by hand. So a page reads on until it is full or the span ends. One row beyond the page is examined, to know
//! whether there is a next page.
//!
//! # What hidden rows cost
//!
//! While a purge of thousands of entries runs, a page passes many of them. Rows that are known to be hidden cost no
//! more than reading them from the list (some forty entries a read unit). A full page examines at most [`BEYOND`] hidden
//! rows to find out whether there is a next page.
//!
//! **The cost of a page is bounded.** It makes at most [`ROUNDS`] rounds of calls, and spends [`UNITS`] read units besides one
//! for each item that it may show. The page is what it has found by then, possibly nothing, and says [how far](Page::end) it has
//! read: the next page continues from there. Each page advances by at least one chunk of rows, so a walk ends. Rows that a
//! client was shown before are skipped, ten thousand in one call, and are not counted.

use futures::future::try_join;
use shared::platform::dynamo::DynamoError;
use shared::platform::paging::{RowChunk, Slice};
use shared::platform::values::SortKey;

use super::{Page, Paging, Source};

/// Rounds of calls that a page makes at most.
pub const ROUNDS: usize = 8;
/// Read units that a reading of a page spends at most on rows and lookups, besides one for each item on it. What one reading has
/// looked up is not read by the next.
const UNITS: usize = 160;
/// Rows that a read unit is likely to pay for, at least.
const ROWS_A_UNIT: usize = 40;
/// Rows shown before that one call is likely to return.
const ROWS_A_CALL: usize = 8_000;
/// The fewest rows looked up at once after the first lookup, so that a run of deleted activities does not take a
/// round trip each. The number doubles with each lookup, up to [`MAX_ROWS_PER_LOOKUP`].
const MIN_ROWS_PER_LOOKUP: usize = 10;
/// The most rows looked up at once: two BatchGetItem calls if each row is of another actor. After a read with too many
/// hidden rows, the next one reads at least this many.
pub const MAX_ROWS_PER_LOOKUP: usize = 100;
/// The most rows read at once: about 25 read units.
pub const MAX_ROWS_PER_READ: usize = 1_000;
/// Rows read beyond a full page before it claims that there may be more. The next page is then empty if there is
/// nothing.
const BEYOND: usize = 500;

/// A page, and the rows that it was made from.
#[derive(Debug)]
pub struct Filled<S: Source> {
    pub page: Page<S::Shown>,
    pub rows: Vec<S::Row>,
    /// True if it ended before it was known whether there is more.
    pub is_cut: bool,
}

/// Reads a page from a source.
pub async fn fill<S: Source>(
    paging: &Paging<'_>,
    source: &mut S,
) -> Result<Filled<S>, DynamoError> {
    Filling::new(paging, source, None).fill().await
}

/// Reads as much of a page as the given number of rows contains, in one call of its list.
pub async fn fill_at_once<S: Source>(
    paging: &Paging<'_>,
    source: &mut S,
    rows: usize,
) -> Result<Filled<S>, DynamoError> {
    Filling::new(paging, source, Some(rows)).fill().await
}

/// A page that is being filled.
struct Filling<'a, S: Source> {
    paging: &'a Paging<'a>,
    source: &'a mut S,
    /// How many rows to read, if that is fixed.
    at_once: Option<usize>,
    items: Vec<(SortKey, S::Shown)>,
    /// Rows read so far, before the chunk that is being looked up.
    passed: usize,
    looks: u32,
    /// True once there is known to be something beyond the page.
    more: bool,
    /// The last row that was examined.
    end: Option<SortKey>,
    rounds_left: usize,
    units_left: usize,
}

impl<'a, S: Source> Filling<'a, S> {
    fn new(paging: &'a Paging<'_>, source: &'a mut S, at_once: Option<usize>) -> Self {
        let (limit, skipped) = (paging.request.limit, paging.request.skipped());
        let rounds_left = source.rounds_left() + skipped / ROWS_A_CALL;
        Self {
            paging,
            source,
            at_once,
            items: Vec::with_capacity(limit + 1),
            passed: 0,
            looks: 0,
            more: false,
            end: None,
            rounds_left,
            units_left: UNITS + limit + skipped / ROWS_A_UNIT,
        }
    }

    async fn fill(mut self) -> Result<Filled<S>, DynamoError> {
        let paging = self.paging;
        let (span, mut after) = paging.request.start(paging.retained_from);
        let mut rows = Vec::new();
        let (more, is_cut) = loop {
            let slice = Slice { span, after: after.as_deref(), limit: self.next_stretch() };
            let (chunk, _) = try_join(self.source.read(slice), paging.seen()).await?;
            let RowChunk { rows: some, read, next } = chunk;
            self.spend(1 + read / ROWS_A_UNIT);
            let is_whole = self.take(&paging.unseen::<S>(&some).await?).await?;
            self.passed += read;
            rows.extend(some);
            if self.more || !is_whole {
                break (true, !self.more);
            }
            let Some(next) = next else { break (false, false) };
            self.end = next.parse::<SortKey>().ok().or(self.end);
            if self.ends_here() {
                break (true, true);
            }
            after = Some(next);
        };
        let oldest_read = rows.iter().map(|row| S::key(row).published_at).min();
        let (limit, mut items) = (paging.request.limit, self.items);
        let end = self.end.filter(|_| more && items.len() < limit);
        items.truncate(limit);
        Ok(Filled { page: Page { items, more, end, oldest_read }, rows, is_cut })
    }

    /// True if the page ends although there may be more: it is full, or its budget is used up and it says where to go on.
    fn ends_here(&self) -> bool {
        let is_spent = self.rounds_left < 2 || self.units_left <= MIN_ROWS_PER_LOOKUP;
        let has_cost_enough = is_spent || self.at_once.is_some() || !self.source.may_go_on();
        match self.is_full() {
            true => self.passed >= BEYOND || has_cost_enough,
            false => has_cost_enough && self.end.is_some(),
        }
    }

    fn spend(&mut self, units: usize) {
        self.rounds_left = self.rounds_left.saturating_sub(1);
        self.units_left = self.units_left.saturating_sub(units);
    }

    fn is_full(&self) -> bool {
        self.items.len() >= self.paging.request.limit
    }

    /// Items yet to be found, the one beyond the page included.
    fn missing(&self) -> usize {
        (self.paging.request.limit + 1).saturating_sub(self.items.len())
    }

    /// How many rows to read next. At first as many as are wanted, plus those that will be skipped because they were shown before,
    /// as far as one call returns them. Then as many as contain the wanted ones in the proportion of shown rows so far.
    fn next_stretch(&self) -> usize {
        let skipped = self.paging.request.skipped();
        if self.passed == 0 || self.passed < skipped {
            return self.at_once.unwrap_or(0).max(self.missing() + skipped - self.passed);
        }
        let expected = self.passed * self.missing() / self.items.len().max(1);
        expected
            .clamp(MAX_ROWS_PER_LOOKUP, MAX_ROWS_PER_READ)
            .min((self.units_left * ROWS_A_UNIT).max(MAX_ROWS_PER_LOOKUP))
    }

    /// Takes the shown rows of a chunk, until it ends or there is one more than the page holds. Returns false if the budget is
    /// used up before.
    async fn take(&mut self, rows: &[S::Row]) -> Result<bool, DynamoError> {
        let mut rest = rows.iter();
        loop {
            let chunk = self.next_chunk(&mut rest);
            // Rows beyond a page of a hundred are not looked up, which would take another call.
            let is_a_hundred = self.items.len() >= MAX_ROWS_PER_LOOKUP;
            self.more = self.missing() == 0 || (is_a_hundred && !chunk.is_empty());
            let Some(last) = chunk.last().filter(|_| !self.more) else { return Ok(true) };
            let cost = chunk.len() * self.source.units_a_row();
            if self.looks > 0 && (self.rounds_left == 0 || self.units_left < cost) {
                return Ok(false);
            }
            self.source.look_up(&chunk, self.passed == 0).await?;
            self.looks += 1;
            if self.source.looks_up_by_calls() {
                self.spend(cost);
            }
            let shown =
                chunk.iter().filter_map(|row| Some((S::key(row).clone(), self.source.shown(row)?)));
            self.items.extend(shown);
            self.end = Some(S::key(last).clone());
        }
    }

    /// The next rows that are not known to be hidden.
    fn next_chunk<'r>(&self, rest: &mut impl Iterator<Item = &'r S::Row>) -> Vec<S::Row>
    where
        S::Row: 'r,
    {
        let fewest = MIN_ROWS_PER_LOOKUP << self.looks.min(3);
        let wanted = self.missing().clamp(fewest, MAX_ROWS_PER_LOOKUP);
        let open = rest.filter(|row| !self.source.is_hidden(row));
        open.take(wanted).cloned().collect()
    }
}

//! Filling a page: rows, what is known of them, and the rule that a row is shown only if it is not hidden.
//!
//! Some rows are hidden for a moment or permanently: of an actor unfollowed a moment ago, of what was deleted,
//! of something put there by hand. So a page is filled by going on reading until it is full or the span ends.
//! One row beyond the page is looked at, to know whether there is a next one.
//!
//! # What hidden rows cost
//!
//! While a purge of thousands of entries runs, a page passes many of them. Rows that are known to be hidden cost no
//! more than reading them from the list (some forty entries a read unit). A full page looks at no more than
//! [`BEYOND`] hidden ones for a next page.
//!
//! **No page reads without end.** It makes [`ROUNDS`] of calls at most, one after the other, and spends
//! [`UNITS`] read units besides one for each thing that it may show. What it has found by then is the page, fewer than
//! were asked for or none, and it says up to where it has [looked](Page::end): the page after it goes on from there. Each
//! goes on by one chunk of rows at least, so a walk ends. What a client was shown before is skipped in one
//! call for ten thousand rows, and is not counted.

use futures::future::try_join;
use shared::dynamo::DynamoError;
use shared::paging::RowChunk;
use shared::values::SortKey;

use super::{Page, Paging, Source};

/// Rounds of calls that a page makes at most.
pub(super) const ROUNDS: usize = 8;
/// Read units that a page spends at most, as far as rows and what is known of them are concerned, besides one for
/// each thing on it.
const UNITS: usize = 160;
/// As many rows as a read unit is likely to pay for, or more.
const ROWS_A_UNIT: usize = 40;
/// Rows that were shown before of which one call is likely to find all.
const ROWS_A_CALL: usize = 8_000;
/// The fewest rows looked up at once later, so that a run of deleted activities does not take a
/// round trip each; twice as many with each look. The most are [`MAX_ROWS_PER_LOOKUP`].
const MIN_ROWS_PER_LOOKUP: usize = 10;
/// The most rows that are looked up at once: what two BatchGetItem calls find if each is of another actor. After a
/// read with too many hidden rows, the next one reads at least this many.
pub(super) const MAX_ROWS_PER_LOOKUP: usize = 100;
/// The most rows that are read at once: 25 read units or so.
pub(super) const MAX_ROWS_PER_READ: usize = 1_000;
/// Rows read for a full page before it is said that there may be more without knowing. The page after
/// it is empty then, if there is nothing.
const BEYOND: usize = 500;

/// A page that was read, and by what.
pub(crate) struct Filled<S: Source> {
    pub(crate) page: Page<S::Shown>,
    /// All rows that were read for it.
    pub(crate) rows: Vec<S::Row>,
}

/// Reads a page, going on with what its source knows.
pub(crate) async fn fill<S: Source>(
    paging: &Paging<'_>,
    source: &mut S,
) -> Result<Filled<S>, DynamoError> {
    Filling::new(paging, source, None).fill().await
}

/// Reads as much of a page as this number of rows holds, in one call of its list.
pub(super) async fn fill_at_once<S: Source>(
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
    /// How many rows to read, if that is known before.
    at_once: Option<usize>,
    items: Vec<(SortKey, S::Shown)>,
    /// Rows read so far, before the stretch that is being looked up.
    passed: usize,
    /// How often rows were looked up.
    looks: u32,
    /// True once there is known to be something beyond the page.
    more: bool,
    /// Up to where rows were looked at.
    end: Option<SortKey>,
    rounds_left: usize,
    units_left: usize,
}

impl<'a, S: Source> Filling<'a, S> {
    fn new(paging: &'a Paging<'_>, source: &'a mut S, at_once: Option<usize>) -> Self {
        let (limit, skipped) = (paging.request.limit, paging.request.skipped());
        // One reading of several.
        let units = if at_once.is_some() { UNITS / 2 } else { UNITS };
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
            units_left: units + limit + skipped / ROWS_A_UNIT,
        }
    }

    async fn fill(mut self) -> Result<Filled<S>, DynamoError> {
        let paging = self.paging;
        let (span, mut after) = paging.request.start(paging.retained_from);
        let mut rows = Vec::new();
        let more = loop {
            let wanted = self.next_stretch();
            let (chunk, _) =
                try_join(self.source.read(span, after.as_deref(), wanted), paging.seen()).await?;
            let RowChunk { rows: some, read, next } = chunk;
            self.spend(1 + read / ROWS_A_UNIT);
            let is_whole = self.take(&paging.unseen::<S>(&some).await?).await?;
            self.passed += read;
            rows.extend(some);
            if self.more || !is_whole {
                break true;
            }
            let Some(next) = next else { break false };
            self.end = SortKey::parse(&next).ok().or(self.end);
            if self.ends_here() {
                break true;
            }
            after = Some(next);
        };
        let oldest_read = rows.iter().map(|row| S::key(row).published_at).min();
        let (limit, mut items) = (paging.request.limit, self.items);
        let end = self.end.filter(|_| more && items.len() < limit);
        items.truncate(limit);
        Ok(Filled { page: Page { items, more, end, oldest_read }, rows })
    }

    /// True if the page is given out although there may be more: it is full, or it has cost enough and says where to go
    /// on.
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

    /// How many rows to read next: at first as many as are wanted, and all that will be skipped because they were seen,
    /// of which one call may not find all; then as many as hold those that are wanted if shown and hidden ones go on in the proportion seen so far.
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

    /// Takes from a stretch what is shown, until it ends or there is one more than the page holds. False if it has cost
    /// enough before.
    async fn take(&mut self, rows: &[S::Row]) -> Result<bool, DynamoError> {
        let mut rest = rows.iter();
        loop {
            let chunk = self.next_chunk(&mut rest);
            // What is beyond a page of a hundred is not looked up: that would take another call.
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

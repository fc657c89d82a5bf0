//! A page as it was answered: its length and order, and which positions belong to it.

use std::collections::BTreeSet;

use super::Instant;
use crate::social::reference::Shown;
use crate::social::walk::Walk;

/// A page as it was answered.
pub(crate) struct Page<'a> {
    pub(crate) walk: &'a Walk,
    /// The last activity of the pages before.
    pub(crate) after: Option<&'a Shown>,
    /// True if the page before was short: this one goes on somewhere behind `after`, and no client can say where.
    pub(crate) after_short: bool,
    pub(crate) limit: usize,
    pub(crate) items: &'a [Shown],
    /// True if it has a `next_cursor`.
    pub(crate) more: bool,
    pub(crate) asked: Instant,
    pub(crate) answered: Instant,
    /// True if the reader's clock was not that of the writers. Then whatever passes out of retention between
    /// question and answer may be shown or not.
    pub(crate) clocks_apart: bool,
    /// True if a query returns few rows. Then a full page may end before it has found out whether anything is beyond.
    pub(crate) short_queries: bool,
}

/// A position in a timeline.
type Position<'a> = (i64, &'a str);

impl Page<'_> {
    /// Whether the page, or what lies beyond it, begins with the first of two positions.
    pub(super) fn before(&self, one: Position<'_>, other: Position<'_>) -> bool {
        if self.walk.newest_first { one > other } else { one < other }
    }

    /// Whether the page has the right length and order, whatever it shows.
    pub(super) fn is_in_order(&self) -> Result<(), String> {
        let count = self.items.len();
        if count > self.limit {
            return Err(format!("has {count} of {}", self.limit));
        }
        let ids: BTreeSet<_> = self.items.iter().map(|shown| &shown.id).collect();
        if ids.len() < count {
            return Err("shows an id twice".to_owned());
        }
        let positions = self.after.into_iter().chain(self.items).map(Shown::position);
        let mut pairs = positions.clone().zip(positions.skip(1));
        let out_of_order = pairs.find(|(one, other)| !self.before(*one, *other));
        out_of_order.map_or(Ok(()), |(one, other)| Err(format!("shows {other:?} behind {one:?}")))
    }

    pub(super) fn shows(&self, id: &str) -> bool {
        self.items.iter().any(|shown| shown.id == id)
    }

    /// Whether an activity at a position belongs to the page or beyond it.
    pub(super) fn is_ahead(&self, position: Position<'_>) -> bool {
        let passed = self.after.is_some_and(|after| !self.before(after.position(), position));
        self.walk.holds(position.0) && !passed
    }

    /// Whether it belongs beyond the page, if that has a `next_cursor`.
    pub(super) fn is_beyond(&self, position: Position<'_>) -> bool {
        let last = self.items.last().map(Shown::position);
        self.is_ahead(position) && last.is_some_and(|last| self.before(last, position))
    }

    /// Whether it belongs to the page. A short page may end anywhere behind what it shows, and the page after that begins there.
    pub(super) fn covers(&self, position: Position<'_>) -> bool {
        let is_left = self.items.is_empty() || self.is_beyond(position);
        let first = self.items.first().map(Shown::position);
        let may_be_passed =
            self.after_short && first.is_none_or(|first| self.before(position, first));
        self.is_ahead(position) && !may_be_passed && !(self.more && is_left)
    }

    /// Whether it is full, so that its `next_cursor` says that there is more.
    pub(super) fn is_full(&self) -> bool {
        self.items.len() == self.limit
    }
}

//! Blocks: items beside a view, for what is too much for one item and yet belongs to it.
//!
//! They are in the partition of their view, and nobody writes them but who writes the view in the same transaction,
//! unless it has not changed since it was read. So whoever has read the view knows which blocks there are and that they
//! stay as they are until the view does not. A repair writes new ones under numbers that no view has reached, and the
//! view then; those of before expire a day later, as somebody may have read the view before it was repaired.
//!
//! A view that has to look at blocks before it goes on says so ([`Blocks::needed_blocks`]). It is then written once for every
//! few of them, so that no invocation has to look at all: another one goes on where it ended.

use super::totals::RUNNING;
use super::{Fold, Write};
use crate::dynamo::item::{Item, Key, Row, number, text};
use crate::dynamo::{Attributes, BatchItem, DynamoError, Limits};

/// Which blocks are wanted: those from one sort key to another, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockRange {
    /// The first sort key.
    pub first: String,
    /// The last one.
    pub last: String,
    /// At most how many at once; as many as a query answers, if nothing is said.
    pub limit: Option<i32>,
}

/// An item that follows from what was decided: it may be written any number of times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivedItem {
    /// Where it is.
    pub key: Key,
    /// Its numbers.
    pub numbers: Vec<(&'static str, i64)>,
    /// Its texts.
    pub texts: Vec<(&'static str, String)>,
    /// True if it is a running total, and these numbers go on from those of the item before it in its partition.
    pub goes_on: bool,
}

impl DerivedItem {
    /// A running total, with its numbers as they are.
    #[must_use]
    pub fn total(key: Key, mut numbers: Vec<(&'static str, i64)>) -> Self {
        numbers.push((RUNNING, 1));
        Self { key, numbers, texts: Vec::new(), goes_on: false }
    }

    /// Its attributes, with those of its key.
    #[must_use]
    pub fn into_item(self) -> Item {
        let mut item = self.key.into_item();
        item.extend(self.numbers.into_iter().map(|(name, value)| (name.to_owned(), number(value))));
        item.extend(self.texts.into_iter().map(|(name, value)| (name.to_owned(), text(value))));
        item
    }
}

impl<'a> BatchItem<'a> for &'a DerivedItem {
    const KEY: [&'static str; 2] = ["pk", "sk"];

    fn key(&self) -> (&'a str, &'a str) {
        (&self.key.pk, &self.key.sk)
    }

    fn is_put(&self) -> bool {
        true
    }

    fn attributes(&self, to: &mut Attributes<'_>) {
        self.numbers.iter().for_each(|(name, value)| to.number(name, *value));
        self.texts.iter().for_each(|(name, value)| to.text(name, value));
    }
}

/// What follows from a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingItems {
    /// Which decisions they were.
    pub decisions: Vec<u64>,
    /// The items.
    pub items: Vec<DerivedItem>,
}

/// What is written beside a view.
#[derive(Debug)]
pub struct SideWrites {
    /// Together with it: blocks that are full, and those that are used up.
    pub writes: Vec<Write>,
    /// Once it is written, if that is too much for one transaction.
    pub pending: Option<PendingItems>,
}

/// A view with blocks.
pub trait Blocks: Fold {
    /// The blocks that have to be looked at before anything else is folded. With `all` also those whose turn comes
    /// when nothing else is left.
    fn needed_blocks(&self, all: bool) -> Option<BlockRange>;

    /// Looks at them, in the order of their sort keys. What comes out has to be written before the view is.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]: a block is not what this view has written.
    fn absorb(
        &mut self,
        blocks: &[Row<'_>],
        is_last: bool,
    ) -> Result<Vec<DerivedItem>, DynamoError>;

    /// What is written beside the view at a key.
    fn side_writes(&mut self, view: &Key, limits: &Limits) -> SideWrites;

    /// What was pending for a decision is written.
    fn mark_written(&mut self, decision: u64) {
        let _ = decision;
    }
}

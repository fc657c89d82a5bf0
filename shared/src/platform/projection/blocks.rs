//! Blocks: items beside a view, for what belongs to the view and does not fit into its item.
//!
//! Blocks are in the partition of their view. They are only written in the transaction that writes the view, under the
//! condition that it has not changed since it was read. So whoever has read the view knows which blocks there are, and
//! that they stay as they are until the view changes. A repair writes new blocks under numbers that no view has reached,
//! and then the view; the old blocks expire a day later, as somebody may have read the view before it was repaired.
//!
//! A view that has to absorb blocks before it goes on says so ([`Blocks::needed_blocks`]). It is then written once for
//! every few of them, so no invocation has to absorb all of them: the next one continues from there.

use super::{Fold, Write};
use crate::platform::dynamo::item::{Item, Key, Row, number, text};
use crate::platform::dynamo::{Attributes, BatchItem, DynamoError, Limits};

/// The blocks from one sort key to another, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockRange {
    pub first: String,
    pub last: String,
    /// The most blocks at once; if `None`, as many as one query returns.
    pub limit: Option<i32>,
}

/// An item that is derived from a decision. Writing it is idempotent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DerivedItem {
    pub key: Key,
    pub numbers: Vec<(&'static str, i64)>,
    pub texts: Vec<(&'static str, String)>,
    /// True for a running total: the numbers are added to those of the item before it in its partition.
    pub goes_on: bool,
}

impl DerivedItem {
    /// A running total with these numbers, to be written as they are.
    pub fn total(key: Key, numbers: Vec<(&'static str, i64)>) -> Self {
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

/// The items that are derived from decisions, to be written after the view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingItems {
    pub decisions: Vec<u64>,
    pub items: Vec<DerivedItem>,
}

/// What is written besides a view.
#[derive(Debug)]
pub struct SideWrites {
    /// In the same transaction: new blocks, and deletions of those that are used up.
    pub writes: Vec<Write>,
    /// After the view, because it may be too much for one transaction.
    pub pending: Option<PendingItems>,
}

/// A view with blocks.
pub trait Blocks: Fold {
    /// The blocks to absorb before anything else is folded. With `all`, also those to absorb when nothing else is left.
    fn needed_blocks(&self, all: bool) -> Option<BlockRange>;

    /// Absorbs blocks, in the order of their sort keys. The returned items have to be written before the view is.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]: a block is not what this view has written.
    fn absorb(
        &mut self,
        blocks: &[Row<'_>],
        is_last: bool,
    ) -> Result<Vec<DerivedItem>, DynamoError>;

    /// What is written besides the view with this key.
    fn side_writes(&mut self, view: &Key, limits: &Limits) -> SideWrites;

    /// Notes that all items of a decision are written.
    fn mark_written(&mut self, decision: u64) {
        let _ = decision;
    }
}

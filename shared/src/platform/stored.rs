//! The declaration of a kind of stored item. It stands next to the item's key (`dynamo::keys`).
//!
//! These follow from the declarations: the kind of an item by its key, its explanation for people, the tables of `docs/LIMITS.md`, the
//! weight that the model test admits, the tombstones that an erasure may leave, and the test of writes over a later version.
//!
//! An id takes 128 bytes, an instant 24, a payload 4,096, names and numbers of one item less than 256.

use std::fmt;

/// The most bytes of an item, unless it is a block.
pub const ROW: usize = 64 * 1024;
/// The most bytes of a block next to a view, and of a row that brings a change back: that row has another row twice, as JSON.
pub const BLOCK: usize = 128 * 1024;

/// The table of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoredIn {
    Timelines,
    Ledger,
    Facts,
    Views,
    DeadLetters,
    Events,
}

/// The effect of this version on an item of a later version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Later {
    /// This version writes over the item and keeps unknown attributes.
    Kept,
    /// Likewise, by the same code as a kind that is `Kept`. No test does it.
    AsOthers,
    /// The item is written once. A second write leaves it unchanged.
    Never,
    /// This version puts the item whole. All its attributes derive from items that are kept.
    Derived,
    /// A delete empties the item.
    Emptied,
}

/// The state of an item after the erasure of its person, tenant or customer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erased {
    /// The item is deleted, or it names no person.
    Gone,
    /// The item has no content, and expires.
    Tombstone,
}

/// A kind of stored item.
#[derive(Debug)]
pub struct Stored {
    pub table: StoredIn,
    /// The name of the kind, distinct within its table.
    pub name: &'static str,
    /// The format strings of its partition key and its sort key.
    pub key: [&'static str; 2],
    /// The most bytes of one such item, as DynamoDB weighs it.
    pub most_bytes: usize,
    /// The cause of its growth.
    pub grows: &'static str,
    /// The effect of one more addition at the bound.
    pub at_bound: &'static str,
    /// The test that reaches the bound.
    pub test: &'static str,
    pub later: Later,
    pub erased: Erased,
    /// Explains the item with a key; `None` for a key of another kind.
    pub says: fn(&str, &str) -> Option<String>,
}

impl fmt::Display for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = match self.table {
            StoredIn::Timelines => "timelines",
            StoredIn::Ledger => "ledger",
            StoredIn::Facts => "facts",
            StoredIn::Views => "views",
            StoredIn::DeadLetters => "dead letters",
            StoredIn::Events => "events",
        };
        write!(f, "{table}: {}", self.name)
    }
}

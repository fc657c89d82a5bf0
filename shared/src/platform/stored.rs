//! What a kind of stored item says of itself, beside its keys (`dynamo::keys`).
//!
//! From these declarations follow which item a key is of, its explanation for people, the tables of `docs/LIMITS.md`, and the tests
//! that weigh all that is stored, look at what an erasure leaves, and let a later version write.
//!
//! An id takes 128 bytes, an instant 24, a payload 4,096, names and numbers of one item less than 256.

use std::fmt;

/// No row grows beyond.
pub const ROW: usize = 64 * 1024;
/// No block beside a view does, and no row that brings a change back: it has another row twice, as JSON.
pub const BLOCK: usize = 128 * 1024;

/// A table, and what is in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoredIn {
    Timelines,
    Ledger,
    Facts,
    Views,
    DeadLetters,
    Events,
}

/// What becomes of an item that a later version has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Later {
    /// It is written over here, and keeps what is not known.
    Kept,
    /// As others are: it is written over by the code of a kind that is kept.
    AsOthers,
    /// It is written once. Where that is done again it stays as it is.
    Never,
    /// It is put whole, and has nothing that is not made of something else that is kept.
    Derived,
    /// It is emptied, of all that it says: somebody has deleted it.
    Emptied,
}

/// What is left of an item after its person, tenant or customer was erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Erased {
    /// Nothing; or the item names nobody.
    Gone,
    /// An item without content, until it expires.
    Tombstone,
}

/// A kind of stored item.
#[derive(Debug)]
pub struct Stored {
    pub table: StoredIn,
    /// What it is called among the items of its table.
    pub name: &'static str,
    /// The format strings of its partition key and its sort key.
    pub key: [&'static str; 2],
    /// The most bytes of one such item, as DynamoDB weighs it.
    pub most_bytes: usize,
    pub grows: &'static str,
    /// What happens where it would grow beyond.
    pub at_bound: &'static str,
    /// The test that shows it.
    pub test: &'static str,
    pub later: Later,
    pub erased: Erased,
    /// What the item with a key is; `None` if it is of another kind.
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

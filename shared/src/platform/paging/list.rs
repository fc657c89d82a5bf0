//! The list that a cursor is bound to.

use std::fmt::Display;

use super::seen_sets::seen_sets;
use crate::platform::values::ViewerId;

/// A list that is read by pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List {
    name: String,
    seen_sets: String,
}

impl List {
    pub fn timeline(viewer: &ViewerId) -> Self {
        Self::named(viewer.to_string(), seen_sets(viewer))
    }

    /// Another list of a kind about a person. No id contains `#`, so no two lists have one name.
    pub fn about(kind: &'static str, person: impl Display) -> Self {
        Self::named(format!("{kind}#{person}"), seen_sets(person))
    }

    /// A list that is not about one person: its unique name, which has a `#`, and the partition with what its clients have seen.
    pub fn named(name: String, seen_sets: String) -> Self {
        Self { name, seen_sets }
    }

    /// The name that its cursors are sealed with.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The partition of the ledger with what its clients have seen.
    pub fn seen_sets(&self) -> &str {
        &self.seen_sets
    }
}

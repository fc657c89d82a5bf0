//! Item collections, and what is asked of them within a tick.

use crate::partition::Units;
use crate::space::Span;
use crate::table::Want;

/// Seconds of a tick.
pub const TICK: f64 = 0.1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableId {
    Timelines,
    Ledger,
    /// The ledger's index of edges by follower.
    Index,
}

/// A named item collection, or all that go by one name.
#[derive(Debug, Clone, Copy)]
pub struct Collection {
    pub name: &'static str,
    pub table: TableId,
    pub span: Span,
}

impl Collection {
    /// Wants units of some of its keys.
    #[must_use]
    pub fn want(self, units: Units, span: Span, amount: f64) -> Ask {
        Ask { collection: self, want: Want { units, span, amount } }
    }
}

/// Some units of a collection wanted within a tick.
#[derive(Debug, Clone, Copy)]
pub struct Ask {
    pub collection: Collection,
    pub want: Want,
}

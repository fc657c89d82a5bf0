//! Follows: edges from followers to followees.
//!
//! ```text
//! command   follow.created, follow.deleted
//! state     which of them wins, whatever order they arrive in
//! keys      where edges are in the ledger; ranges of an actor's followers
//! store     one edge
//! hidden    whose entries a viewer is not shown
//! edges     the followers of an actor, page by page
//! ```

mod command;
mod edges;
mod hidden;
pub mod keys;
mod state;
mod store;

pub use command::FollowChange;
pub use edges::{EDGES_QUERY, Edge, EdgePage, EdgesQuery};
pub use hidden::{HiddenActors, marks_of};
pub use keys::{FollowerRange, FollowerRangeError};
pub use state::FollowState;
pub use store::read_state;

use crate::ledger::Ledger;

/// Who follows whom. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Follows {
    ledger: Ledger,
}

impl Follows {
    /// The follows in this ledger.
    #[must_use]
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }
}

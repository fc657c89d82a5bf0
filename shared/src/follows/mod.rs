//! Follows: edges from followers to followees.
//!
//! ```text
//! command   follow.created, follow.deleted
//! state     which of them wins, whatever order they arrive in
//! keys      where edges are in the ledger; ranges of an actor's followers
//! store     one edge
//! following a row behind each edge, which lists whom a viewer follows
//! lists     whom a viewer follows, and who follows an actor, for those who ask
//! hidden    whose entries a viewer is not shown
//! hiding    how that changes with the edges
//! edges     the followers of an actor, page by page, for fan-outs
//! ```

mod command;
mod edges;
mod following;
mod hidden;
mod hiding;
pub mod keys;
mod lists;
mod state;
mod store;

pub use command::FollowChange;
pub use edges::{EDGES_QUERY, Edge, EdgePage, EdgesQuery};
pub use following::{FolloweeRow, TOMBSTONE_KEPT};
pub use hidden::{HiddenActors, HiddenChange, marks_of};
pub use keys::{FollowerRange, FollowerRangeError};
pub use lists::{ListPage, Listed};
pub use state::FollowState;
pub use store::{EdgeState, read_state};

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

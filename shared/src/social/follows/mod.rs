//! Follows: edges from followers to followees.
//!
//! ```text
//! command       follow.created, follow.deleted
//! keys          the keys of edges in the ledger; ranges of followers
//! store         one edge
//! following     a row for each edge, by viewer
//! lists         pages of the actors that a viewer follows, and of the followers of an actor
//! hidden        actors whose entries a viewer is not shown
//! hiding        changes hidden actors together with the edges
//! idle_viewers  viewers who have not read for a while, for whom nothing is written
//! edges         the followers of an actor, page by page, for fan-outs
//! ```

mod command;
mod edges;
mod following;
mod hidden;
mod hiding;
pub mod idle_viewers;
pub mod keys;
mod lists;
mod store;

pub use command::FollowChange;
pub use edges::{Edge, EdgePage};
pub use following::FolloweeRow;
pub use hidden::{HiddenActors, HiddenChange, marks_of};
pub use idle_viewers::{IdleState, IdleViewers, ReturnPosition};
pub use keys::{FollowerRange, FollowerRangeError};
pub use lists::{ListPage, ListedPerson};
pub use store::{EDGE, EdgeState, RecordedFollow};

use crate::platform::ledger::Ledger;

/// The follows of a ledger. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Follows {
    ledger: Ledger,
}

impl Follows {
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }
}

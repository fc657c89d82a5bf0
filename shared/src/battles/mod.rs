//! Battles: a boss, hits that land one after another, and exactly one last hit.
//!
//! ```text
//! commands   battle.opened, battle.hit
//! facts      what was opened; one row for each hit, under its id
//! views      one item for a battle, a log of what landed, and for each viewer what of it is theirs
//! ```
//!
//! # Order
//!
//! A hit is on record once it is a row; its id makes it one, however often it is delivered. It lands when it is
//! folded into the view of its battle. That view is written under the condition that nobody has written it since it
//! was read ([`crate::projection`]), so there is one order, whichever functions fold at once and however batches are
//! cut and repeated: a hit that has landed is below the high-water mark of its shard, and is passed.
//!
//! A hit that is folded when no hit points are left is late. Nothing is written of it. Once the boss is defeated the log
//! stays as it is, so every hit on record that is not in the log is late.
//!
//! # Throughput
//!
//! All hits of a batch land with one write of the view and a block or some of the log: some thousand of them. What each
//! viewer is shown of their own hits is written then, to items that no other viewer has a part in, before the next lands.
//!
//! Hits that come before their battle wait in blocks beside its view ([`crate::projection::Waiting`]), and land in the
//! order in which they came.

mod command;
mod definition;
pub mod erasure;
pub mod keys;
pub mod log;
mod replay;
mod state;
mod store;
mod viewer_hits;

pub use command::{BattleHit, BattleOpened, MAX_DAMAGE, MAX_HP};
pub use definition::{Definition, Hit, VIEWER};
pub use keys::BattleRow;
pub use log::Landed;
pub use replay::{BattleStatus, Contradiction, Replay, Total};
pub use state::BattleState;
pub use store::{Battle, Battles, HitState};
pub use viewer_hits::{Shown, ViewerHits, ViewerHitsItem, numbered, read_number};

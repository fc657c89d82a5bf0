//! Battles: a boss, hits that land one after another, and exactly one last hit.
//!
//! ```text
//! commands   battle.opened, battle.hit
//! facts      what was opened; one row for each hit, under its id
//! views      one item for a battle, a log of the hits that landed, and totals for each viewer
//! ```
//!
//! # Order
//!
//! A hit is on record once it has a row. Its id is the key, so it has one row however often it is delivered. It lands when it is
//! folded into the view of its battle. That view is written under the condition that nobody has written it since it was read
//! ([`crate::platform::projection`]). So there is one order, whichever functions fold at once and however batches are cut and repeated: a hit
//! that has landed is not above the high-water mark of its shard, and is skipped.
//!
//! A hit that is folded when no hit points are left is late, and nothing is written for it. Once the boss is defeated the log does
//! not change, so every hit on record that is not in the log is late.
//!
//! # Throughput
//!
//! All hits of a batch, about a thousand, land with one write of the view and of a few blocks of the log. Then the totals of each
//! viewer are written, to items of that viewer alone, before the next hit lands.
//!
//! Hits that come before their battle wait in blocks beside its view ([`crate::platform::projection::Waiting`]), and land in the
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
pub use definition::{BattleDefinition, Hit, VIEWER};
pub use keys::BattleRow;
pub use log::Landed;
pub use replay::{BattleStatus, Contradiction, Replay};
pub use state::BattleState;
pub use store::{Battle, Battles, HitState};
pub use viewer_hits::{Shown, ViewerHits, numbered, read_number};

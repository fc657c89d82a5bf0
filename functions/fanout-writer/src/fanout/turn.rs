//! The turns of a process: one delivery at a time works on the same followers of one activity.
//!
//! A person who repeats a publish faster than its fan-out ends would have each repetition write to all followers. One that
//! waits finds what is noted of the one before it, or that its segments wait in the queue. Only time depends on this, and other processes do not know of it.

use std::sync::Arc;

use shared::platform::runtime::keyed::{Held, Keyed};
use shared::social::activities::ActivityKey;
use shared::social::fanout::FanOutKind;
use shared::social::follows::FollowerRange;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::context::Context;

type Followers = (ActivityKey, FanOutKind, FollowerRange);

/// The turns of a process. Clones share them.
pub type Turns = Keyed<Followers, Arc<Mutex<Left>>>;

/// What one turn leaves to those that wait for the next.
#[derive(Debug, Default)]
pub struct Left {
    /// The queue has taken all segments of the fan-out.
    pub(crate) are_sent: bool,
}

/// A turn, which ends when this is dropped. The guard is dropped first, so that whoever comes meanwhile finds it.
pub(crate) struct Turn {
    pub(crate) left: OwnedMutexGuard<Left>,
    _held: Held<Followers, Arc<Mutex<Left>>>,
}

/// Waits for the turn of these followers, for as long as work may begin at most: after that, work is handed on anyway.
pub(crate) async fn turn(
    cx: &Context,
    key: &ActivityKey,
    kind: FanOutKind,
    followers: FollowerRange,
) -> Option<Turn> {
    let held = cx.turns.hold((key.clone(), kind, followers));
    let left = cx.delivery.checkpoint_at.bound(Arc::clone(&held).lock_owned()).await.ok()?;
    Some(Turn { left, _held: held })
}

//! The turns of a process: one delivery at a time works on the same followers of one activity.
//!
//! Without turns, each repetition of a publish would write to all followers until the first fan-out has ended. With them, a
//! repetition waits, and then finds the note of the delivery before it, or its segments in the queue. A turn saves work. It is
//! no lock for correctness: other processes do not know of it.

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

/// The state that a turn hands over to the next one.
#[derive(Debug, Default)]
pub struct Left {
    /// The queue has taken all segments of the fan-out.
    pub(crate) are_sent: bool,
}

/// A turn. It ends when this is dropped. The guard is dropped before the entry, so a new delivery finds the entry of a turn that has not ended.
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

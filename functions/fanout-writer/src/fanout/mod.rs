//! The fan-out of one activity to its actor's followers.
//!
//! ```text
//! start     every follower: few at once, many in segments
//! segment   a range of followers, page after page
//! turn      a repetition waits for the delivery before it
//! limits    the sizes of its pieces
//! page      some followers' timelines
//! recheck   what crashed deliveries may have left in a range
//! ```

pub(crate) mod limits;
mod page;
mod recheck;
mod segment;
mod start;
mod turn;

pub use turn::Turns;
pub(crate) use turn::turn;

use std::sync::atomic::AtomicBool;

use shared::platform::runtime::deadline::Deadline;
use shared::platform::values::{SortKey, Timestamp};
use shared::social::activities::ActivityKey;
use shared::social::fanout::FanOutKind;

use crate::context::Context;
use crate::disposition::FanOutEnd;

/// The fan-out of one activity.
pub(crate) struct FanOut<'a> {
    cx: &'a Context,
    key: ActivityKey,
    sort_key: SortKey,
    kind: FanOutKind,
    /// After more entries than this, its end is noted.
    noted_beyond: usize,
    /// True if it takes long, so that it gives way to others.
    bulk: AtomicBool,
    /// The printed sort key, as entries have it.
    entry_key: String,
}

impl<'a> FanOut<'a> {
    pub(crate) fn new(
        cx: &'a Context,
        key: ActivityKey,
        sort_key: SortKey,
        kind: FanOutKind,
        noted_beyond: usize,
    ) -> Self {
        let (entry_key, bulk) = (sort_key.to_string(), AtomicBool::new(false));
        Self { cx, key, sort_key, kind, noted_beyond, bulk, entry_key }
    }

    fn end(&self, entries: u64, begun_at: Timestamp) -> FanOutEnd {
        let now = self.cx.clock.now();
        let inserted = self.kind == FanOutKind::Insert && entries > 0;
        FanOutEnd {
            entries,
            took: now.since(begun_at),
            latency: inserted.then(|| now.since(self.sort_key.published_at)),
        }
    }

    fn deadline(&self) -> Deadline {
        self.cx.delivery.deadline
    }
}

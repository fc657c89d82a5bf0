//! Counts that a reader has kept: for [`KEPT_FOR`] they are shown as they were read.
//!
//! A count is a projection, so it is behind its facts anyway. The page puts the caller's own like, as it is on record, in the place of what the view
//! has counted of them. Why the two agree is argued in [`recent`](crate::projection::recent). The argument needs no bound on the age of the view, so it
//! holds for a view that was kept.
//!
//! What is kept is a few hundred bytes for each activity, at most 16,384 of them.

use std::time::Duration;

use lru::LruCache;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::LikeCount;
use crate::values::{ActivityId, Timestamp};

/// For how long a count is shown.
pub const KEPT_FOR: Duration = Duration::from_millis(500);
/// Of how many activities.
const MOST: usize = 16_384;

/// Counts of likes, the least recently used of which make room for others. Shared by all requests of a process.
#[derive(Debug)]
pub struct LikeCountCache {
    kept_for: Duration,
    counts: Mutex<LruCache<ActivityId, CachedCount>>,
}

#[derive(Debug)]
struct CachedCount {
    /// What was read; of an activity that nobody ever liked, nothing is counted.
    count: LikeCount,
    read_at: DualInstant,
}

/// A moment by both clocks: one of them may stand still while a process is frozen.
#[derive(Debug, Clone, Copy)]
pub(super) struct DualInstant(Instant, Timestamp);

impl DualInstant {
    pub(super) fn now(time: Timestamp) -> Self {
        Self(Instant::now(), time)
    }

    fn is_within(self, length: Duration, now: Self) -> bool {
        let Self(instant, time) = self;
        now.1 >= time && now.0.duration_since(instant).max(now.1.since(time)) < length
    }
}

impl Default for LikeCountCache {
    fn default() -> Self {
        Self::keeping_for(KEPT_FOR)
    }
}

impl LikeCountCache {
    /// Counts that are shown for this long; for no time at all, nothing is kept.
    #[must_use]
    pub fn keeping_for(kept_for: Duration) -> Self {
        Self { kept_for, counts: Mutex::new(LruCache::unbounded()) }
    }

    /// What may be shown of an activity still.
    pub(super) fn get(&self, activity: &ActivityId, now: DualInstant) -> Option<LikeCount> {
        let mut counts = self.counts.lock();
        let kept = counts.get(activity)?;
        kept.read_at.is_within(self.kept_for, now).then(|| kept.count.clone())
    }

    /// Keeps what was asked for at a moment.
    pub(super) fn keep(&self, activity: &ActivityId, count: &LikeCount, read_at: DualInstant) {
        if self.kept_for.is_zero() {
            return;
        }
        let mut counts = self.counts.lock();
        counts.put(activity.clone(), CachedCount { count: count.clone(), read_at });
        while counts.len() > MOST {
            counts.pop_lru();
        }
    }
}

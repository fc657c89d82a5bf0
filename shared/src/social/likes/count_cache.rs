//! A cache of counts: for [`KEPT_FOR`] they are shown as they were read.
//!
//! A count is a projection, so it is behind its facts anyway. The page replaces what the view has counted of the caller by the
//! caller's own like on record. [`recent`](crate::platform::projection::caller_part) argues why the two agree. The argument needs no bound on the
//! age of the view, so it holds for a cached view.
//!
//! The cache takes a few hundred bytes for each activity, for at most 16,384 of them.

use std::time::Duration;

use lru::LruCache;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::LikeCount;
use crate::platform::values::{ActivityId, Timestamp};

/// How long a count is shown.
pub const KEPT_FOR: Duration = Duration::from_millis(500);
/// The most activities in the cache.
const MOST: usize = 16_384;

/// An LRU cache of counts of likes. Shared by all requests of a process.
#[derive(Debug)]
pub struct LikeCountCache {
    kept_for: Duration,
    counts: Mutex<LruCache<ActivityId, CachedCount>>,
}

#[derive(Debug)]
struct CachedCount {
    /// The count; empty if nobody ever liked the activity.
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
    /// A cache whose counts are shown for this long; zero disables it.
    pub fn keeping_for(kept_for: Duration) -> Self {
        Self { kept_for, counts: Mutex::new(LruCache::unbounded()) }
    }

    /// The count of an activity, unless it is too old.
    pub(super) fn get(&self, activity: &ActivityId, now: DualInstant) -> Option<LikeCount> {
        let mut counts = self.counts.lock();
        let kept = counts.get(activity)?;
        kept.read_at.is_within(self.kept_for, now).then(|| kept.count.clone())
    }

    /// Caches a count that was requested at `read_at`.
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

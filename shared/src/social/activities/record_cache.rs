//! A cache of records: a reader does not read a record again, as long as the [change log](super::changes) says that it was not
//! changed.
//!
//! A record is cached together with the reading of the log that was made before it. A change that no later reading of the log shows
//! is not acknowledged yet, so a cached record is right at the moment of the latest reading, however old it is. Each page reads the
//! log, so a process that was frozen finds out what it has missed before it shows anything.
//!
//! Only what can be shown is cached: no deleted activities, and none that were never published.
//!
//! # Another table under the same name
//!
//! The cache is of one table, and a restore replaces that by another one with an earlier state. Its log may have reached the same
//! count, which its marks show ([`changes`](super::changes)). Or it is behind what this process has seen. Requests of one process may
//! report their readings in another order than they made them, so an older reading alone proves nothing. But a reading that is older
//! than what was seen *before it was requested* is of another table, and clears the cache.
//!
//! If nothing was edited between the restored state and the restore, both logs are the same, but activities that were published in
//! between are gone. A table cannot be deleted and another made under its name within [`LONGEST_GAP`], so a process that has not read
//! the log for that long clears its cache. Each page with rows reads the log; a process with only empty polls clears its cache.

use std::mem::size_of;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lru::LruCache;
use parking_lot::Mutex;

use super::changes::{ActivityFingerprint, Changes};
use super::{ActivityKey, Published};
use crate::platform::runtime::clock::Clock;
use crate::platform::values::Timestamp;

/// The default size of the cache, in bytes.
const ROOM: usize = 64 * 1024 * 1024;
/// Two readings of the log this far apart may be of two tables. DynamoDB takes seconds to delete a table and seconds
/// to make an empty one; a restore takes minutes.
const LONGEST_GAP: Duration = Duration::from_secs(10);
/// The overhead of a cached record besides its texts: pointers, sizes, and rounding by the allocator.
const OVERHEAD: usize = size_of::<CachedRecord>() + 128;

/// An LRU cache of records of published activities. Shared by all requests of a process.
#[derive(Debug)]
pub struct RecordCache {
    room: usize,
    longest_gap: Duration,
    inner: Mutex<RecordCacheInner>,
}

#[derive(Debug)]
struct RecordCacheInner {
    /// Which copy of the log is read: the first, until it has said how many there are.
    copy: usize,
    /// The latest reading of the log.
    seen: Option<Arc<Changes>>,
    /// When that began.
    seen_at: Option<ReadingInstant>,
    records: LruCache<ActivityFingerprint, CachedRecord>,
    bytes: usize,
}

/// A reading of the change log that has begun: what it is of, and what was known before it.
#[derive(Debug, Clone)]
pub struct LogReading {
    copy: usize,
    seen: Option<Arc<Changes>>,
    at: ReadingInstant,
}

/// A moment by both clocks: one of them may stand still while a process is frozen.
#[derive(Debug, Clone, Copy)]
struct ReadingInstant(Instant, Timestamp);

impl ReadingInstant {
    fn now() -> Self {
        Self(Instant::now(), Clock::system().now())
    }

    fn age(self) -> Duration {
        let Self(instant, time) = self;
        instant.elapsed().max(Clock::system().now().since(time))
    }
}

impl LogReading {
    /// Which copy is to be read.
    pub fn copy(&self) -> usize {
        self.copy
    }
}

#[derive(Debug)]
struct CachedRecord {
    key: ActivityKey,
    published: Published,
}

impl Default for RecordCache {
    fn default() -> Self {
        Self::new(ROOM)
    }
}

impl RecordCache {
    /// Room for this many bytes of records, and none yet.
    pub fn new(room: usize) -> Self {
        let records = LruCache::unbounded();
        let inner = RecordCacheInner { copy: 0, seen: None, seen_at: None, records, bytes: 0 };
        Self { room, longest_gap: LONGEST_GAP, inner: Mutex::new(inner) }
    }

    /// The same, over tables that may be replaced faster than DynamoDB's.
    #[must_use]
    pub fn with_longest_gap(self, longest_gap: Duration) -> Self {
        Self { longest_gap, ..self }
    }

    /// Begins a reading of the change log.
    pub fn begin(&self) -> LogReading {
        let inner = self.inner.lock();
        LogReading { copy: inner.copy, seen: inner.seen.clone(), at: ReadingInstant::now() }
    }

    /// Takes in a reading of a copy of the change log: what has changed since the one before is forgotten, or all
    /// of it if that is not known.
    pub fn observe(&self, reading: &LogReading, changes: &Changes) {
        let inner = &mut *self.inner.lock();
        let LogReading { copy, seen: before, at } = reading;
        if *copy != inner.copy {
            return;
        }
        if inner.seen.is_none() && *copy == 0 {
            // From the next page on.
            inner.copy = fastrand::usize(..changes.copies().get());
            if inner.copy != 0 {
                return;
            }
        }
        let is_near = inner.seen_at.is_none_or(|seen_at| seen_at.age() < self.longest_gap);
        let goes_on =
            is_near && before.as_ref().is_none_or(|before| changes.since(before).is_some());
        if let Some(seen) = &inner.seen {
            match changes.since(seen) {
                Some(changed) if goes_on => {
                    let changed = changed.to_vec();
                    changed.into_iter().for_each(|changed| inner.forget(changed));
                }
                // Requests of one process may take in their readings in another order than they made them.
                None if goes_on && seen.since(changes).is_some() => return,
                _ => {
                    inner.records.clear();
                    inner.bytes = 0;
                }
            }
        }
        (inner.seen, inner.seen_at) = (Some(Arc::new(changes.clone())), Some(*at));
    }

    /// The content of an activity, if its record is kept. It is right at the moment of the latest reading that
    /// was [observed](Self::observe).
    pub fn get(&self, key: &ActivityKey) -> Option<Published> {
        let mut inner = self.inner.lock();
        let kept = inner.records.get(&ActivityFingerprint::of(key)).filter(|kept| kept.key == *key);
        kept.map(|kept| kept.published.clone())
    }

    /// Keeps the content of an activity whose record was read after a reading of the log, unless it may have
    /// changed since.
    pub fn keep(&self, key: &ActivityKey, published: &Published, before: &Changes) {
        let fingerprint = ActivityFingerprint::of(key);
        let inner = &mut *self.inner.lock();
        let Some(changed) = inner.seen.as_ref().and_then(|seen| seen.since(before)) else { return };
        if changed.contains(&fingerprint) {
            return;
        }
        let kept = CachedRecord { key: key.clone(), published: published.clone() };
        inner.forget(fingerprint);
        inner.bytes += kept.bytes();
        inner.records.put(fingerprint, kept);
        while inner.bytes > self.room {
            let Some((_, gone)) = inner.records.pop_lru() else { break };
            inner.bytes -= gone.bytes();
        }
    }
}

impl RecordCacheInner {
    fn forget(&mut self, fingerprint: ActivityFingerprint) {
        if let Some(gone) = self.records.pop(&fingerprint) {
            self.bytes -= gone.bytes();
        }
    }
}

impl CachedRecord {
    fn bytes(&self) -> usize {
        let Self { key, published } = self;
        let ids = key.activity_id.as_str().len() + key.actor_id.as_str().len();
        OVERHEAD + ids + published.kind.as_str().len() + published.payload.as_json().len()
    }
}

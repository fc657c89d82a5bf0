//! Records that a reader has kept: what it has read once is not read again, as long as the [change log](super::changes)
//! says that nothing was changed.
//!
//! A record is kept under the reading of the log that was made before it was read. A change that no later
//! reading of the log shows was not acknowledged yet, so a kept record is right at the moment of the latest
//! reading, however long ago it was read itself. Each page reads the log, so a process that was frozen learns
//! what it has missed before it shows anything.
//!
//! What nobody publishes any more, and what was never published, is not kept: only what can be shown is.

use std::mem::size_of;

use lru::LruCache;
use parking_lot::Mutex;

use super::changes::{Changes, Fingerprint};
use super::{ActivityKey, Published};

/// Memory for records, in bytes, unless said otherwise.
const ROOM: usize = 64 * 1024 * 1024;
/// What keeping a record takes besides its texts: pointers, sizes, and what the allocator rounds up to.
const OVERHEAD: usize = size_of::<Kept>() + 128;

/// Records of published activities, the least recently used of which make room for others. Shared by all
/// requests of a process.
#[derive(Debug)]
pub struct KeptRecords {
    room: usize,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// Which copy of the log is read: the first, until it has said how many there are.
    copy: usize,
    /// The latest reading of the log.
    seen: Option<Changes>,
    records: LruCache<Fingerprint, Kept>,
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    key: ActivityKey,
    published: Published,
}

impl Default for KeptRecords {
    fn default() -> Self {
        Self::new(ROOM)
    }
}

impl KeptRecords {
    /// Room for this many bytes of records, and none yet.
    #[must_use]
    pub fn new(room: usize) -> Self {
        let inner = Inner { copy: 0, seen: None, records: LruCache::unbounded(), bytes: 0 };
        Self { room, inner: Mutex::new(inner) }
    }

    /// Which copy of the change log is to be read.
    #[must_use]
    pub fn copy(&self) -> usize {
        self.inner.lock().copy
    }

    /// Takes in a reading of a copy of the change log: what has changed since the one before is forgotten, or all
    /// of it if that is not known.
    pub fn observe(&self, copy: usize, changes: &Changes) {
        let inner = &mut *self.inner.lock();
        if copy != inner.copy {
            return;
        }
        if inner.seen.is_none() && copy == 0 {
            // From the next page on.
            inner.copy = fastrand::usize(..changes.copies().get());
            if inner.copy != 0 {
                return;
            }
        }
        if let Some(seen) = &inner.seen {
            match changes.since(seen) {
                Some(changed) => changed.iter().for_each(|changed| inner.forget(*changed)),
                // Requests of one process may take in their readings in another order than they made them.
                None if seen.since(changes).is_some() => return,
                None => inner.forget_all(),
            }
        }
        inner.seen = Some(changes.clone());
    }

    /// The content of an activity, if its record is kept. It is right at the moment of the latest reading that
    /// was [observed](Self::observe).
    #[must_use]
    pub fn get(&self, key: &ActivityKey) -> Option<Published> {
        let mut inner = self.inner.lock();
        let kept = inner.records.get(&Fingerprint::of(key)).filter(|kept| kept.key == *key);
        kept.map(|kept| kept.published.clone())
    }

    /// Keeps the content of an activity whose record was read after a reading of the log, unless it may have
    /// changed since.
    pub fn keep(&self, key: &ActivityKey, published: &Published, before: &Changes) {
        let fingerprint = Fingerprint::of(key);
        let inner = &mut *self.inner.lock();
        let Some(changed) = inner.seen.as_ref().and_then(|seen| seen.since(before)) else { return };
        if changed.contains(&fingerprint) {
            return;
        }
        let kept = Kept { key: key.clone(), published: published.clone() };
        inner.forget(fingerprint);
        inner.bytes += kept.bytes();
        inner.records.put(fingerprint, kept);
        while inner.bytes > self.room {
            let Some((_, gone)) = inner.records.pop_lru() else { break };
            inner.bytes -= gone.bytes();
        }
    }
}

impl Inner {
    fn forget(&mut self, fingerprint: Fingerprint) {
        if let Some(gone) = self.records.pop(&fingerprint) {
            self.bytes -= gone.bytes();
        }
    }

    fn forget_all(&mut self) {
        self.records.clear();
        self.bytes = 0;
    }
}

impl Kept {
    fn bytes(&self) -> usize {
        let Self { key, published } = self;
        let ids = key.activity_id.as_str().len() + key.actor_id.as_str().len();
        OVERHEAD + ids + published.kind.as_str().len() + published.payload.as_json().len()
    }
}

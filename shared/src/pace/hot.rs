//! Viewers whose partitions are busy.
//!
//! A partition takes 1,000 writes a second whatever its table takes, so a viewer who is written to
//! that fast (a backfill) is refused in every fan-out, for minutes. That is no sign of a slow
//! table. From one refusal nobody can tell the two apart; an entry that was sent apart and refused
//! again, while the pace goes on, is its partition's.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::time::Duration;

use foldhash::fast::RandomState;
use tokio::time::Instant;

/// So many are remembered.
const MOST: usize = 4_096;
/// For how long after its last refusal a viewer counts as hot.
const COOLS: Duration = Duration::from_secs(30);

/// By the hashes of their ids.
#[derive(Debug, Default)]
pub(super) struct HotViewers {
    since: HashMap<u64, Instant>,
    hasher: RandomState,
}

impl HotViewers {
    pub(super) fn contains(&self, viewer: &str, now: Instant) -> bool {
        let found = self.since.get(&self.hasher.hash_one(viewer));
        found.is_some_and(|refused| now - *refused < COOLS)
    }

    /// It was refused just now.
    pub(super) fn insert(&mut self, viewer: &str, now: Instant) {
        if self.since.len() >= MOST {
            self.since.retain(|_, refused| now - *refused < COOLS);
        }
        if self.since.len() < MOST {
            self.since.insert(self.hasher.hash_one(viewer), now);
        }
    }
}

//! Busy partitions.
//!
//! A partition takes 1,000 writes a second whatever its table takes, so one that is written to that fast
//! (a backfill) refuses items of every batch, for minutes. That is no sign of a slow table. One refusal
//! does not tell the two apart; an item that was sent apart and refused again, while the pace goes on, is
//! its partition's.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::time::Duration;

use foldhash::fast::RandomState;
use tokio::time::Instant;

/// This many are remembered.
const MOST: usize = 4_096;
/// For how long after its last refusal a partition counts as hot.
const COOLS: Duration = Duration::from_secs(30);

/// By the hashes of their keys.
#[derive(Debug, Default)]
pub(super) struct HotPartitions {
    since: HashMap<u64, Instant>,
    hasher: RandomState,
}

impl HotPartitions {
    pub(super) fn contains(&self, partition: &str, now: Instant) -> bool {
        let found = self.since.get(&self.hasher.hash_one(partition));
        found.is_some_and(|refused| now - *refused < COOLS)
    }

    /// It was refused just now.
    pub(super) fn insert(&mut self, partition: &str, now: Instant) {
        if self.since.len() >= MOST {
            self.since.retain(|_, refused| now - *refused < COOLS);
        }
        if self.since.len() < MOST {
            self.since.insert(self.hasher.hash_one(partition), now);
        }
    }
}

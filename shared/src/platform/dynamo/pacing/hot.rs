//! Busy partitions.
//!
//! A partition takes 1,000 writes a second whatever its table takes. So a partition that is written to that fast (a backfill)
//! refuses items of every batch, for minutes, which does not mean that the table is slow. One refusal does not tell the two
//! apart. An item that was sent apart and refused again, while the pace continues, was refused by its partition.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::time::Duration;

use foldhash::fast::RandomState;
use tokio::time::Instant;

/// The number of partitions remembered.
const MOST: usize = 4_096;
/// How long a partition counts as hot after its last refusal.
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

    /// Notes that a partition was refused just now.
    pub(super) fn insert(&mut self, partition: &str, now: Instant) {
        if self.since.len() >= MOST {
            self.since.retain(|_, refused| now - *refused < COOLS);
        }
        if self.since.len() < MOST {
            self.since.insert(self.hasher.hash_one(partition), now);
        }
    }
}

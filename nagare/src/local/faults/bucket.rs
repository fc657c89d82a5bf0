//! Token buckets, as DynamoDB has them: for a table, and for each partition of it.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

use super::demand::{Demand, Units};
use super::settings::Rates;

/// Partitions that are remembered. A bucket that is dropped has had time to fill up.
const MOST_PARTITIONS: usize = 10_000;

/// A bucket that holds one second's worth.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bucket {
    level: f64,
    filled_at: Instant,
}

impl Bucket {
    /// A full bucket.
    pub(crate) fn full(rate: f64, now: Instant) -> Self {
        Self { level: rate, filled_at: now }
    }

    /// Adds what has come in since it was last filled.
    pub(crate) fn fill(&mut self, rate: f64, now: Instant) {
        let since = now.saturating_duration_since(self.filled_at);
        self.level = (self.level + since.as_secs_f64() * rate).min(rate);
        self.filled_at = now;
    }

    /// Takes `wanted` units, or as many as there are. Returns how many.
    pub(crate) fn take(&mut self, wanted: usize) -> usize {
        let taken = wanted.min(self.level as usize);
        self.level -= taken as f64;
        taken
    }
}

/// The buckets of all tables.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    tables: HashMap<(Units, String), Bucket>,
    partitions: HashMap<(Units, String, String), Bucket>,
}

impl Buckets {
    /// Takes what a call demands, item by item, until a bucket is empty. Returns how many items are
    /// granted.
    pub(super) fn take(&mut self, rates: &Rates, demand: &Demand, now: Instant) -> usize {
        let (of_table, of_partition) = rates.of(demand.units);
        self.forget(now);
        let granted = demand.items.iter().take_while(|(table, partition)| {
            let table_key = (demand.units, table.clone());
            let partition_key = (demand.units, table.clone(), partition.clone());
            let levels = [
                of_table.map(|rate| level(&mut self.tables, table_key, rate, now)),
                of_partition.map(|rate| level(&mut self.partitions, partition_key, rate, now)),
            ];
            let granted = levels.iter().flatten().all(|level| **level >= 1.0);
            if granted {
                levels.into_iter().flatten().for_each(|level| *level -= 1.0);
            }
            granted
        });
        granted.count()
    }

    fn forget(&mut self, now: Instant) {
        if self.partitions.len() > MOST_PARTITIONS {
            let fresh = |bucket: &Bucket| now - bucket.filled_at < Duration::from_secs(1);
            self.partitions.retain(|_, bucket| fresh(bucket));
        }
    }
}

fn level<K: std::hash::Hash + Eq>(
    buckets: &mut HashMap<K, Bucket>,
    key: K,
    rate: f64,
    now: Instant,
) -> &mut f64 {
    let bucket = buckets.entry(key).or_insert_with(|| Bucket::full(rate, now));
    bucket.fill(rate, now);
    &mut bucket.level
}

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
    /// granted. What cannot be divided and is not granted whole takes nothing.
    pub(super) fn take(&mut self, rates: &Rates, demand: &Demand, now: Instant) -> usize {
        self.forget(now);
        let granted = self.take_items(rates, demand, now);
        if granted == demand.items.len() || demand.divisible {
            return granted;
        }
        self.give_back(demand, granted);
        0
    }

    fn take_items(&mut self, rates: &Rates, demand: &Demand, now: Instant) -> usize {
        let (of_table, of_partition) = rates.of(demand.units);
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

    /// Takes from tables what a call took beyond what it demanded: items of more than a kilobyte. What is not there
    /// is owed.
    pub(super) fn charge(&mut self, demand: &Demand, consumed: &[(String, f64)]) {
        for (table, units) in consumed {
            let demanded = demand.items.iter().filter(|(name, _)| name == table).count();
            if let Some(bucket) = self.tables.get_mut(&(demand.units, table.clone())) {
                bucket.level -= (units - demanded as f64).max(0.0);
            }
        }
    }

    /// Gives back what the first N items took.
    fn give_back(&mut self, demand: &Demand, granted: usize) {
        for (table, partition) in &demand.items[..granted] {
            let table_key = (demand.units, table.clone());
            let partition_key = (demand.units, table.clone(), partition.clone());
            let buckets =
                [self.tables.get_mut(&table_key), self.partitions.get_mut(&partition_key)];
            buckets.into_iter().flatten().for_each(|bucket| bucket.level += 1.0);
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn demand(partitions: &[&str], divisible: bool) -> Demand {
        let items = partitions.iter().map(|name| ("table".to_owned(), (*name).to_owned()));
        Demand { units: Units::Write, items: items.collect(), divisible }
    }

    #[test]
    fn a_refused_transaction_takes_nothing() {
        let rates = Rates { writes: Some(10.0), partition_writes: Some(2.0), ..Rates::default() };
        let (mut buckets, now) = (Buckets::default(), Instant::now());
        let mut take = |partitions: &[&str], divisible| {
            buckets.take(&rates, &demand(partitions, divisible), now)
        };
        assert_eq!(take(&["hot", "hot"], false), 2);
        for _ in 0..10 {
            assert_eq!(take(&["a", "a", "hot", "hot"], false), 0);
        }
        assert_eq!(take(&["a", "a", "b", "b", "c", "c", "d", "d"], false), 8);
        assert_eq!(take(&["e"], true), 0, "the table's bucket is empty");
    }

    #[test]
    fn what_was_taken_beyond_the_demand_is_owed() {
        let rates = Rates { writes: Some(10.0), ..Rates::default() };
        let (mut buckets, now) = (Buckets::default(), Instant::now());
        let one = demand(&["a"], false);
        assert_eq!(buckets.take(&rates, &one, now), 1);
        buckets.charge(&one, &[("table".to_owned(), 21.0), ("other".to_owned(), 5.0)]);
        assert_eq!(buckets.take(&rates, &one, now + Duration::from_secs(1)), 0);
        assert_eq!(buckets.take(&rates, &one, now + Duration::from_millis(1_300)), 1);
    }

    #[test]
    fn a_batch_takes_what_there_is() {
        let rates = Rates { writes: Some(3.0), ..Rates::default() };
        let (mut buckets, now) = (Buckets::default(), Instant::now());
        assert_eq!(buckets.take(&rates, &demand(&["a", "b", "c", "d"], true), now), 3);
        assert_eq!(buckets.take(&rates, &demand(&["a"], true), now), 0);
    }
}

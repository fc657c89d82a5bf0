//! Token buckets, as DynamoDB has them: for a table, and for each partition of it.

use std::collections::HashMap;
use std::time::Duration;

use nagare_telemetry::faults::Rates;
use tokio::time::Instant;

use super::demand::{Demand, Units};

/// The most partitions that are remembered. A bucket that is dropped has had time to fill up.
const MOST_PARTITIONS: usize = 10_000;

/// A bucket that holds one second's worth.
#[derive(Debug, Clone, Copy)]
pub struct Bucket {
    level: f64,
    filled_at: Instant,
}

impl Bucket {
    pub fn full(rate: f64, now: Instant) -> Self {
        Self { level: rate, filled_at: now }
    }

    /// Adds what has come in since it was last filled.
    pub fn fill(&mut self, rate: f64, now: Instant) {
        self.fill_up_to(rate, rate, now);
    }

    /// Adds units like [`fill`](Self::fill), up to `most`.
    fn fill_up_to(&mut self, most: f64, rate: f64, now: Instant) {
        let since = now.saturating_duration_since(self.filled_at);
        self.level = (self.level + since.as_secs_f64() * rate).min(most);
        self.filled_at = now;
    }

    /// Takes `wanted` units, or as many as there are. Returns how many.
    pub fn take(&mut self, wanted: usize) -> usize {
        let taken = wanted.min(self.level as usize);
        self.level -= taken as f64;
        taken
    }
}

/// What a call is granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grant {
    /// The number of its items that are granted, from the first on.
    pub(super) items: usize,
    /// The setting that refuses the next item. If the table and the partition both refuse it, the table's. `None` if every item is
    /// granted.
    pub(super) lacking: Option<&'static str>,
}

/// The buckets of all tables.
#[derive(Debug, Default)]
pub(super) struct Buckets {
    tables: HashMap<(Units, String), Bucket>,
    partitions: HashMap<(Units, String, String), Bucket>,
}

impl Buckets {
    /// Takes what a call demands, item by item, until a bucket is empty. A transaction that is not granted as a whole takes nothing; if
    /// `wastes` is set, it takes what there was.
    pub(super) fn take(
        &mut self,
        rates: &Rates,
        demand: &Demand,
        wastes: bool,
        now: Instant,
    ) -> Grant {
        self.forget(now);
        let grant = self.take_items(rates, demand, now);
        if grant.lacking.is_none() || demand.divisible || wastes {
            return grant;
        }
        self.give_back(demand, grant.items);
        Grant { items: 0, ..grant }
    }

    fn take_items(&mut self, rates: &Rates, demand: &Demand, now: Instant) -> Grant {
        let [(table_setting, of_table), (partition_setting, of_partition)] =
            demand.units.rates(rates);
        // DynamoDB saves up for five minutes, so that a transaction of more than a second's worth passes in the end. Here
        // the bucket saves up while one is asking.
        let whole = if demand.divisible { 0.0 } else { demand.items.len() as f64 };
        for (items, (table, partition)) in demand.items.iter().enumerate() {
            let table_key = (demand.units, table.clone());
            let partition_key = (demand.units, table.clone(), partition.clone());
            let of_table =
                of_table.map(|rate| level(&mut self.tables, table_key, (rate, whole), now));
            let of_partition = of_partition
                .map(|rate| level(&mut self.partitions, partition_key, (rate, whole), now));
            let mut levels = [(table_setting, of_table), (partition_setting, of_partition)];
            let is_empty =
                |level: &Option<&mut f64>| level.as_ref().is_some_and(|level| **level < 1.0);
            if let Some((setting, _)) = levels.iter().find(|(_, level)| is_empty(level)) {
                return Grant { items, lacking: Some(setting) };
            }
            levels
                .iter_mut()
                .filter_map(|(_, level)| level.as_mut())
                .for_each(|level| **level -= 1.0);
        }
        Grant { items: demand.items.len(), lacking: None }
    }

    /// Takes from the buckets of tables what a call consumed beyond its demand, because of items of more than a kilobyte. What is
    /// missing is owed: the level becomes negative.
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
    (rate, whole): (f64, f64),
    now: Instant,
) -> &mut f64 {
    let bucket = buckets.entry(key).or_insert_with(|| Bucket::full(rate, now));
    bucket.fill_up_to(rate.max(whole), rate, now);
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
            buckets.take(&rates, &demand(partitions, divisible), false, now).items
        };
        assert_eq!(take(&["hot", "hot"], false), 2);
        for _ in 0..10 {
            assert_eq!(take(&["a", "a", "hot", "hot"], false), 0);
        }
        assert_eq!(take(&["a", "a", "b", "b", "c", "c", "d", "d"], false), 8);
        assert_eq!(take(&["e"], true), 0, "the table's bucket is empty");
    }

    #[test]
    fn a_transaction_of_more_than_a_second_passes_after_as_long_as_it_takes() {
        let rates = Rates { writes: Some(8.0), ..Rates::default() };
        let (mut buckets, now) = (Buckets::default(), Instant::now());
        let ten = demand(&["a"; 10], false);
        let mut take =
            |millis| buckets.take(&rates, &ten, false, now + Duration::from_millis(millis)).items;
        assert_eq!([take(0), take(200), take(250)], [0, 0, 10]);
        assert_eq!(
            [take(1_250), take(1_500)],
            [0, 10],
            "nothing was saved but for the transaction"
        );
        let mut wasting =
            |millis| buckets.take(&rates, &ten, true, now + Duration::from_millis(millis)).items;
        assert_eq!([wasting(2_000), wasting(3_000), wasting(4_250)], [4, 8, 10]);
    }

    #[test]
    fn what_was_taken_beyond_the_demand_is_owed() {
        let rates = Rates { writes: Some(10.0), ..Rates::default() };
        let (mut buckets, now) = (Buckets::default(), Instant::now());
        let one = demand(&["a"], false);
        let take = |buckets: &mut Buckets, millis| {
            buckets.take(&rates, &one, false, now + Duration::from_millis(millis)).items
        };
        assert_eq!(take(&mut buckets, 0), 1);
        buckets.charge(&one, &[("table".to_owned(), 21.0), ("other".to_owned(), 5.0)]);
        assert_eq!([take(&mut buckets, 1_000), take(&mut buckets, 1_300)], [0, 1]);
    }

    #[test]
    fn a_batch_takes_what_there_is() {
        let rates = Rates { writes: Some(3.0), ..Rates::default() };
        let (mut buckets, now) = (Buckets::default(), Instant::now());
        let mut take =
            |partitions: &[&str]| buckets.take(&rates, &demand(partitions, true), false, now).items;
        assert_eq!([take(&["a", "b", "c", "d"]), take(&["a"])], [3, 0]);
    }
}

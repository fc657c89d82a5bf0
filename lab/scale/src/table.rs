//! A table, or an index, on demand: partitions, and what it admits as a whole.

use crate::bucket::Bucket;
use crate::growth::Growth;
use crate::partition::{Heat, Partition, Units};
use crate::space::Span;

/// What DynamoDB does, as far as it is a matter of numbers. docs/SCALE.md says where each is from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// Seconds for which a partition has to be hot before it is cut in two.
    pub split_after: f64,
    /// Seconds after which traffic counts as a former peak, of which twice as much is admitted.
    pub growth_after: f64,
    /// Seconds of unused units that may be made good. 0: bursts are not to be counted on.
    pub burst: f64,
}

impl Default for Rules {
    fn default() -> Self {
        Self { split_after: 600.0, growth_after: 1_800.0, burst: 0.0 }
    }
}

/// What a table is prepared for, and what it may grow to, in units a second: reads, writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Warmth {
    /// Admitted at once.
    pub warm: [f64; 2],
    /// The most, by the account's quota.
    pub quota: [f64; 2],
}

impl Warmth {
    /// A new table with the default quota.
    pub const COLD: Self = Self { warm: [12_000.0, 4_000.0], quota: [40_000.0, 40_000.0] };

    /// A table that was prepared for N units, under the default quota or one that was raised to it.
    #[must_use]
    pub fn prepared(reads: f64, writes: f64) -> Self {
        let Self { warm, quota } = Self::COLD;
        let warm = [warm[0].max(reads), warm[1].max(writes)];
        Self { warm, quota: [quota[0].max(reads), quota[1].max(writes)] }
    }
}

/// Some units wanted within one tick, spread evenly over a stretch of keys.
#[derive(Debug, Clone, Copy)]
pub struct Want {
    pub units: Units,
    pub span: Span,
    pub amount: f64,
}

#[derive(Debug, Clone)]
pub struct Table {
    rules: Rules,
    growth: [Growth; 2],
    buckets: [Bucket; 2],
    partitions: Vec<Partition>,
    /// In this tick its partitions could have given more.
    at_limit: [bool; 2],
    seconds: f64,
}

impl Table {
    /// A table that was prepared for something, in ticks of N seconds.
    #[must_use]
    pub fn new(warmth: Warmth, rules: Rules, seconds: f64) -> Self {
        let growth = Units::BOTH.map(|units| {
            let nth = units as usize;
            Growth::new(warmth.warm[nth], warmth.quota[nth], rules.growth_after)
        });
        let buckets = growth.each_ref().map(|growth| Bucket::new(growth.limit(), rules.burst));
        let spans = Span::ALL.cut(needed(&growth));
        let partitions = spans.into_iter().map(|span| Partition::new(span, rules.burst)).collect();
        Self { rules, growth, buckets, partitions, at_limit: [false; 2], seconds }
    }

    /// Cuts what holds a range of keys, until there are N partitions under it: as its size demands, or
    /// as earlier heat has left it.
    pub fn cut(&mut self, span: Span, pieces: usize) {
        let heat = [Heat { span, load: 1.0 }];
        while self.under(span).len() < pieces {
            let share = |nth: &usize| span.share_in(self.partitions[*nth].span);
            let largest = self.under(span).max_by(|a, b| share(a).total_cmp(&share(b)));
            let halves =
                largest.and_then(|nth| self.partitions[nth].split(&heat, self.rules.burst));
            let (Some(nth), Some(halves)) = (largest, halves) else { return };
            self.partitions.splice(nth..=nth, halves);
        }
    }

    /// How many partitions it has.
    #[must_use]
    pub fn partitions(&self) -> usize {
        self.partitions.len()
    }

    /// True if the table as a whole admitted less in the last tick than its partitions could have given.
    #[must_use]
    pub fn is_at_limit(&self, units: Units) -> bool {
        self.at_limit[units as usize]
    }

    /// Units a second that a stretch of keys could get if nobody else wanted any.
    #[must_use]
    pub fn capacity(&self, units: Units, span: Span) -> f64 {
        let of_partitions = self.under(span).len() as f64 * units.of_partition();
        of_partitions.min(self.buckets[units as usize].rate())
    }

    /// Serves a tick that ends at `now`. Returns how much of each want was served. Where there is not
    /// enough, everybody gets the same share.
    pub fn tick(&mut self, wants: &[Want], now: f64) -> Vec<f64> {
        self.buckets.iter_mut().for_each(|bucket| bucket.fill(self.seconds));
        self.partitions.iter_mut().for_each(|partition| partition.begin(self.seconds));
        let mut served = vec![0.0; wants.len()];
        for units in Units::BOTH {
            let total = self.serve(units, wants, &mut served);
            self.growth[units as usize].served(total, now);
        }
        self.split_the_hot(wants, &served);
        self.grow(wants, &served);
        served
    }

    fn serve(&mut self, units: Units, wants: &[Want], served: &mut [f64]) -> f64 {
        let mut wanted = vec![0.0; self.partitions.len()];
        let mine = || wants.iter().enumerate().filter(|(_, want)| want.units == units);
        for (_, want) in mine() {
            self.each_under(want, |nth, amount| wanted[nth] += amount);
        }
        let left = self.partitions.iter().map(|partition| partition.left(units));
        let mut shares: Vec<_> = wanted.iter().zip(left).map(|(w, left)| share(left, *w)).collect();
        let total: f64 = wanted.iter().zip(&shares).map(|(wanted, share)| wanted * share).sum();
        let of_table = share(self.buckets[units as usize].take(total), total);
        self.at_limit[units as usize] = of_table < 1.0;
        shares.iter_mut().for_each(|share| *share *= of_table);
        for (nth, want) in mine() {
            self.each_under(want, |partition, amount| served[nth] += amount * shares[partition]);
        }
        for ((partition, wanted), share) in self.partitions.iter_mut().zip(wanted).zip(shares) {
            partition.serve(units, wanted * share);
        }
        total * of_table
    }

    /// The partitions that hold some of a stretch of keys.
    fn under(&self, span: Span) -> std::ops::Range<usize> {
        let first = self.partitions.partition_point(|partition| partition.span.last < span.first);
        let end = self.partitions.partition_point(|partition| partition.span.first <= span.last);
        first..end
    }

    fn each_under(&self, want: &Want, mut each: impl FnMut(usize, f64)) {
        let under = self.under(want.span);
        if under.len() == 1 {
            return each(under.start, want.amount);
        }
        for nth in under {
            each(nth, want.amount * want.span.share_in(self.partitions[nth].span));
        }
    }

    fn split_the_hot(&mut self, wants: &[Want], served: &[f64]) {
        let mut nth = 0;
        while nth < self.partitions.len() {
            let due = self.partitions[nth].end(self.seconds, self.rules.split_after);
            let halves = due && self.split(nth, wants, served);
            if due && !halves {
                self.partitions[nth].leave();
            }
            nth += 1 + usize::from(halves);
        }
    }

    /// Cuts the busiest partitions until there are as many as the table needs for what it admits.
    fn grow(&mut self, wants: &[Want], served: &[f64]) {
        for (bucket, growth) in self.buckets.iter_mut().zip(&self.growth) {
            bucket.set_rate(growth.limit());
        }
        let missing = needed(&self.growth).saturating_sub(self.partitions.len());
        if missing == 0 {
            return;
        }
        let busy = |nth: &usize| self.partitions[*nth].busy(self.seconds);
        let mut busiest: Vec<_> = (0..self.partitions.len()).collect();
        busiest.sort_by(|a, b| busy(b).total_cmp(&busy(a)));
        busiest.truncate(missing);
        busiest.sort_unstable_by(|a, b| b.cmp(a));
        for nth in busiest {
            self.split(nth, wants, served);
        }
    }

    fn split(&mut self, nth: usize, wants: &[Want], served: &[f64]) -> bool {
        let heat = wants.iter().zip(served).map(|(want, served)| {
            let load = served / want.units.of_partition();
            Heat { span: want.span, load }
        });
        let Some(halves) = self.partitions[nth].split(&heat.collect::<Vec<_>>(), self.rules.burst)
        else {
            return false;
        };
        self.partitions.splice(nth..=nth, halves);
        true
    }
}

fn share(served: f64, wanted: f64) -> f64 {
    if wanted > served { served / wanted } else { 1.0 }
}

/// The fewest partitions that can give what is admitted.
fn needed(growth: &[Growth; 2]) -> usize {
    let for_units = |units: Units| growth[units as usize].limit() / units.of_partition();
    for_units(Units::Read).max(for_units(Units::Write)).ceil().max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn want(units: Units, span: Span, amount: f64) -> Want {
        Want { units, span, amount }
    }

    fn drive(table: &mut Table, seconds: u32, wants: &[Want]) -> Vec<f64> {
        (0..seconds).fold(Vec::new(), |_, second| table.tick(wants, f64::from(second + 1)))
    }

    #[test]
    fn a_new_table_has_four_partitions_and_admits_what_is_documented() {
        let mut table = Table::new(Warmth::COLD, Rules::default(), 1.0);
        let wants = Units::BOTH.map(|units| want(units, Span::ALL, 1e6));
        let served = drive(&mut table, 1, &wants);
        assert_eq!(table.partitions(), 4);
        assert!((served[0] - 12_000.0).abs() < 1.0 && (served[1] - 4_000.0).abs() < 1.0);
    }

    #[test]
    fn a_collection_is_held_to_its_partition_until_that_is_cut() {
        let edges = Span::collection("followers#anna", 1);
        let wants = [want(Units::Write, edges, 5_000.0)];
        let mut table = Table::new(Warmth::COLD, Rules::default(), 1.0);
        let rate = |table: &mut Table, seconds| drive(table, seconds, &wants)[0].round();
        assert_eq!(rate(&mut table, 600), 1_000.0);
        assert_eq!(rate(&mut table, 1), 2_000.0);
        assert_eq!(rate(&mut table, 600), 4_000.0, "and then what the table admits");
    }

    #[test]
    fn a_hot_item_stays_where_it_is() {
        let record = Span::collection("activity#live", 1).end();
        let mut table = Table::new(Warmth::COLD, Rules::default(), 1.0);
        let served = drive(&mut table, 7_200, &[want(Units::Read, record, 10_000.0)]);
        assert_eq!((served[0].round(), table.partitions()), (3_000.0, 4));
    }

    #[test]
    fn what_is_scarce_is_shared_alike() {
        let edges = Span::collection("followers#anna", 1);
        let mut table = Table::new(Warmth::COLD, Rules::default(), 1.0);
        let wants = [want(Units::Read, edges, 2_000.0), want(Units::Read, edges.end(), 4_000.0)];
        let served = drive(&mut table, 1, &wants);
        assert_eq!(served.iter().map(|s| s.round()).collect::<Vec<_>>(), [1_000.0, 2_000.0]);
    }

    #[test]
    fn a_table_that_grows_gets_the_partitions_it_needs() {
        let mut table = Table::new(Warmth::COLD, Rules::default(), 1.0);
        let served = drive(&mut table, 3_900, &[want(Units::Write, Span::ALL, 1e6)]);
        assert_eq!(served[0].round(), 16_000.0);
        assert!(table.partitions() >= 16);
    }
}

//! One partition: a range of a table's key space, its capacity, and where to cut it when it has been hot
//! for long.

use crate::bucket::Bucket;
use crate::space::Span;

/// A partition this busy in a minute, as a share of what it can do, is hot.
const HOT: f64 = 0.9;
/// Seconds over which that is averaged: calls come in waves, and a wave that fails to come for a tenth of a second is no
/// pause.
const MINUTE: f64 = 60.0;
/// A cut is worth nothing if one side has less than this share of the partition's heat.
const WORTH: f64 = 0.05;
/// Shares that differ by less are equal.
const ALIKE: f64 = 1e-9;
/// Seconds after which a cut is looked for again, where there was none.
const AGAIN: f64 = 60.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Units {
    /// 4 KB read consistently.
    Read,
    /// 1 KB written.
    Write,
}

impl Units {
    pub const BOTH: [Self; 2] = [Self::Read, Self::Write];

    /// Units a second that a partition, and so a single item, gives.
    #[must_use]
    pub fn of_partition(self) -> f64 {
        match self {
            Self::Read => 3_000.0,
            Self::Write => 1_000.0,
        }
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// Some load on a stretch of a key space, spread evenly over it.
#[derive(Debug, Clone, Copy)]
pub struct Heat {
    pub span: Span,
    /// As a share of what a partition can do.
    pub load: f64,
}

#[derive(Debug, Clone)]
pub struct Partition {
    pub span: Span,
    /// What it gives of each kind of units.
    buckets: [Bucket; 2],
    /// Seconds for which it has been hot without a pause, minute by minute.
    hot_for: f64,
    /// Units served in this minute, and its seconds so far.
    minute: ([f64; 2], f64),
    /// Units served in this tick.
    served: [f64; 2],
}

impl Partition {
    /// A partition that may make good what it left unused for `burst` seconds.
    #[must_use]
    pub fn new(span: Span, burst: f64) -> Self {
        let buckets = Units::BOTH.map(|units| Bucket::new(units.of_partition(), burst));
        Self { span, buckets, hot_for: 0.0, minute: ([0.0; 2], 0.0), served: [0.0; 2] }
    }

    pub fn begin(&mut self, seconds: f64) {
        self.buckets.iter_mut().for_each(|bucket| bucket.fill(seconds));
        self.served = [0.0; 2];
    }

    /// What is left of this tick.
    #[must_use]
    pub fn left(&self, units: Units) -> f64 {
        self.buckets[units as usize].left()
    }

    /// Serves `wanted` units of what is left.
    pub fn serve(&mut self, units: Units, wanted: f64) {
        self.served[units as usize] += self.buckets[units as usize].take(wanted);
    }

    /// How busy this tick was, as a share of what the partition can do.
    #[must_use]
    pub fn busy(&self, seconds: f64) -> f64 {
        busy(&self.served, seconds)
    }

    /// Ends a tick. True if the partition has been hot for long enough to be cut.
    pub fn end(&mut self, seconds: f64, split_after: f64) -> bool {
        let (served, passed) = &mut self.minute;
        *passed += seconds;
        served.iter_mut().zip(self.served).for_each(|(sum, served)| *sum += served);
        // Ticks of a tenth do not add up to whole seconds.
        if *passed < MINUTE - seconds / 2.0 {
            return false;
        }
        let is_hot = busy(served, *passed) >= HOT;
        self.hot_for = if is_hot { self.hot_for + MINUTE } else { 0.0 };
        self.minute = ([0.0; 2], 0.0);
        self.hot_for >= split_after
    }

    /// There was no cut that helps; the next search comes later.
    pub fn leave(&mut self) {
        self.hot_for -= AGAIN;
    }

    /// Both sides of a cut in the middle of the heat. None where all the heat is in one position: a
    /// single item, or the end of a collection that grows there.
    #[must_use]
    pub fn split(&self, heat: &[Heat], burst: f64) -> Option<[Self; 2]> {
        let cut = middle(self.span, heat)?;
        let [first, last] = [self.span.first, self.span.last];
        let sides = [Span { first, last: cut - 1 }, Span { first: cut, last }];
        Some(sides.map(|span| Self::new(span, burst)))
    }
}

/// How busy a partition is, by the units that it served within `seconds`.
fn busy(served: &[f64; 2], seconds: f64) -> f64 {
    let share = |units: Units| served[units as usize] / units.of_partition() / seconds;
    share(Units::Read).max(share(Units::Write))
}

/// A position with half of the heat, more or less, on either side, as far from both as it can be.
fn middle(span: Span, heat: &[Heat]) -> Option<u128> {
    let inside: Vec<_> = heat
        .iter()
        .map(|heat| Heat {
            load: heat.load * heat.span.share_in(span),
            span: clip(heat.span, span),
        })
        .filter(|heat| heat.load > 0.0)
        .collect();
    let total: f64 = inside.iter().map(|heat| heat.load).sum();
    let before = |at| inside.iter().map(|h| h.load * h.span.share_before(at)).sum::<f64>() / total;
    let half = reach(span, &before, 0.5);
    let sides = [before(half), before(half.saturating_sub(1).max(span.first))];
    let off = |share: &f64| (share - 0.5).abs();
    let share = sides.into_iter().min_by(|a, b| off(a).total_cmp(&off(b)))?;
    let (from, to) = (reach(span, &before, share - ALIKE), reach(span, &before, share + ALIKE));
    (off(&share) < 0.5 - WORTH).then(|| from + (to - from) / 2)
}

/// The first position, after the very first, before which this share of the heat lies.
fn reach(span: Span, before: &dyn Fn(u128) -> f64, share: f64) -> u128 {
    let (mut low, mut high) = (span.first, span.last);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if before(middle) < share { low = middle } else { high = middle }
    }
    high
}

fn clip(span: Span, to: Span) -> Span {
    let first = span.first.clamp(to.first, to.last);
    Span { first, last: span.last.clamp(first, to.last) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDGES: Span = Span { first: 1 << 64, last: (2 << 64) - 1 };

    fn split(heat: &[Heat]) -> Option<[Span; 2]> {
        let sides = Partition::new(Span::ALL, 0.0).split(heat, 0.0)?;
        Some(sides.map(|side| side.span))
    }

    #[test]
    fn a_collection_in_even_use_is_cut_between_its_sort_keys() {
        let [left, right] = split(&[Heat { span: EDGES, load: 1.0 }]).unwrap();
        assert!((EDGES.share_in(left) - 0.5).abs() < 1e-6, "{left:?}");
        assert_eq!(right.first, left.last + 1);
    }

    #[test]
    fn two_readers_are_cut_apart_half_way() {
        let at = |share, load| Heat { span: EDGES.slice(share, share), load };
        for loads in [[0.5, 0.5], [0.45, 0.55], [0.6, 0.4]] {
            let [left, _] = split(&[at(0.2, loads[0]), at(0.8, loads[1])]).unwrap();
            assert!((EDGES.share_in(left) - 0.5).abs() < 1e-6, "{left:?}");
        }
    }

    #[test]
    fn one_item_and_one_growing_end_are_not_cut() {
        assert_eq!(split(&[Heat { span: EDGES.end(), load: 1.0 }]), None);
        let others = Heat { span: Span::ALL, load: 0.02 };
        assert_eq!(split(&[Heat { span: EDGES.end(), load: 0.98 }, others]), None);
    }

    #[test]
    fn only_what_stays_hot_is_cut() {
        let mut partition = Partition::new(Span::ALL, 0.0);
        let mut hot_for = |seconds, load: f64| {
            (0..seconds).fold(false, |_, _| {
                partition.begin(1.0);
                partition.serve(Units::Write, load);
                partition.end(1.0, 300.0)
            })
        };
        assert!(!hot_for(240, 1_000.0));
        assert!(!hot_for(60, 500.0), "a minute's pause");
        assert!(!hot_for(299, 1_000.0));
        assert!(hot_for(1, 1_000.0));
    }

    #[test]
    fn waves_of_less_than_a_minute_are_no_pauses() {
        let mut partition = Partition::new(Span::ALL, 0.0);
        let mut due = false;
        for tick in 0..3_000 {
            partition.begin(0.1);
            partition.serve(Units::Write, if tick % 20 == 0 { 0.0 } else { 100.0 });
            due = partition.end(0.1, 300.0);
        }
        assert!(due);
    }
}

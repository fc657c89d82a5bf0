//! The key space of a table: where an item collection lies in it, and where in the collection an item.
//!
//! DynamoDB distributes partition keys by a hash of its own, and keeps the items of one partition key in
//! the order of their sort keys. A position here has both: the hash of the partition key in its upper
//! half, the order of the sort key in its lower. What AWS hashes with is not known and does not matter;
//! the seed stands for it.

use shared::social::follows::FollowerRange;

/// A stretch of a key space, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Its first position.
    pub first: u128,
    pub last: u128,
}

impl Span {
    /// The whole key space.
    pub const ALL: Self = Self { first: 0, last: u128::MAX };

    /// All items of one partition key.
    #[must_use]
    pub fn collection(pk: &str, seed: u64) -> Self {
        let first = u128::from(hash(pk, seed)) << 64;
        Self { first, last: first | u128::from(u64::MAX) }
    }

    /// The edges of a range of followers, in the collection of their followee.
    #[must_use]
    pub fn of_followers(self, range: FollowerRange) -> Self {
        let order = |bound: &str| {
            let hash = bound.get(..4).and_then(|digits| u64::from_str_radix(digits, 16).ok());
            u128::from(hash.unwrap_or(0)) << 48
        };
        let [first, last] = range.bounds();
        let (first, last) = (self.first + order(&first), self.first + order(&last));
        Self { first, last: last + (1 << 48) - 1 }
    }

    /// What lies from one share of it to another, each from 0 to 1.
    #[must_use]
    pub fn slice(self, from: f64, to: f64) -> Self {
        let at =
            |share: f64| self.first.saturating_add((self.width() * share.clamp(0.0, 1.0)) as u128);
        let first = at(from).min(self.last);
        Self { first, last: at(to).clamp(first, self.last) }
    }

    /// Its last position alone: an item, or the end of a collection that grows there.
    #[must_use]
    pub fn end(self) -> Self {
        Self { first: self.last, last: self.last }
    }

    /// Cuts it into N ranges of equal width.
    #[must_use]
    pub fn cut(self, pieces: usize) -> Vec<Self> {
        let step = (self.last - self.first) / pieces.max(1) as u128;
        let starts = (0..pieces.max(1)).map(|n| self.first + step * n as u128);
        let ends = starts.clone().skip(1).map(|start| start - 1).chain([self.last]);
        starts.zip(ends).map(|(first, last)| Self { first, last }).collect()
    }

    /// How much of it lies in another, from 0 to 1.
    #[must_use]
    pub fn share_in(self, other: Self) -> f64 {
        let (first, last) = (self.first.max(other.first), self.last.min(other.last));
        if first > last { 0.0 } else { Self { first, last }.width() / self.width() }
    }

    /// How much of it lies before a position, from 0 to 1.
    #[must_use]
    pub fn share_before(self, position: u128) -> f64 {
        match position.checked_sub(1) {
            Some(last) => self.share_in(Self { first: 0, last }),
            None => 0.0,
        }
    }

    fn width(self) -> f64 {
        (self.last - self.first) as f64 + 1.0
    }
}

/// FNV-1a, mixed so that keys that differ in one character lie apart.
fn hash(text: &str, seed: u64) -> u64 {
    let fnv = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let mut hash = text.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, fnv);
    for multiplier in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(multiplier);
    }
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared::social::follows::keys;

    #[test]
    fn the_ranges_of_a_fan_out_cover_the_collection_once() {
        let edges = Span::collection("followers#anna", 1);
        let ranges = FollowerRange::split(7);
        let spans: Vec<_> = ranges.into_iter().map(|range| edges.of_followers(range)).collect();
        assert_eq!((spans[0].first, spans[6].last), (edges.first, edges.last));
        for pair in spans.windows(2) {
            assert_eq!(pair[1].first, pair[0].last + 1);
        }
    }

    #[test]
    fn real_edges_lie_evenly() {
        let actor = "anna".parse().unwrap();
        let mut counts = [0_u32; 16];
        for n in 0..16_000 {
            let edge = keys::edge(&format!("viewer-{n}").parse().unwrap(), &actor);
            counts[usize::from_str_radix(&edge.sk[..1], 16).unwrap()] += 1;
        }
        let even = |count: &u32| (850..1_150).contains(count);
        assert!(counts.iter().all(even), "{counts:?}");
    }

    #[test]
    fn shares_and_slices() {
        let span = Span { first: 100, last: 199 };
        assert_eq!(span.share_in(Span { first: 150, last: 1_000 }), 0.5);
        assert_eq!(span.share_in(Span { first: 200, last: 300 }), 0.0);
        assert_eq!(span.share_before(125), 0.25);
        assert_eq!(span.slice(0.5, 1.0), Span { first: 150, last: 199 });
        assert_eq!(span.cut(2), [Span { first: 100, last: 148 }, Span { first: 149, last: 199 }]);
    }
}

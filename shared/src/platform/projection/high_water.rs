//! High-water marks: the last change of each shard that a view has folded.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Sequence, Shard};
use crate::platform::values::Timestamp;

/// How long a mark is kept after the last change from its shard: twice as long as a stream keeps changes.
pub const KEPT: Duration = Duration::from_secs(2 * 86_400);

/// The last change folded of each shard, and the hour in which it was folded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HighWaterMarks {
    marks: BTreeMap<Shard, (Sequence, u32)>,
    /// The hour in which marks were dropped in favour of [checkpoints](super::checkpoints). From then on, a shard is as far as
    /// the greater of its mark and its checkpoint.
    pruned: Option<u32>,
}

/// Shard, sequence number, hour.
const ENTRY: usize = 8 + Sequence::BYTES + 4;
/// The hour in which marks were dropped, after all entries.
const PRUNED: usize = 4;
const HOUR: i64 = 3_600_000;

impl HighWaterMarks {
    /// True if a change is above the mark of its shard, so it was not folded.
    pub fn is_new(&self, shard: Shard, sequence: Sequence) -> bool {
        self.marks.get(&shard).is_none_or(|(mark, _)| *mark < sequence)
    }

    /// True if it has a mark of this shard.
    pub fn knows(&self, shard: Shard) -> bool {
        self.marks.contains_key(&shard)
    }

    pub fn shards(&self) -> impl ExactSizeIterator<Item = Shard> {
        self.marks.keys().copied()
    }

    /// True if marks were dropped in favour of checkpoints.
    pub fn is_pruned(&self) -> bool {
        self.pruned.is_some()
    }

    /// Drops marks that are not above the checkpoints of their shards.
    pub fn prune(&mut self, checkpoints: &BTreeMap<Shard, Sequence>, now: Timestamp) {
        let before = self.marks.len();
        let is_above = |shard: &Shard, mark: Sequence| {
            checkpoints.get(shard).is_none_or(|through| mark > *through)
        };
        self.marks.retain(|shard, (mark, _)| is_above(shard, *mark));
        if self.marks.len() < before {
            self.pruned = Some(hour(now));
        }
    }

    /// Raises the mark of a shard to its checkpoint, if that is greater.
    pub fn pass(&mut self, shard: Shard, through: Sequence, now: Timestamp) {
        if self.is_new(shard, through) {
            self.marks.insert(shard, (through, hour(now)));
        }
    }

    /// Raises the mark of a shard, and drops marks that are too old to matter.
    pub fn raise(&mut self, shard: Shard, sequence: Sequence, now: Timestamp) {
        let hour = hour(now);
        let kept = u32::try_from(KEPT.as_secs() / 3600).unwrap_or(u32::MAX);
        let is_kept = |noted: &u32| noted.saturating_add(kept) >= hour;
        self.marks.retain(|_, (_, noted)| is_kept(noted));
        self.pruned = self.pruned.filter(is_kept);
        self.marks.insert(shard, (sequence, hour));
    }

    /// Raises marks to those of `others`. If `others` dropped marks, these need the checkpoints too.
    pub fn join(&mut self, others: &Self) {
        for (shard, other) in &others.marks {
            let mark = self.marks.entry(*shard).or_insert(*other);
            *mark = (*mark).max(*other);
        }
        self.pruned = self.pruned.max(others.pruned);
    }

    /// True if nothing was folded within the time that marks are kept.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty() && self.pruned.is_none()
    }

    /// As it is stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.marks.len() * ENTRY + PRUNED);
        for (shard, (sequence, hour)) in &self.marks {
            bytes.extend(shard.0);
            bytes.extend(sequence.to_bytes());
            bytes.extend(hour.to_be_bytes());
        }
        bytes.extend(self.pruned.into_iter().flat_map(u32::to_be_bytes));
        bytes
    }

    /// Reads what was stored; `None` if it is malformed.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (bytes, pruned) = match bytes.len() % ENTRY {
            PRUNED => {
                let (entries, pruned) = bytes.split_last_chunk::<PRUNED>()?;
                (entries, Some(u32::from_be_bytes(*pruned)))
            }
            _ => (bytes, None),
        };
        let entries = bytes.chunks(ENTRY).map(|entry| {
            let (shard, rest) = entry.split_first_chunk::<8>()?;
            let (sequence, hour) = rest.split_first_chunk::<{ Sequence::BYTES }>()?;
            let hour = u32::from_be_bytes(hour.try_into().ok()?);
            Some((Shard(*shard), (Sequence::from_bytes(*sequence)?, hour)))
        });
        Some(Self { marks: entries.collect::<Option<_>>()?, pruned })
    }
}

fn hour(now: Timestamp) -> u32 {
    u32::try_from(now.unix_millis() / HOUR).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sequence(number: u64) -> Sequence {
        number.to_string().parse().expect("a number")
    }

    #[test]
    fn a_change_is_new_once_in_its_shard() {
        let (one, other) = (Shard::of("one"), Shard::of("other"));
        let mut marks = HighWaterMarks::default();
        assert!(marks.is_new(one, sequence(7)));
        marks.raise(one, sequence(7), Timestamp::from_unix_millis(0));
        assert!(!marks.is_new(one, sequence(7)) && !marks.is_new(one, sequence(6)));
        assert!(marks.is_new(one, sequence(8)) && marks.is_new(other, sequence(1)));
    }

    #[test]
    fn marks_are_kept_for_two_days() {
        let (one, other) = (Shard::of("one"), Shard::of("other"));
        let mut marks = HighWaterMarks::default();
        marks.raise(one, sequence(7), Timestamp::from_unix_millis(0));
        marks.raise(other, sequence(1), Timestamp::from_unix_millis(48 * HOUR));
        assert!(!marks.is_new(one, sequence(7)));
        marks.raise(other, sequence(2), Timestamp::from_unix_millis(49 * HOUR));
        assert!(marks.is_new(one, sequence(7)));
    }

    #[test]
    fn marks_that_checkpoints_say_are_dropped() {
        let [one, other, third] = ["one", "other", "third"].map(Shard::of);
        let mut marks = HighWaterMarks::default();
        for (shard, hour) in [(one, 0), (other, 3), (third, 3)] {
            marks.raise(shard, sequence(7), Timestamp::from_unix_millis(hour * HOUR));
        }
        let now = Timestamp::from_unix_millis(3 * HOUR);
        marks.prune(&[(one, sequence(6))].into(), now);
        assert!(marks.knows(one) && !marks.is_pruned());
        assert_eq!(marks.to_bytes().len() % ENTRY, 0);
        marks.prune(&[(one, sequence(7)), (other, sequence(8))].into(), now);
        assert_eq!([one, other, third].map(|shard| marks.knows(shard)), [false, false, true]);
        assert!(marks.is_pruned() && marks.to_bytes().len() % ENTRY != 0);
        marks.pass(one, sequence(9), now);
        marks.pass(third, sequence(6), now);
        assert!(!marks.is_new(one, sequence(9)) && !marks.is_new(third, sequence(7)));
        marks.raise(other, sequence(10), Timestamp::from_unix_millis(51 * HOUR));
        assert!(marks.is_pruned());
        marks.raise(other, sequence(11), Timestamp::from_unix_millis(52 * HOUR));
        assert!(!marks.is_pruned(), "no stream has any more what was folded then");
    }

    proptest! {
        #[test]
        fn marks_survive_being_stored(entries in prop::collection::vec((".{1,40}", any::<u64>()), 0..20)) {
            let mut marks = HighWaterMarks::default();
            for (shard, number) in entries {
                marks.raise(Shard::of(&shard), sequence(number), Timestamp::from_unix_millis(9 * HOUR));
            }
            prop_assert_eq!(HighWaterMarks::from_bytes(&marks.to_bytes()), Some(marks.clone()));
            let checkpoints = marks.marks.iter().take(7).map(|(shard, (mark, _))| (*shard, *mark));
            marks.prune(&checkpoints.collect(), Timestamp::from_unix_millis(9 * HOUR));
            prop_assert_eq!(HighWaterMarks::from_bytes(&marks.to_bytes()), Some(marks));
        }

        #[test]
        fn other_bytes_are_no_marks(bytes in prop::collection::vec(any::<u8>(), 5..32)) {
            prop_assert_eq!(HighWaterMarks::from_bytes(&bytes), None);
        }
    }
}

//! How far a view has come in each shard of the stream.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{Sequence, Shard};
use crate::values::Timestamp;

/// How long a mark is kept after the last change from its shard: twice as long as a stream keeps changes.
pub const KEPT: Duration = Duration::from_secs(2 * 86_400);

/// The last change that was folded of each shard, and the hour in which that was.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HighWaterMarks(BTreeMap<Shard, (Sequence, u32)>);

/// Shard, sequence number, hour.
const ENTRY: usize = 8 + Sequence::BYTES + 4;
const HOUR: i64 = 3_600_000;

impl HighWaterMarks {
    /// True if a change is above the mark of its shard: it was not folded.
    #[must_use]
    pub fn is_new(&self, shard: Shard, sequence: Sequence) -> bool {
        self.0.get(&shard).is_none_or(|(mark, _)| *mark < sequence)
    }

    /// True if it has a mark of this shard.
    #[must_use]
    pub fn knows(&self, shard: Shard) -> bool {
        self.0.contains_key(&shard)
    }

    /// Raises the mark of a shard, and drops those that are too old to matter.
    pub fn raise(&mut self, shard: Shard, sequence: Sequence, now: Timestamp) {
        let hour = hour(now);
        let kept = u32::try_from(KEPT.as_secs() / 3600).unwrap_or(u32::MAX);
        self.0.retain(|_, (_, noted)| noted.saturating_add(kept) >= hour);
        self.0.insert(shard, (sequence, hour));
    }

    /// Takes over what others have that is above.
    pub fn join(&mut self, others: &Self) {
        for (shard, other) in &others.0 {
            let mark = self.0.entry(*shard).or_insert(*other);
            *mark = (*mark).max(*other);
        }
    }

    /// True if nothing was folded within the time that marks are kept.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As it is stored.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() * ENTRY);
        for (shard, (sequence, hour)) in &self.0 {
            bytes.extend(shard.0);
            bytes.extend(sequence.to_bytes());
            bytes.extend(hour.to_be_bytes());
        }
        bytes
    }

    /// What was stored; nothing if it is something else.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let entries = bytes.chunks(ENTRY).map(|entry| {
            let (shard, rest) = entry.split_first_chunk::<8>()?;
            let (sequence, hour) = rest.split_first_chunk::<{ Sequence::BYTES }>()?;
            let hour = u32::from_be_bytes(hour.try_into().ok()?);
            Some((Shard(*shard), (Sequence::from_bytes(*sequence)?, hour)))
        });
        entries.collect::<Option<_>>().map(Self)
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

    proptest! {
        #[test]
        fn marks_survive_being_stored(entries in prop::collection::vec((".{1,40}", any::<u64>()), 0..20)) {
            let mut marks = HighWaterMarks::default();
            for (shard, number) in entries {
                marks.raise(Shard::of(&shard), sequence(number), Timestamp::from_unix_millis(9 * HOUR));
            }
            prop_assert_eq!(HighWaterMarks::from_bytes(&marks.to_bytes()), Some(marks));
        }

        #[test]
        fn other_bytes_are_no_marks(bytes in prop::collection::vec(any::<u8>(), 1..32)) {
            prop_assert_eq!(HighWaterMarks::from_bytes(&bytes), None);
        }
    }
}

//! Which changes a view has passed without folding them.

use std::collections::BTreeSet;

use super::{Change, HighWaterMarks, Sequence, Shard};

/// The changes that a view has set aside and whose dead letters may not have been sent. They are noted in the
/// write that raises the mark above them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetAside(BTreeSet<(Shard, Sequence)>);

/// Shard, sequence number.
const ENTRY: usize = 8 + Sequence::BYTES;

impl SetAside {
    /// True if nothing is noted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those of these changes of a shard that are noted.
    #[must_use]
    pub fn among(&self, shard: Shard, changes: &[&Change]) -> Vec<Sequence> {
        let sequences = changes.iter().map(|change| change.sequence);
        sequences.filter(|sequence| self.0.contains(&(shard, *sequence))).collect()
    }

    /// Notes a change.
    pub fn insert(&mut self, shard: Shard, sequence: Sequence) {
        self.0.insert((shard, sequence));
    }

    /// Drops what was sent: all of a shard that is before its batch, since a batch is the next one only after the one
    /// before was acknowledged; and of shards without a mark.
    pub fn retain(&mut self, shard: Shard, batch: Sequence, marks: &HighWaterMarks) {
        self.0.retain(|(of, sequence)| match *of == shard {
            true => *sequence >= batch,
            false => marks.knows(*of),
        });
    }

    /// As it is stored.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let entries = self.0.iter().map(|(shard, sequence)| (shard.0, sequence.to_bytes()));
        entries.flat_map(|(shard, sequence)| shard.into_iter().chain(sequence)).collect()
    }

    /// What was stored; nothing if it is something else.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let entries = bytes.chunks(ENTRY).map(|entry| {
            let (shard, sequence) = entry.split_first_chunk::<8>()?;
            Some((Shard(*shard), Sequence::from_bytes(sequence.try_into().ok()?)?))
        });
        entries.collect::<Option<_>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Timestamp;
    use proptest::prelude::*;

    fn sequence(number: u64) -> Sequence {
        number.to_string().parse().expect("a number")
    }

    fn noted(entries: &[(&str, u64)]) -> SetAside {
        let mut aside = SetAside::default();
        for (shard, number) in entries {
            aside.insert(Shard::of(shard), sequence(*number));
        }
        aside
    }

    #[test]
    fn what_was_sent_is_dropped() {
        let mut marks = HighWaterMarks::default();
        for shard in ["one", "other"] {
            marks.raise(Shard::of(shard), sequence(9), Timestamp::from_unix_millis(0));
        }
        let mut aside = noted(&[("one", 3), ("one", 4), ("one", 7), ("other", 3), ("old", 8)]);
        aside.retain(Shard::of("one"), sequence(4), &marks);
        assert_eq!(aside, noted(&[("one", 4), ("one", 7), ("other", 3)]));
    }

    proptest! {
        #[test]
        fn it_survives_being_stored(entries in prop::collection::vec((".{1,40}", any::<u64>()), 0..20)) {
            let mut aside = SetAside::default();
            for (shard, number) in entries {
                aside.insert(Shard::of(&shard), sequence(number));
            }
            prop_assert_eq!(SetAside::from_bytes(&aside.to_bytes()), Some(aside));
        }

        #[test]
        fn other_bytes_are_not_it(bytes in prop::collection::vec(any::<u8>(), 1..28)) {
            prop_assert_eq!(SetAside::from_bytes(&bytes), None);
        }
    }
}

//! The changes that a view has passed without folding them.
//!
//! Consecutive changes of one shard that are set aside are one note, a [run](Run) with the first and the last of them. A
//! view that cannot be read sets aside whole batches, so it has one note for each shard.
//!
//! # The bound
//!
//! Only rows that no feature has written are set aside one by one, with folded changes in between. When a view has
//! [128 notes](MAX_RUNS), the rest of a batch is set aside with the first change that is; it can be redriven like all others.
//! So beyond 128, a shard adds one note in each of its batches, and the next batch drops it. A note takes 48 bytes, and is
//! dropped with the mark of its shard.
//!
//! Changes that are [refused](super::Fold::refuses) and have a letter are noted in the same way, in a set of their own. Whoever has
//! sent the letters drops these notes at once, and no write adds more than there is room for.

use std::collections::BTreeSet;

use super::{Change, HighWaterMarks, Sequence, Shard};

/// The changes that a view has set aside and whose dead letters may not have been sent. They are noted in the
/// write that raises the mark above them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SetAside(BTreeSet<Run>);

/// Changes of a shard that were set aside, with no other one of that view in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    shard: Shard,
    first: Sequence,
    last: Sequence,
}

/// The number of notes from which on the rest of a batch is set aside as well.
const MAX_RUNS: usize = 128;
/// Shard, first and last sequence number.
const RUN: usize = 8 + 2 * Sequence::BYTES;

impl SetAside {
    /// True if nothing is noted.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// True if there is no room for further notes.
    pub fn is_full(&self) -> bool {
        self.0.len() >= MAX_RUNS
    }

    /// True if there are more notes than there is room for.
    pub fn is_overfull(&self) -> bool {
        self.0.len() > MAX_RUNS
    }

    /// True if this change of a shard is noted.
    pub fn has(&self, shard: Shard, sequence: Sequence) -> bool {
        self.0.iter().any(|run| run.shard == shard && (run.first..=run.last).contains(&sequence))
    }

    /// The noted ones of these changes of a shard.
    pub fn among(&self, shard: Shard, changes: &[&Change]) -> Vec<Sequence> {
        let sequences = changes.iter().map(|change| change.sequence);
        sequences.filter(|sequence| self.has(shard, *sequence)).collect()
    }

    /// Notes a change. `before` is the change of that shard right before it, if that is known to be noted.
    pub fn insert(&mut self, shard: Shard, before: Option<Sequence>, sequence: Sequence) {
        let run = before.and_then(|before| {
            self.0.iter().copied().find(|run| run.shard == shard && run.last == before)
        });
        let first = match run {
            Some(run) => {
                self.0.remove(&run);
                run.first
            }
            None => sequence,
        };
        self.0.insert(Run { shard, first, last: sequence });
    }

    /// Drops notes whose dead letters were sent: those of a shard before `batch`, because the batch before it was
    /// acknowledged, and those of shards without a mark.
    pub fn retain(&mut self, shard: Shard, batch: Sequence, marks: &HighWaterMarks) {
        self.0.retain(|run| match run.shard == shard {
            true => run.last >= batch,
            false => marks.knows(run.shard),
        });
    }

    /// Drops notes of a shard up to a change, whose letters were sent, and those of shards without a mark.
    pub fn drop_through(&mut self, shard: Shard, last: Sequence, marks: &HighWaterMarks) {
        self.0.retain(|run| match run.shard == shard {
            true => run.last > last,
            false => marks.knows(run.shard),
        });
    }

    /// As it is stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() * RUN);
        for Run { shard, first, last } in &self.0 {
            bytes.extend(shard.0);
            bytes.extend(first.to_bytes());
            bytes.extend(last.to_bytes());
        }
        bytes
    }

    /// Reads what was stored; `None` if it is malformed.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let runs = bytes.chunks(RUN).map(|run| {
            let (shard, run) = run.split_first_chunk::<8>()?;
            let (first, last) = run.split_first_chunk::<{ Sequence::BYTES }>()?;
            let first = Sequence::from_bytes(*first)?;
            Some(Run {
                shard: Shard(*shard),
                first,
                last: Sequence::from_bytes(last.try_into().ok()?)?,
            })
        });
        runs.collect::<Option<_>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::values::Timestamp;
    use proptest::prelude::*;

    fn sequence(number: u64) -> Sequence {
        number.to_string().parse().expect("a number")
    }

    fn noted(entries: &[(&str, u64)]) -> SetAside {
        let mut aside = SetAside::default();
        for (shard, number) in entries {
            aside.insert(Shard::of(shard), None, sequence(*number));
        }
        aside
    }

    #[test]
    fn what_is_set_aside_one_after_another_is_one_note() {
        let (one, other) = (Shard::of("one"), Shard::of("other"));
        let mut aside = noted(&[("other", 3)]);
        for (before, number) in [(None, 3), (Some(3), 5), (Some(5), 6), (Some(7), 8)] {
            aside.insert(one, before.map(sequence), sequence(number));
        }
        assert_eq!(aside.to_bytes().len(), 3 * RUN);
        let has = |number| aside.has(one, sequence(number));
        assert_eq!([2, 3, 4, 6, 7, 8].map(has), [false, true, true, true, false, true]);
        assert!(!aside.has(other, sequence(4)));
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
                aside.insert(Shard::of(&shard), None, sequence(number));
            }
            prop_assert_eq!(SetAside::from_bytes(&aside.to_bytes()), Some(aside));
        }

        #[test]
        fn other_bytes_are_not_it(bytes in prop::collection::vec(any::<u8>(), 1..48)) {
            prop_assert_eq!(SetAside::from_bytes(&bytes), None);
        }
    }
}

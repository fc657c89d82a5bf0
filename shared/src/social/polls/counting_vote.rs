//! The vote of a person that a poll's view has counted.

use super::{PollRules, VoteHistory};
use crate::platform::projection::CountedValue;
use crate::platform::values::{Packer, Timestamp, Unpacker};

/// The vote of a person that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CountingVote {
    /// The index of its choice.
    pub(super) choice: Option<u8>,
    /// The instant of the vote, in milliseconds since the poll opened. If the poll ends before it, another vote counts.
    pub(super) from: i64,
}

impl CountingVote {
    /// The counting vote of a history; empty if no vote counts.
    pub(super) fn of(voted: &VoteHistory, rules: &PollRules, end: Timestamp) -> Option<Self> {
        let (at, cast) = voted.between(rules.opens_at, end, &rules.choices).next_back()?;
        let index = rules.choices.iter().position(|choice| choice.as_str() == cast.as_str());
        let choice = index.and_then(|index| u8::try_from(index).ok());
        Some(Self { choice, from: at.unix_millis() - rules.opens_at.unix_millis() })
    }
}

impl CountedValue for CountingVote {
    fn pack(self, packer: &mut Packer) {
        packer.number(self.choice.map_or(0, |choice| u64::from(choice) + 1));
        packer.number(self.from.unsigned_abs());
    }

    fn unpack(unpacker: &mut Unpacker<'_>) -> Option<Self> {
        let choice = match unpacker.number()? {
            0 => None,
            index => Some(u8::try_from(index - 1).ok()?),
        };
        Some(Self { choice, from: i64::try_from(unpacker.number()?).ok()? })
    }
}

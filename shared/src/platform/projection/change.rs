//! A change of one fact, as the stream delivers it.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::Redriven;
use crate::platform::dynamo::item::{Item, Key};
use crate::platform::values::Timestamp;

/// The most digits of a sequence number.
const MOST_DIGITS: usize = 40;

/// A change of one row of the table of facts.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub key: Key,
    /// The row before; `None` if it did not exist.
    pub before: Option<Item>,
    /// The row after; `None` if it was deleted.
    pub after: Option<Item>,
    /// The position of the change in its shard.
    pub sequence: Sequence,
    /// When it happened, to the second or so.
    pub at: Timestamp,
    /// Set if the change could not be folded before and comes back.
    pub redriven: Option<Redriven>,
}

impl Change {
    /// True unless the change comes back for another view.
    pub fn concerns(&self, view: &Key) -> bool {
        self.redriven.as_ref().is_none_or(|redriven| redriven.view == *view)
    }
}

/// A shard of a stream, by a digest of its id: 64 bits, of a few hundred shards that a table has within two days.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard(pub(super) [u8; 8]);

impl Shard {
    pub fn of(id: &str) -> Self {
        let digest = ring::digest::digest(&ring::digest::SHA256, id.as_bytes());
        let mut first = [0; 8];
        first.copy_from_slice(&digest.as_ref()[..8]);
        Self(first)
    }

    /// The part that a shard belongs to, for a view that is spread over `parts` parts by shard.
    pub fn part(self, parts: u8) -> u8 {
        self.0[7] % parts.max(1)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a shard: 16 of 0-9 and a-f")]
pub struct ShardError;

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let is_digest =
            text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let number = u64::from_str_radix(text, 16).ok().filter(|_| is_digest);
        number.map(|number| Self(number.to_be_bytes())).ok_or(ShardError)
    }
}

/// The sequence number of a change: up to 40 digits, greater for a later change of the same shard.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Sequence {
    /// Two digits a byte, right-aligned.
    digits: [u8; MOST_DIGITS / 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a sequence number of 1 to 40 digits")]
pub struct SequenceError;

impl Sequence {
    /// How many bytes it takes.
    pub(super) const BYTES: usize = MOST_DIGITS / 2;

    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        self.digits
    }

    pub(super) fn from_bytes(digits: [u8; Self::BYTES]) -> Option<Self> {
        digits.iter().all(|two| two >> 4 < 10 && two & 0xf < 10).then_some(Self { digits })
    }
}

impl FromStr for Sequence {
    type Err = SequenceError;

    fn from_str(text: &str) -> Result<Self, SequenceError> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number || text.len() > MOST_DIGITS {
            return Err(SequenceError);
        }
        let mut digits = [0; Self::BYTES];
        for (place, digit) in text.bytes().rev().enumerate() {
            let shift = if place % 2 == 0 { 0 } else { 4 };
            digits[Self::BYTES - 1 - place / 2] |= (digit - b'0') << shift;
        }
        Ok(Self { digits })
    }
}

impl fmt::Display for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits: String =
            self.digits.iter().map(|two| format!("{}{}", two >> 4, two & 0xf)).collect();
        let significant = digits.trim_start_matches('0');
        f.write_str(if significant.is_empty() { "0" } else { significant })
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Ord for Sequence {
    fn cmp(&self, other: &Self) -> Ordering {
        self.digits.cmp(&other.digits)
    }
}

impl PartialOrd for Sequence {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_sequence_number_survives_its_text(text in "[1-9][0-9]{0,39}") {
            let sequence: Sequence = text.parse().expect("a number");
            prop_assert_eq!(sequence.to_string(), text);
            prop_assert_eq!(Sequence::from_bytes(sequence.to_bytes()), Some(sequence));
        }

        #[test]
        fn a_shard_survives_its_text(id in ".{0,40}") {
            let shard = Shard::of(&id);
            prop_assert_eq!(shard.to_string().parse(), Ok(shard));
        }

        #[test]
        fn numbers_are_in_order(one: u128, other: u128) {
            let sequence = |number: u128| number.to_string().parse::<Sequence>().expect("a number");
            prop_assert_eq!(sequence(one).cmp(&sequence(other)), one.cmp(&other));
        }
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", "-1", "1e3", "٣", "12345678901234567890123456789012345678901"] {
            assert_eq!(text.parse::<Sequence>(), Err(SequenceError), "{text}");
        }
        for text in ["", "+123456789abcdef", "0123456789ABCDEF", "0123456789abcdef0"] {
            assert_eq!(text.parse::<Shard>(), Err(ShardError), "{text}");
        }
    }
}

//! All votes of one viewer in one poll. Only the poll says which vote counts, and it may be closed early long after.
//!
//! ```text
//! votes    a set with an element for each vote: its instant and its choice (vote_encoding.rs)
//! bytes    the length of all elements, or more
//! ```
//!
//! A vote is one write that adds to the set. It is idempotent and order-independent. Several votes of one instant are all kept: the
//! greatest one counts, if the poll has that choice.
//!
//! # The bound
//!
//! A row has room for elements of 72% of [`Limits::row_bytes`], 47,160 bytes: about four thousand votes for choices of three or four
//! letters. A change has the row twice, before and after, and twice as JSON if it becomes a dead letter and comes back. That is below
//! [`Limits::block_bytes`] in both places. (JSON takes three more bytes for each element, which has at least nine: four thirds.)
//!
//! The bound holds for concurrent writers. A vote adds its length to `bytes` in the same update, on the condition that `bytes` leaves
//! room for it and that it is not there yet. So a repeated vote adds nothing, and counts as recorded. No writer weighs a row before it
//! writes, so votes in flight cannot exceed the bound.
//!
//! `bytes` is missing if the row was erased, and is too high if an erasure removed something at the same moment. So before a vote is refused permanently, the row in the refusal is weighed, and `bytes` is corrected if it is too
//! high and nobody has changed it since.

use super::vote_encoding;
use crate::platform::dynamo::item::{Item, Row};
use crate::platform::dynamo::limits::value_bytes;
use crate::platform::dynamo::{DynamoError, Limits};
use crate::platform::values::{Choice, Timestamp};

/// A withdrawal in a row. No choice can have this text.
const WITHDRAWN: &str = "~";
/// When the row was erased. Votes from before that are no longer recorded.
pub const ERASED_AT: &str = "erased_at";
/// When the last vote was recorded.
pub const RECORDED_AT: &str = "recorded_at";
pub const VOTES: &str = "votes";
/// How long they are together.
pub const BYTES: &str = "bytes";

/// One vote. The greatest of several votes of one instant counts: choices are ordered byte by byte, and a withdrawal is greater
/// than any choice.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cast {
    For(Choice),
    /// For none: the vote is taken back.
    Withdrawn,
}

impl Cast {
    /// A vote for a choice, or a withdrawal.
    pub fn new(choice: Option<Choice>) -> Self {
        choice.map_or(Self::Withdrawn, Self::For)
    }

    /// As the row has it.
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::For(choice) => choice.as_str(),
            Self::Withdrawn => WITHDRAWN,
        }
    }

    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            WITHDRAWN => Some(Self::Withdrawn),
            choice => Choice::new(choice).ok().map(Self::For),
        }
    }

    fn is_among(&self, choices: &[Choice]) -> bool {
        match self {
            Self::For(choice) => choices.contains(choice),
            Self::Withdrawn => true,
        }
    }
}

/// The votes of a viewer, by instant and in the order in which they count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VoteHistory(Vec<(Timestamp, Cast)>);

impl VoteHistory {
    /// Reads it from its row.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let Some(set) = row.item.get(VOTES) else { return Ok(Self::default()) };
        let read = set.as_ss().ok();
        let read = read.and_then(|set| set.iter().map(|it| vote_encoding::read(it)).collect());
        let mut votes: Vec<_> = read.ok_or_else(|| row.corrupt(VOTES, "a set of votes"))?;
        votes.sort_unstable();
        Ok(Self(votes))
    }

    /// The vote that counts between two instants, the second excluded, among these choices.
    pub fn vote(&self, opens_at: Timestamp, end: Timestamp, choices: &[Choice]) -> Option<&Choice> {
        match self.between(opens_at, end, choices).next_back()? {
            (_, Cast::For(choice)) => Some(choice),
            (_, Cast::Withdrawn) => None,
        }
    }

    /// True if there is this vote at an instant.
    pub fn has(&self, at: Timestamp, cast: &Cast) -> bool {
        self.0.binary_search_by(|(of, one)| (of, one).cmp(&(&at, cast))).is_ok()
    }

    /// The counting vote of each instant in a range, the end excluded, earliest first.
    pub(super) fn between(
        &self,
        opens_at: Timestamp,
        end: Timestamp,
        choices: &[Choice],
    ) -> impl DoubleEndedIterator<Item = (Timestamp, &Cast)> {
        let from = self.0.partition_point(|(at, _)| *at < opens_at);
        // A range that ends before it begins is empty.
        let until = self.0.partition_point(|(at, _)| *at < end).max(from);
        let instants = self.0[from..until].chunk_by(|(one, _), (other, _)| one == other);
        instants.filter_map(|votes| {
            let greatest = votes.iter().rfind(|(_, cast)| cast.is_among(choices));
            greatest.map(|(at, cast)| (*at, cast))
        })
    }
}

/// The bytes of votes that a row has room for.
pub(super) fn max_bytes(limits: &Limits) -> usize {
    limits.row_bytes / 100 * 72
}

pub(super) fn bytes(row: &Item) -> usize {
    row.get(VOTES).map_or(0, value_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::types::AttributeValue;

    fn history(votes: &[(i64, &[&str])]) -> VoteHistory {
        let element = |at, text| {
            vote_encoding::write(
                Timestamp::from_unix_millis(at),
                &Cast::parse(text).expect("a vote"),
            )
        };
        let elements =
            votes.iter().flat_map(|(at, votes)| votes.iter().map(|text| element(*at, text)));
        let item = Item::from([(VOTES.to_owned(), AttributeValue::Ss(elements.collect()))]);
        VoteHistory::read(&Row { table: "facts", item }).expect("a history")
    }

    #[test]
    fn the_last_vote_within_the_time_counts() {
        let at = Timestamp::from_unix_millis;
        let [red, blue] = ["red", "blue"].map(|text| Choice::new(text).expect("a choice"));
        let choices = [red.clone(), blue.clone()];
        let votes: &[(i64, &[&str])] = &[
            (10, &["red", "blue", "zoo"]),
            (20, &["green"]),
            (30, &["blue"]),
            (40, &["~", "red"]),
        ];
        let votes = history(votes);
        let vote = |from, to| votes.vote(at(from), at(to), &choices);
        assert_eq!(vote(0, 10), None);
        assert_eq!(vote(10, 11), Some(&red), "the greatest that is a choice");
        assert_eq!(vote(0, 30), Some(&red), "green is no choice");
        assert_eq!(vote(20, 30), None);
        assert_eq!(vote(0, 31), Some(&blue));
        assert_eq!(vote(0, 41), None, "withdrawn");
        assert_eq!(vote(41, 0), None);
        assert!(votes.has(at(10), &Cast::For(blue)) && !votes.has(at(11), &Cast::Withdrawn));
    }

    #[test]
    fn a_change_of_a_full_row_fits_into_a_block() {
        let most = max_bytes(&Limits::DYNAMODB);
        assert_eq!(most, 47_160);
        // As it waits, and as JSON of the shortest elements.
        let overhead = 2_048;
        assert!(2 * most + overhead <= Limits::DYNAMODB.block_bytes);
        assert!(2 * (most / 9 * 12) + overhead <= Limits::DYNAMODB.block_bytes);
    }
}

//! How one viewer voted in one poll: all of it, since only the poll says which vote counts, and its end may come forward
//! long after.
//!
//! The row has an attribute for each instant at which the viewer voted: the set of what they voted then. So a vote is one
//! write that adds to a set, and says the same however often it is repeated and in whatever order votes come. Of several
//! votes of one instant all are kept: the greatest counts, but only if the poll has such a choice.

use std::collections::{BTreeMap, BTreeSet};

use super::erasure;
use crate::dynamo::DynamoError;
use crate::dynamo::item::Row;
use crate::values::{Choice, Timestamp};

/// What stands for a withdrawal in a row. No choice can be that.
const WITHDRAWN: &str = "~";
/// When the row was erased. Votes from before are recorded no more.
pub const ERASED_AT: &str = "erased_at";

/// One vote. Of several of one instant the greatest counts: choices are ordered byte by byte, and a withdrawal is
/// greater than any.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cast {
    /// For a choice.
    For(Choice),
    /// For none: the vote is taken back.
    Withdrawn,
}

impl Cast {
    /// A vote for a choice, or a withdrawal.
    #[must_use]
    pub fn of(choice: Option<Choice>) -> Self {
        choice.map_or(Self::Withdrawn, Self::For)
    }

    /// As the row has it.
    pub(super) fn as_str(&self) -> &str {
        match self {
            Self::For(choice) => choice.as_str(),
            Self::Withdrawn => WITHDRAWN,
        }
    }

    fn parse(text: &str) -> Option<Self> {
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

/// What a viewer voted, by instant.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History(BTreeMap<Timestamp, BTreeSet<Cast>>);

impl History {
    /// Reads it from its row.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let mut votes = BTreeMap::new();
        for name in erasure::votes(&row.item) {
            let at = Timestamp::parse(name).map_err(|_| row.corrupt(name, "an instant"))?;
            let set = row.item.get(name).and_then(|value| value.as_ss().ok());
            let cast = set.and_then(|set| set.iter().map(|text| Cast::parse(text)).collect());
            votes.insert(at, cast.ok_or_else(|| row.corrupt(name, "a set of choices"))?);
        }
        Ok(Self(votes))
    }

    /// The vote that counts between two instants, the second excluded, among these choices.
    #[must_use]
    pub fn vote(&self, opens_at: Timestamp, end: Timestamp, choices: &[Choice]) -> Option<&Choice> {
        match self.between(opens_at, end, choices).next_back()? {
            (_, Cast::For(choice)) => Some(choice),
            (_, Cast::Withdrawn) => None,
        }
    }

    /// Whether this was voted at an instant.
    #[must_use]
    pub fn has(&self, at: Timestamp, cast: &Cast) -> bool {
        self.0.get(&at).is_some_and(|votes| votes.contains(cast))
    }

    /// What counts of the votes from one instant to another, the second excluded, the earliest first.
    pub(super) fn between(
        &self,
        opens_at: Timestamp,
        end: Timestamp,
        choices: &[Choice],
    ) -> impl DoubleEndedIterator<Item = (Timestamp, &Cast)> {
        // Nothing is within, if it ends before it begins.
        let within = self.0.range(opens_at..end.max(opens_at));
        within.filter_map(|(at, votes)| {
            let greatest = votes.iter().rfind(|cast| cast.is_among(choices));
            greatest.map(|cast| (*at, cast))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_dynamodb::types::AttributeValue;

    fn history(votes: &[(i64, &[&str])]) -> History {
        let item = votes.iter().map(|(at, votes)| {
            let votes = votes.iter().map(|vote| (*vote).to_owned()).collect();
            (Timestamp::from_unix_millis(*at).to_string(), AttributeValue::Ss(votes))
        });
        History::read(&Row { table: "facts", item: item.collect() }).expect("a history")
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
}

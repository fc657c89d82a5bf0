//! How one viewer voted in one poll: all of it, since only the poll's time says which vote counts, and its end may
//! come forward long after.
//!
//! The row has an attribute for each instant at which the viewer voted, whose value is the choice. So a vote is one
//! write of one row that says the same however often it is repeated and in whatever order votes come: on a tie the
//! value that is greater byte by byte stays, and what stands for a withdrawal is greater than any choice.

use std::collections::BTreeMap;

use super::erasure;
use crate::dynamo::DynamoError;
use crate::dynamo::item::Row;
use crate::values::{Choice, Timestamp};

/// What stands for a withdrawal: greater than any choice.
pub(super) const WITHDRAWN: &str = "~";
/// When the row was erased. Votes from before are recorded no more.
pub const ERASED_AT: &str = "erased_at";

/// What a viewer voted, by instant; nothing where they took their vote back.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct History(BTreeMap<Timestamp, Option<Choice>>);

impl History {
    /// Reads it from its row.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let mut votes = BTreeMap::new();
        for name in erasure::votes(&row.item) {
            let wrong = || row.corrupt(name, "an instant");
            let at = Timestamp::parse(name).map_err(|_| wrong())?;
            let vote = match row.text(name)? {
                WITHDRAWN => None,
                choice => Some(Choice::new(choice).map_err(|_| row.corrupt(name, "a choice"))?),
            };
            votes.insert(at, vote);
        }
        Ok(Self(votes))
    }

    /// The vote that counts between two instants, the second excluded, among these choices.
    #[must_use]
    pub fn vote(&self, opens_at: Timestamp, end: Timestamp, choices: &[Choice]) -> Option<&Choice> {
        if opens_at >= end {
            return None;
        }
        let within = self.0.range(opens_at..end).rev().map(|(_, vote)| vote.as_ref());
        let mut counting = within.filter(|vote| vote.is_none_or(|it| choices.contains(it)));
        counting.next().flatten()
    }

    /// What was voted at an instant, if anything was: nothing within, if the vote was taken back.
    #[must_use]
    pub fn at(&self, at: Timestamp) -> Option<Option<&Choice>> {
        self.0.get(&at).map(Option::as_ref)
    }

    /// The votes from one instant to another, the second excluded, the earliest first.
    pub(super) fn between(
        &self,
        opens_at: Timestamp,
        closes_at: Timestamp,
    ) -> impl Iterator<Item = (Timestamp, Option<&Choice>)> {
        self.0.range(opens_at..closes_at).map(|(at, vote)| (*at, vote.as_ref()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dynamo::item::text;

    fn history(votes: &[(i64, &str)]) -> History {
        let item = votes
            .iter()
            .map(|(at, vote)| (Timestamp::from_unix_millis(*at).to_string(), text(*vote)));
        History::read(&Row { table: "facts", item: item.collect() }).expect("a history")
    }

    #[test]
    fn the_last_vote_within_the_time_counts() {
        let at = Timestamp::from_unix_millis;
        let [red, blue] = ["red", "blue"].map(|text| Choice::new(text).expect("a choice"));
        let choices = [red.clone(), blue.clone()];
        let votes = history(&[(10, "red"), (20, "green"), (30, "blue"), (40, WITHDRAWN)]);
        let vote = |from, to| votes.vote(at(from), at(to), &choices);
        assert_eq!(vote(0, 10), None);
        assert_eq!(vote(10, 11), Some(&red));
        assert_eq!(vote(0, 30), Some(&red), "green is no choice");
        assert_eq!(vote(20, 30), None);
        assert_eq!(vote(0, 31), Some(&blue));
        assert_eq!(vote(0, 41), None, "withdrawn");
        assert_eq!(vote(41, 0), None);
    }
}

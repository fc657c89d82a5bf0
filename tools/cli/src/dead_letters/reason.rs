//! Reasons as they are grouped and selected.
//!
//! The writer gives one of a few fixed words. Whoever may send to the dead-letter queue can give any word,
//! and a different one for each letter, so all other words are one group, `other`, as in logs and metrics.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use shared::platform::dead_letters::{DeadLetter, is_reason, known_reason};

use crate::Failure;

/// The group of words that are none of the writer's.
const OTHER: &str = "other";

/// Letters of which reason are meant: a group of the list, or the very word that a letter gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reason(String);

/// How many letters each group has.
#[derive(Debug, Default)]
pub(super) struct Groups(BTreeMap<&'static str, u64>);

/// The group of a letter in the list.
pub(super) fn group(letter: &DeadLetter) -> &'static str {
    known_reason(&letter.reason)
}

impl FromStr for Reason {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match is_reason(text) {
            true => Ok(Self(text.to_owned())),
            false => {
                Err("expected 1 to 40 characters of a-z -, as `dead-letters list` prints them")
            }
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Reason {
    /// True if this letter is meant.
    pub(super) fn selects(&self, letter: &DeadLetter) -> bool {
        self.0 == letter.reason || self.0 == group(letter)
    }

    /// True for the words that the writer gives, and for the group of all others.
    fn is_known(&self) -> bool {
        self.0 == OTHER || known_reason(&self.0) == self.0
    }
}

impl Groups {
    /// Counts a letter.
    pub(super) fn add(&mut self, letter: &DeadLetter) {
        *self.0.entry(group(letter)).or_default() += 1;
    }

    /// Checks a reason that no letter has. One of the writer's may well have none.
    ///
    /// # Errors
    /// [`Failure::Usage`] names the reasons that there are.
    pub(super) fn check(&self, reason: &Reason) -> Result<(), Failure> {
        if reason.is_known() {
            return Ok(());
        }
        let groups = self.0.iter().map(|(group, count)| format!("{group} ({count})"));
        let groups = match self.0.is_empty() {
            true => "there are none at all".to_owned(),
            false => format!("there are {}", groups.collect::<Vec<_>>().join(", ")),
        };
        Err(Failure::Usage(format!("no dead letter has the reason {reason}; {groups}")))
    }
}

#[cfg(test)]
mod tests {
    use shared::platform::dead_letters::REASONS;

    use super::*;

    #[test]
    fn a_reason_is_checked_against_what_there_is() {
        for known in REASONS.into_iter().chain([OTHER]) {
            Groups::default().check(&known.parse().unwrap()).unwrap();
        }
        let groups = Groups([("conflict", 2), ("other", 1)].into());
        let error = groups.check(&"conflicts".parse().unwrap()).unwrap_err();
        let expected = "no dead letter has the reason conflicts; there are conflict (2), other (1)";
        assert_eq!(error.to_string(), expected);
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn what_cannot_be_a_reason_is_none() {
        for text in ["", "Conflict", "a b", &"x".repeat(41)] {
            assert!(text.parse::<Reason>().is_err(), "{text}");
        }
    }
}

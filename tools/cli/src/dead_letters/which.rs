//! The letters that a command is about: some ids, all of a reason, or all.

use std::num::NonZeroUsize;

use clap::{ArgGroup, Args};
use shared::platform::dead_letters::{DeadLetter, DeadLetters};
use shared::platform::values::Timestamp;

use super::each_letter;
use super::reason::{Groups, Reason};
use crate::Failure;

#[derive(Debug, Args)]
#[group(skip)]
#[command(group(ArgGroup::new("which").args(["ids", "reason", "all"]).required(true)))]
pub(crate) struct Which {
    /// Their ids.
    ids: Vec<String>,
    /// All of this reason that there are now.
    #[arg(long)]
    reason: Option<Reason>,
    /// All that there are now.
    #[arg(long)]
    all: bool,
    /// No more than this many of them, the latest.
    #[arg(long, conflicts_with = "ids")]
    limit: Option<NonZeroUsize>,
}

impl Which {
    /// True if they were not named one by one. What comes while the command runs is not meant then, and
    /// what goes is not missed.
    pub(super) fn is_selection(&self) -> bool {
        self.ids.is_empty()
    }

    /// True if all letters are meant. Those that can never be applied are not sent again then.
    pub(super) fn is_all(&self) -> bool {
        self.all
    }

    /// True if this letter is still meant: it may have come back with another reason since.
    pub(super) fn selects(&self, letter: &DeadLetter) -> bool {
        self.reason.as_ref().is_none_or(|reason| reason.selects(letter))
    }

    /// True if this letter is meant to be sent again. Of what nobody named, those are left out of which nothing
    /// shows where they come from.
    pub(super) fn redrives(&self, letter: &DeadLetter) -> bool {
        self.selects(letter) && (!self.is_selection() || letter.is_verified())
    }

    /// Their ids, those of a selection the oldest first.
    pub(super) async fn ids(&self, letters: &DeadLetters) -> Result<Vec<String>, Failure> {
        self.ids_where(letters, |_| true).await
    }

    /// The ids of those that are to be sent again, and how many are left out as unverified.
    pub(super) async fn ids_to_redrive(
        &self,
        letters: &DeadLetters,
    ) -> Result<(Vec<String>, u64), Failure> {
        let mut left_out = 0;
        let ids = self.ids_where(letters, |letter| {
            let redrives = self.redrives(letter);
            left_out += u64::from(!redrives);
            redrives
        });
        let ids = ids.await?;
        Ok((ids, left_out))
    }

    async fn ids_where(
        &self,
        letters: &DeadLetters,
        mut wanted: impl FnMut(&DeadLetter) -> bool,
    ) -> Result<Vec<String>, Failure> {
        if !self.is_selection() {
            return Ok(self.ids.clone());
        }
        let (mut latest, mut groups) = (Latest::new(self.limit), Groups::default());
        let mut found = false;
        each_letter(letters, |letter| {
            groups.add(&letter);
            if self.selects(&letter) {
                found = true;
                if wanted(&letter) {
                    latest.add(letter.stored_at, letter.id.clone(), letter.id);
                }
            }
        })
        .await?;
        match &self.reason {
            Some(reason) if !found => groups.check(reason)?,
            _ => {}
        }
        Ok(latest.in_order())
    }
}

/// The latest of what is added, as many as are wanted; no more than twice as many are kept meanwhile.
#[derive(Debug)]
pub(super) struct Latest<T> {
    limit: Option<usize>,
    kept: Vec<((Timestamp, String), T)>,
}

impl<T> Latest<T> {
    pub(super) fn new(limit: Option<NonZeroUsize>) -> Self {
        Self { limit: limit.map(NonZeroUsize::get), kept: Vec::new() }
    }

    /// Adds something that was stored at an instant; ties are in the order of ids.
    pub(super) fn add(&mut self, stored_at: Timestamp, id: String, value: T) {
        self.kept.push(((stored_at, id), value));
        if self.limit.is_some_and(|limit| self.kept.len() >= limit.saturating_mul(2)) {
            self.sort();
        }
    }

    /// What was kept, the oldest first.
    pub(super) fn in_order(mut self) -> Vec<T> {
        self.sort();
        self.kept.into_iter().map(|(_, value)| value).collect()
    }

    fn sort(&mut self) {
        self.kept.sort_by(|(a, _), (b, _)| a.cmp(b));
        let extra = self.limit.map_or(0, |limit| self.kept.len().saturating_sub(limit));
        self.kept.drain(..extra);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_kept_in_order() {
        let numbers = [5, 3, 9, 1, 7, 9, 2, 8];
        for (limit, expected) in [
            (None, vec![1, 2, 3, 5, 7, 8, 9, 9]),
            (NonZeroUsize::new(1), vec![9]),
            (NonZeroUsize::new(3), vec![8, 9, 9]),
            (NonZeroUsize::new(99), vec![1, 2, 3, 5, 7, 8, 9, 9]),
        ] {
            let mut latest = Latest::new(limit);
            for number in numbers {
                latest.add(Timestamp::from_unix_millis(number), "id".to_owned(), number);
                assert!(limit.is_none_or(|limit| latest.kept.len() <= 2 * limit.get()));
            }
            assert_eq!(latest.in_order(), expected);
        }
    }
}

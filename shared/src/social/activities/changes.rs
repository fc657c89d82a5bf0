//! The change log: the activities that were edited or deleted recently, for readers that cache records.
//!
//! A cached record is right as long as nobody has changed it. A change appends the [fingerprint](ActivityFingerprint) of its activity to
//! this log before it is acknowledged, and every page reads the log. So a page costs one read unit for all of its cached records,
//! instead of one for each.
//!
//! # Why nothing is missed
//!
//! The log is one small item that counts its entries and has the latest of them. It uses no clock: a reader has missed as many
//! entries as the difference of two counts. A reader that was frozen for an hour, a change that was appended late, or clocks that
//! differ make no difference. If the item has fewer entries than the reader has missed, or was begun again (its `epoch` differs),
//! the reader clears its cache ([`RecordCache`](super::RecordCache)).
//!
//! A change is appended after the record is written. A reader that reads the record in between caches the new one and drops it
//! needlessly; a reader with the old one finds the entry before the change is acknowledged. A retried append counts twice, which
//! drops a record twice.
//!
//! The log also has entries for actors whose rows leave lists (`kinds`), in the same append as the edit.
//!
//! # Why a table that was replaced is noticed
//!
//! Each append ends with a *mark*, a random number. So a count alone is not enough: the entry that was the latest at the last
//! reading has to be at the same index. A table that was restored to an earlier state and has reached the same count since has
//! other marks, whatever was changed. A table that has not reached that count yet is behind what its reader has seen before the
//! request, which is impossible for one table.
//!
//! # Bounds
//!
//! The log does not grow. An append is refused if the list would have more entries than fit into 1 KB (`appending.rs`). Entries
//! are only removed at the front, by cuts of a fixed number, or all at once with a new epoch, and only added at the end. So the
//! list always has the last of the counted entries, whoever appends and cuts at the same time.
//!
//! # Why copies
//!
//! One item gives 3,000 strongly consistent reads a second, and a page reads the log each time. So there are
//! several, each under a partition key of its own, and each change is appended to all of them: an edit costs as
//! many write units. A reader chooses one for as long as it lives.
//!
//! The first copy has the number of copies. That number only grows, and a writer reads it when it appends to the first copy,
//! before the others. So it appends to every copy that a reader can have chosen before that. A reader that chooses a newer copy
//! reads the first copy after that, and then the records, which have the change already.

use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;

use super::ActivityKey;
use crate::platform::crypto::hash::fingerprint;
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::Row;
use crate::platform::values::ActorId;

/// The number of copies of the log, 1 to 100. Each is enough for a thousand pages a second, a third of the 3,000 reads of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Copies(usize);

/// A text is not a number of copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected 1 to 100 copies of the change log")]
pub struct CopiesError;

impl Copies {
    /// For a single reader.
    pub const ONE: Self = Self(1);

    /// As a number.
    pub fn get(self) -> usize {
        self.0
    }
}

impl Default for Copies {
    /// Enough for 4,000 pages a second.
    fn default() -> Self {
        Self(4)
    }
}

impl FromStr for Copies {
    type Err = CopiesError;

    fn from_str(text: &str) -> Result<Self, CopiesError> {
        text.parse().ok().filter(|copies| (1..=100).contains(copies)).map(Self).ok_or(CopiesError)
    }
}

/// The attribute of the first copy with the number of copies.
const COPIES_NAME: &str = "copies";

/// An entry of the change log: an activity as the first 48 bits of a digest, or a mark. If two activities have the same
/// fingerprint, a reader only drops more than it has to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActivityFingerprint(u64);

impl ActivityFingerprint {
    /// The fingerprint of an activity of one actor.
    pub fn of(key: &ActivityKey) -> Self {
        Self::of_text(&format!("{}#{}", key.activity_id, key.actor_id))
    }

    /// The fingerprint for the lists by kind of an actor, if rows leave them. No activity has an empty id.
    pub fn of_lists(actor: &ActorId) -> Self {
        Self::of_text(&format!("#{actor}"))
    }

    /// A random mark of an append.
    pub(super) fn mark() -> Self {
        Self(fastrand::u32(..).into())
    }

    /// As it is stored.
    pub(super) fn get(self) -> u64 {
        self.0
    }

    fn of_text(text: &str) -> Self {
        Self(fingerprint(text))
    }
}

/// A copy of the log as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// The epoch of the item; `None` before the first change.
    epoch: Option<String>,
    /// How many entries there were.
    count: i64,
    /// The latest of them, in order.
    latest: Vec<ActivityFingerprint>,
    /// The number of copies, in the first one.
    copies: Option<Copies>,
}

impl Changes {
    /// Reads a copy.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let corrupt = || row.corrupt("latest", "a list of whole numbers");
        let copies = row.item.contains_key(COPIES_NAME).then(|| row.number(COPIES_NAME));
        let latest = match row.item.get("latest") {
            Some(AttributeValue::L(values)) => values.iter().map(|value| {
                let digits = value.as_n().map_err(|_| corrupt())?;
                digits.parse().map(ActivityFingerprint).map_err(|_| corrupt())
            }),
            _ => return Err(corrupt()),
        };
        Ok(Self {
            epoch: Some(row.text("epoch")?.to_owned()),
            count: row.number("count")?,
            latest: latest.collect::<Result<_, _>>()?,
            copies: copies.transpose()?.and_then(|copies| copies.to_string().parse().ok()),
        })
    }

    /// The number of copies, by the first of them; one if it does not say.
    pub fn copies(&self) -> Copies {
        self.copies.unwrap_or(Copies(1))
    }

    /// How many entries it holds.
    pub(super) fn len(&self) -> usize {
        self.latest.len()
    }

    /// The changes since an earlier reading of the same copy; `None` if they are unknown.
    pub fn since(&self, earlier: &Self) -> Option<&[ActivityFingerprint]> {
        if earlier.epoch.is_none() {
            // The first append creates the item. A reader that saw no item has missed all appends.
            let all = usize::try_from(self.count).is_ok_and(|count| count == self.latest.len());
            return all.then_some(&self.latest);
        }
        let missed = usize::try_from(self.count - earlier.count).ok()?;
        let (known, missed) =
            self.latest.split_at_checked(self.latest.len().checked_sub(missed)?)?;
        let goes_on = self.epoch == earlier.epoch && known.last()? == earlier.latest.last()?;
        goes_on.then_some(missed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(epoch: &str, count: i64, latest: &[u64]) -> Changes {
        let latest = latest.iter().copied().map(ActivityFingerprint).collect();
        Changes { epoch: Some(epoch.to_owned()), count, latest, copies: None }
    }

    #[test]
    fn what_was_missed_is_known_or_nothing_is() {
        let now = changes("a", 7, &[5, 6, 7]);
        let since = |earlier: &Changes| now.since(earlier).map(<[_]>::len);
        assert_eq!(since(&now), Some(0));
        assert_eq!(since(&changes("a", 6, &[5, 6])), Some(1));
        assert_eq!(now.since(&changes("a", 5, &[5])), Some(&now.latest[1..]));
        assert_eq!(since(&changes("a", 4, &[4])), None, "more than it can tell");
        assert_eq!(since(&changes("a", 3, &[3])), None, "more than it holds");
        assert_eq!(since(&changes("a", 8, &[8])), None, "fewer than there were");
        assert_eq!(since(&changes("b", 7, &[5, 6, 7])), None, "begun again");
        assert_eq!(since(&Changes::default()), None);
        assert_eq!(changes("a", 2, &[1, 2]).since(&Changes::default()).map(<[_]>::len), Some(2));
        assert_eq!(Changes::default().since(&Changes::default()).map(<[_]>::len), Some(0));
        assert_eq!(Changes::default().since(&now), None, "gone");
    }

    #[test]
    fn a_log_that_went_back_and_came_to_the_same_count_is_another() {
        let seen = changes("a", 6, &[1, 101, 2, 102, 3, 103]);
        // The same activities were changed again, in the same order.
        let now = changes("a", 6, &[1, 101, 2, 202, 3, 203]);
        assert_eq!(now.since(&seen), None);
        assert_eq!(changes("a", 8, &[2, 202, 3, 203, 4, 204]).since(&seen), None);
        assert_eq!(
            changes("a", 8, &[2, 102, 3, 103, 4, 204]).since(&seen).map(<[_]>::len),
            Some(2)
        );
    }
}

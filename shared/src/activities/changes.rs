//! The change log: which activities were edited or deleted a moment ago, for readers that keep records.
//!
//! A record that a reader has kept is right as long as nobody has changed it. Whoever changes one appends its
//! [fingerprint](Fingerprint) to this log before the change is acknowledged, and every page reads the log along
//! with what else it reads. So a page costs one read unit for all of its records that are kept, instead of one
//! for each.
//!
//! # Why nothing is missed
//!
//! The log is one small item that counts its changes and holds the latest of them. It has no clock: what a
//! reader has missed is the difference of two counts. A reader that was frozen for an hour, a change that was
//! appended late, clocks a minute apart make no difference. If the item does not hold as many changes as the
//! reader has missed, or was created again (its `epoch` differs), the reader trusts nothing that it kept
//! ([`KeptRecords`](super::KeptRecords)).
//!
//! A change is appended after the record says it. A reader that reads the record in between has kept the new
//! one and drops it for nothing; one that kept the old one is told before the change is acknowledged. An append
//! that was repeated counts twice, which drops a record twice.
//!
//! The log says besides of whose lists rows leave (`kinds`), in the same append as the edit that has them leave.
//!
//! # Why copies
//!
//! One item gives 3,000 strongly consistent reads a second, and a page reads the log each time. So there are
//! several, each under a partition key of its own, and each change is appended to all of them: an edit costs as
//! many write units. A reader chooses one for as long as it lives.
//!
//! The first copy says how many there are. That number only grows, and a writer learns it when it appends to the
//! first copy, before it goes on to the others. So it appends to every copy that a reader can have chosen before
//! that. A reader that chooses a newer one reads the first copy after that, and records after that again, which
//! have the change already.

use std::str::FromStr;

use aws_sdk_dynamodb::types::AttributeValue;
use futures::future::try_join_all;
use ring::digest::{SHA256, digest};

use super::{Activities, ActivityKey};
use crate::dynamo::item::{Item, Row, list, number, text};
use crate::dynamo::{DynamoError, Update};
use crate::ledger::LedgerKey;
use crate::runtime::deadline::Deadline;
use crate::values::ActorId;

/// How many copies of the log there are, 1 to 100. Each is enough for a thousand pages a second: an item gives 3,000
/// reads, of which that is a third.
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
    #[must_use]
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

/// Changes that a copy holds at most. With more it is cut to [`KEPT`], so an append costs one write unit.
const MOST: usize = 64;
/// The latest changes, which stay.
const KEPT: usize = 32;
/// The attribute of the first copy that says how many there are.
const COPIES_NAME: &str = "copies";
/// How the partition keys of the copies begin.
const LOG: &str = "changes#";

/// An activity in the change log: the first 48 bits of a digest. Two of the same fingerprint only make a
/// reader forget more than it has to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// That of an activity, as one actor speaks of it.
    #[must_use]
    pub fn of(key: &ActivityKey) -> Self {
        Self::of_text(&format!("{}#{}", key.activity_id, key.actor_id))
    }

    /// That of the lists by kind of an actor, of which rows leave some. No activity has an empty id.
    #[must_use]
    pub fn of_lists(actor: &ActorId) -> Self {
        Self::of_text(&format!("#{actor}"))
    }

    fn of_text(text: &str) -> Self {
        let digest = digest(&SHA256, text.as_bytes());
        Self(digest.as_ref().iter().take(6).fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }
}

/// Where a copy of the log is in the ledger.
#[must_use]
pub fn copy(number: usize) -> LedgerKey {
    LedgerKey { pk: format!("{LOG}{number}"), sk: "changes".to_owned() }
}

/// True if a partition key is that of a copy.
pub(super) fn is_copy(pk: &str) -> bool {
    pk.starts_with(LOG)
}

/// A copy of the log as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// Which life of the item; nothing before the first change.
    epoch: Option<String>,
    /// How many changes there were.
    count: i64,
    /// The latest of them, in order.
    latest: Vec<Fingerprint>,
    /// How many copies there are, if this is the first one.
    copies: Option<Copies>,
}

impl Changes {
    /// Reads a copy; where there is none, nothing was changed yet.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let corrupt = || row.corrupt("latest", "a list of whole numbers");
        let copies = row.item.contains_key(COPIES_NAME).then(|| row.number(COPIES_NAME));
        let latest = match row.item.get("latest") {
            Some(AttributeValue::L(values)) => values.iter().map(|value| {
                let digits = value.as_n().map_err(|_| corrupt())?;
                digits.parse().map(Fingerprint).map_err(|_| corrupt())
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

    /// How many copies there are, as the first of them says; that one alone, before it says so.
    #[must_use]
    pub fn copies(&self) -> Copies {
        self.copies.unwrap_or(Copies(1))
    }

    /// What was changed since an earlier reading of the same copy; nothing if that is not known.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<&[Fingerprint]> {
        // The first change makes the item. Whoever saw none has missed all that were ever made.
        let same = earlier.epoch.is_none() || earlier.epoch == self.epoch;
        let missed = usize::try_from(self.count - earlier.count).ok().filter(|_| same)?;
        self.latest.get(self.latest.len().checked_sub(missed)?..)
    }
}

impl Activities {
    /// Appends changes to the log, for all readers.
    ///
    /// # Errors
    /// [`DynamoError`]; some may be told.
    pub(super) async fn append_changes(
        &self,
        changes: impl Iterator<Item = Fingerprint>,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let changes: Vec<_> = changes.collect();
        if changes.is_empty() {
            return Ok(());
        }
        let mut copies = self.append_to(0, &changes, deadline).await?;
        if copies < self.copies {
            self.add_copies(deadline).await?;
            copies = self.copies;
        }
        let others = (1..copies.get()).map(|copy| self.append_to(copy, &changes, deadline));
        try_join_all(others).await.map(|_| ())
    }

    /// Has readers know that there are more copies.
    async fn add_copies(&self, deadline: Deadline) -> Result<(), DynamoError> {
        let add = Update {
            expression: "SET copies = :copies",
            condition: Some("attribute_not_exists(copies) OR copies < :copies"),
            values: vec![(":copies", number(self.copies.get()))],
            ..Update::default()
        };
        self.ledger.table().update(copy(0).into_item(), add, deadline).await.map(|_| ())
    }

    /// Appends changes to one copy. Returns how many copies there are, if it is the first.
    async fn append_to(
        &self,
        number_of_copy: usize,
        changes: &[Fingerprint],
        deadline: Deadline,
    ) -> Result<Copies, DynamoError> {
        let (table, key) = (self.ledger.table(), copy(number_of_copy).into_item());
        let append = Update {
            expression: "SET latest = list_append(if_not_exists(latest, :none), :changes), \
                         epoch = if_not_exists(epoch, :epoch) ADD #count :more",
            names: vec![("#count", "count")],
            values: vec![
                (":none", list(Vec::new())),
                (
                    ":changes",
                    list(changes.iter().map(|Fingerprint(change)| number(*change)).collect()),
                ),
                (":epoch", text(format!("{:016x}", fastrand::u64(..)))),
                (":more", number(changes.len())),
            ],
            ..Update::default()
        };
        let now = table.update(key.clone(), append, deadline).await?.unwrap_or_default();
        let now = Changes::read(&table.row(now))?;
        if now.latest.len() > MOST {
            self.cut(key, &now, deadline).await?;
        }
        Ok(now.copies())
    }

    /// Leaves a copy with the latest changes, unless somebody has appended another since: they cut it.
    async fn cut(&self, key: Item, now: &Changes, deadline: Deadline) -> Result<(), DynamoError> {
        let gone = (0..now.latest.len() - KEPT).map(|index| format!("latest[{index}]"));
        let cut = Update {
            expression: &format!("REMOVE {}", gone.collect::<Vec<_>>().join(", ")),
            condition: Some("#count = :seen AND epoch = :epoch AND size(latest) = :size"),
            names: vec![("#count", "count")],
            values: vec![
                (":seen", number(now.count)),
                (":epoch", text(now.epoch.clone().unwrap_or_default())),
                (":size", number(now.latest.len())),
            ],
        };
        self.ledger.table().update(key, cut, deadline).await.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes(epoch: &str, count: i64, latest: &[u64]) -> Changes {
        let latest = latest.iter().copied().map(Fingerprint).collect();
        Changes { epoch: Some(epoch.to_owned()), count, latest, copies: None }
    }

    #[test]
    fn what_was_missed_is_known_or_nothing_is() {
        let now = changes("a", 7, &[5, 6, 7]);
        let since = |earlier: &Changes| now.since(earlier).map(<[_]>::len);
        assert_eq!(since(&now), Some(0));
        assert_eq!(since(&changes("a", 6, &[])), Some(1));
        assert_eq!(now.since(&changes("a", 4, &[])), Some(now.latest.as_slice()));
        assert_eq!(since(&changes("a", 3, &[])), None, "more than it holds");
        assert_eq!(since(&changes("a", 8, &[])), None, "fewer than there were");
        assert_eq!(since(&changes("b", 7, &[])), None, "made anew");
        assert_eq!(since(&Changes::default()), None);
        assert_eq!(changes("a", 2, &[1, 2]).since(&Changes::default()).map(<[_]>::len), Some(2));
        assert_eq!(Changes::default().since(&Changes::default()).map(<[_]>::len), Some(0));
        assert_eq!(Changes::default().since(&now), None, "gone");
    }
}

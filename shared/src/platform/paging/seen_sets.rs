//! Stores what clients have [seen](super::seen) if their cursors have no room for it: an item of the ledger for each set, among the
//! items about one person.
//!
//! A set never changes, because clients may use any cursor that they have kept. It expires two days after it was last written. The
//! erasure of a person deletes these items at once, because no command in flight can bring them back.

use std::fmt::Display;
use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;

use super::seen::Stored;
use super::{List, NewSet, Seen, SeenSet};
use crate::platform::crypto::hash::hex;
use crate::platform::dynamo::item::number;
use crate::platform::dynamo::keys;
use crate::platform::dynamo::{Dynamo, DynamoError};
use crate::platform::ledger::{FORGET_AT, Ledger, LedgerKey, PERSON};
use crate::platform::stored::BLOCK;
use crate::platform::values::Timestamp;

/// How long a client may stay away and still find what it has seen.
const AWAY: Duration = Duration::from_secs(86_400);
/// How long a set is kept. A poll that reads a set with less than [`AWAY`] left writes it again.
const KEPT: Duration = Duration::from_secs(2 * 86_400);
const FINGERPRINTS: &str = "fingerprints";

keys! {stored
    (person: String, set: String) = "person#{person}#seen", "{set}" in Ledger as "seen set" {
        says: "what a client was shown of a list about {person}",
        most: BLOCK, grows: "what a client was shown within the last hour, or since the poll that is walked began, up to 18,000 activities",
        at_bound: "the window of `newer_cursor` is shorter",
        test: "`what_there_is_no_room_for_is_not_looked_for_again`",
        later: Never, erased: Gone,
    };
}

/// The partition with what clients have seen of lists about one person.
pub fn seen_sets(person: impl Display) -> String {
    format!("{PERSON}{person}#seen")
}

fn key(list: &List, id: &[u8]) -> LedgerKey {
    LedgerKey { pk: list.seen_sets().to_owned(), sk: hex(id) }
}

/// The sets. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SeenSets(Ledger);

impl SeenSets {
    pub fn new(ledger: &Ledger) -> Self {
        Self(ledger.clone())
    }

    /// The same, with the client of a piece of work.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self(self.0.over(dynamo))
    }

    /// Everything that was shown according to a cursor. Makes no call if the cursor has all of it.
    ///
    /// # Errors
    /// [`DynamoError`]. A missing set is not an error.
    pub async fn read(
        &self,
        list: &List,
        seen: &Seen,
        now: Timestamp,
    ) -> Result<SeenSet, DynamoError> {
        let Some(stored) = seen.stored else { return Ok(seen.with_stored(None)) };
        let row = self.0.get(key(list, &stored.id)).await?;
        let stored = row.as_ref().and_then(|row| {
            let bytes = row.item.get(FINGERPRINTS)?.as_b().ok()?.as_ref();
            let is_old = row.number(FORGET_AT).ok()? < now.unix_seconds_after(AWAY);
            Some(Stored { bytes, is_old })
        });
        Ok(seen.with_stored(stored))
    }

    /// Stores a set.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be stored.
    pub async fn keep(&self, list: &List, new: NewSet, now: Timestamp) -> Result<(), DynamoError> {
        let attributes = [
            (FINGERPRINTS.to_owned(), AttributeValue::B(new.bytes.into())),
            (FORGET_AT.to_owned(), number(now.unix_seconds_after(KEPT))),
        ];
        self.0.put(key(list, &new.id), attributes).await
    }
}

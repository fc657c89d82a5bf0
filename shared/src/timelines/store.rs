//! What clients have [seen](super::seen) and their cursors have no room for: an item of the ledger for each set,
//! among what is about one person alone.
//!
//! A set is never changed, because clients may ask with any cursor that they have kept. It expires two days after it was
//! last written. The erasure of a person deletes these items outright: no command in flight can bring them back.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;

use super::seen::Stored;
use super::{NewSet, Seen, SeenSet, Timelines};
use crate::crypto::hash::hex;
use crate::dynamo::DynamoError;
use crate::dynamo::item::number;
use crate::ledger::{FORGET_AT, LedgerKey, PERSON};
use crate::runtime::deadline::Deadline;
use crate::values::{Timestamp, ViewerId};

/// How long a client may stay away and find what it has seen.
const AWAY: Duration = Duration::from_secs(86_400);
/// How long a set is kept. Whoever reads one that has less than [`AWAY`] left writes it again.
const KEPT: Duration = Duration::from_secs(2 * 86_400);
const FINGERPRINTS: &str = "fingerprints";

/// The partition of what the clients of a viewer have seen.
#[must_use]
pub fn seen_sets(viewer: &ViewerId) -> String {
    format!("{PERSON}{viewer}#seen")
}

fn key(viewer: &ViewerId, id: &[u8]) -> LedgerKey {
    LedgerKey { pk: seen_sets(viewer), sk: hex(id) }
}

impl Timelines {
    /// All that a cursor says was shown. Calls nothing if the cursor holds all of it.
    ///
    /// # Errors
    /// [`DynamoError`]. That a set is gone is none.
    pub async fn seen(
        &self,
        viewer: &ViewerId,
        seen: &Seen,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<SeenSet, DynamoError> {
        let Some(stored) = seen.stored else { return Ok(seen.with_stored(None)) };
        let row = self.ledger.get(key(viewer, &stored.id), deadline).await?;
        let stored = row.as_ref().and_then(|row| {
            let bytes = row.item.get(FINGERPRINTS)?.as_b().ok()?.as_ref();
            let is_old = row.number(FORGET_AT).ok()? < seconds_after(now, AWAY);
            Some(Stored { bytes, is_old })
        });
        Ok(seen.with_stored(stored))
    }

    /// Stores a set.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be stored.
    pub async fn keep_seen(
        &self,
        viewer: &ViewerId,
        new: NewSet,
        now: Timestamp,
        deadline: Deadline,
    ) -> Result<(), DynamoError> {
        let attributes = [
            (FINGERPRINTS.to_owned(), AttributeValue::B(new.bytes.into())),
            (FORGET_AT.to_owned(), number(seconds_after(now, KEPT))),
        ];
        self.ledger.put(key(viewer, &new.id), attributes, deadline).await
    }
}

fn seconds_after(now: Timestamp, duration: Duration) -> i64 {
    now.unix_millis() / 1000 + i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}

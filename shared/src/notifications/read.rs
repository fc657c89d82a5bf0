//! A notification that was read: an item among the views, which expires.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::group::LikeGroup;
use super::keys::{Place, of_view};
use crate::dynamo::DynamoError;
use crate::dynamo::item::{Item, Key, Row, number, text};
use crate::ledger::FORGET_AT;
use crate::values::{ActivityId, Retention, Timestamp, ViewerId};

/// A notification that was read. It never changes; where it turns out to be longer, another takes its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadNotification {
    /// What was liked.
    pub activity_id: ActivityId,
    /// How many likes of that activity were read before.
    pub behind: u64,
    /// When it was read.
    pub read_at: Timestamp,
    /// The likes it is about.
    pub group: LikeGroup,
}

impl ReadNotification {
    /// Its place among those of its viewer.
    #[must_use]
    pub fn place(&self) -> Place {
        Place {
            last_at: self.group.last_at,
            activity_id: self.activity_id.clone(),
            behind: Some(self.behind),
        }
    }

    /// Its item. It expires when it has been read for as long as those are kept.
    #[must_use]
    pub fn write(&self, viewer: &ViewerId, kept: Retention) -> Item {
        let mut item = self.place().key(viewer).into_item();
        item.insert("read_at".to_owned(), text(self.read_at.to_string()));
        item.insert("likes".to_owned(), AttributeValue::B(Blob::new(self.group.to_bytes())));
        item.insert(FORGET_AT.to_owned(), number(kept.expires_at(self.read_at)));
        item
    }

    /// Reads it from its item; nothing if it has expired.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>, now: Timestamp) -> Result<Option<Self>, DynamoError> {
        if row.number(FORGET_AT)? <= now.unix_millis().div_euclid(1000) {
            return Ok(None);
        }
        let key = of_view(&Key::of(row)?).and_then(|(_, place)| place);
        let (activity_id, behind) = key
            .and_then(|place| Some((place.activity_id, place.behind?)))
            .ok_or_else(|| row.corrupt("sk", "the key of a notification that was read"))?;
        let group = row.packed("likes", "likes", LikeGroup::from_bytes)?;
        let group = group.ok_or_else(|| row.corrupt("likes", "likes"))?;
        let read_at = row.parsed("read_at", "an instant")?;
        Ok(Some(Self { activity_id, behind, read_at, group }))
    }
}

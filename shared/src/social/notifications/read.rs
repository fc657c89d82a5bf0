//! Read notifications: items among the views, which expire.

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::group::LikeGroup;
use super::keys::NotificationKey;
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{Item, Row, number, text};
use crate::platform::ledger::FORGET_AT;
use crate::platform::values::{ActivityId, Packer, Retention, Timestamp, Unpacker, ViewerId};

/// A read notification of an activity. Its item changes only when a viewer is erased; if it turns
/// out to be longer, another item replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadNotification {
    /// The number of likes of that activity before it.
    pub behind: u64,
    pub read_at: Timestamp,
    pub group: LikeGroup,
}

impl ReadNotification {
    /// Its position among those of its viewer.
    pub fn position(&self, activity: &ActivityId) -> NotificationKey {
        let (last_at, activity_id) = (self.group.last_at, activity.clone());
        NotificationKey { last_at, activity_id, behind: Some(self.behind) }
    }

    /// Its item, with its expiry.
    pub fn write(&self, position: &NotificationKey, viewer: &ViewerId, kept: Retention) -> Item {
        let mut item = position.key(viewer).into_item();
        item.insert("read_at".to_owned(), text(self.read_at.to_string()));
        item.insert("likes".to_owned(), AttributeValue::B(Blob::new(self.group.to_bytes())));
        item.insert(FORGET_AT.to_owned(), number(kept.expires_at(self.read_at)));
        item
    }

    /// Reads it from its item; `None` if it has expired.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>, now: Timestamp) -> Result<Option<Self>, DynamoError> {
        if row.number(FORGET_AT)? <= now.unix_millis().div_euclid(1000) {
            return Ok(None);
        }
        let behind = NotificationKey::of(row)?.behind;
        let behind = behind.ok_or_else(|| row.corrupt("sk", "the key of one that was read"))?;
        let group = row.packed("likes", "likes", LikeGroup::from_bytes)?;
        let group = group.ok_or_else(|| row.corrupt("likes", "likes"))?;
        let read_at = row.parsed("read_at", "an instant")?;
        Ok(Some(Self { behind, read_at, group }))
    }

    /// Its form in the view of its activity.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut packer = Packer::default();
        packer.number(self.behind);
        packer.instant(self.read_at);
        self.group.pack(&mut packer);
        packer.into_bytes()
    }

    /// Reads it from the view of its activity; `None` if it is malformed.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut unpacker = Unpacker::new(bytes);
        let (behind, read_at) = (unpacker.number()?, unpacker.instant()?);
        let group = LikeGroup::unpack(&mut unpacker)?;
        unpacker.is_empty().then_some(Self { behind, read_at, group })
    }
}

//! A viewer's inbox: the number of unread likes, and the notifications that changed last.

use std::collections::{BTreeMap, VecDeque};

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use super::keys::NotificationKey;
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{Item, Row, number};
use crate::platform::projection::State;
use crate::platform::values::{ActivityId, Packer, Timestamp, Unpacker, ViewerId};

/// The size up to which notifications are listed in the inbox itself. The whole inbox is then less than a kilobyte.
const LISTED: usize = 720;

/// The unread likes of an activity, as the inbox of its actor lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LikesListing {
    pub count: u64,
    /// The latest of them.
    pub last_at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadNotification {
    pub position: NotificationKey,
    pub count: u64,
}

impl UnreadNotification {
    /// Its item, if it is not listed in the inbox.
    pub fn write(&self, viewer: &ViewerId) -> Item {
        let mut item = self.position.key(viewer).into_item();
        item.insert("count".to_owned(), number(self.count));
        item
    }

    /// Reads it from its item.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        Ok(Self { position: NotificationKey::of(row)?, count: row.count("count")? })
    }
}

/// One viewer's inbox.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inbox {
    /// Unread likes of all notifications.
    unread: u64,
    /// The activities with unread likes that changed last, the latest at the end. The others have items.
    listed: VecDeque<UnreadNotification>,
    spills: BTreeMap<NotificationKey, Option<UnreadNotification>>,
}

impl Inbox {
    /// How many likes are unread.
    pub fn unread(&self) -> u64 {
        self.unread
    }

    /// An inbox with these listings, the latest at the end.
    pub fn recounted(listings: &[(ActivityId, LikesListing)]) -> Self {
        let mut inbox = Self::default();
        listings
            .iter()
            .for_each(|(activity, listing)| inbox.update(activity, None, Some(*listing)));
        inbox
    }

    /// The notifications that are listed in the inbox itself.
    pub fn listed(&self) -> impl Iterator<Item = &UnreadNotification> {
        self.listed.iter()
    }

    /// True if all unread notifications are listed in the inbox itself.
    pub(super) fn lists_all(&self) -> bool {
        self.listed.iter().map(|one| one.count).sum::<u64>() == self.unread
    }

    /// Notifications that were moved to items since the inbox was read, and items to delete.
    pub fn spills(&self) -> &BTreeMap<NotificationKey, Option<UnreadNotification>> {
        &self.spills
    }

    /// Applies the change of one activity.
    pub fn update(
        &mut self,
        activity: &ActivityId,
        before: Option<LikesListing>,
        after: Option<LikesListing>,
    ) {
        let count = |listing: Option<LikesListing>| listing.map_or(0, |listing| listing.count);
        self.unread = (self.unread + count(after)).saturating_sub(count(before));
        let listed = |LikesListing { last_at, count }| UnreadNotification {
            position: NotificationKey { last_at, activity_id: activity.clone(), behind: None },
            count,
        };
        if let Some(UnreadNotification { position, .. }) = before.map(listed) {
            let there = self.listed.len();
            self.listed.retain(|one| one.position.activity_id != *activity);
            if self.listed.len() == there {
                self.spills.insert(position, None);
            }
        }
        self.listed.extend(after.map(listed));
        while self.pack().len() > LISTED && self.listed.len() > 1 {
            let longest_ago = self.listed.pop_front();
            self.spills.extend(longest_ago.map(|listed| (listed.position.clone(), Some(listed))));
        }
    }

    fn pack(&self) -> Vec<u8> {
        let mut packer = Packer::default();
        for UnreadNotification { position, count } in &self.listed {
            packer.instant(position.last_at);
            packer.text(position.activity_id.as_str());
            packer.number(*count);
        }
        packer.into_bytes()
    }
}

impl State for Inbox {
    const ATTRIBUTES: &'static [&'static str] = &["unread", "listed"];

    fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let listed = row.packed("listed", "notifications", |bytes| {
            let (mut unpacker, mut listed) = (Unpacker::new(bytes), VecDeque::new());
            while !unpacker.is_empty() {
                let last_at = unpacker.instant()?;
                let activity_id = ActivityId::new(unpacker.text()?).ok()?;
                let position = NotificationKey { last_at, activity_id, behind: None };
                listed.push_back(UnreadNotification { position, count: unpacker.number()? });
            }
            Some(listed)
        })?;
        let (unread, listed) = (row.count("unread")?, listed.unwrap_or_default());
        Ok(Self { unread, listed, spills: BTreeMap::new() })
    }

    fn write(&self) -> Item {
        Item::from([
            ("unread".to_owned(), number(self.unread)),
            ("listed".to_owned(), AttributeValue::B(Blob::new(self.pack()))),
        ])
    }
}

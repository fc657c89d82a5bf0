//! The keys of notifications: marks among the facts, the rest among the views.
//!
//! All notifications of one viewer are in one partition of the views:
//!
//! ```text
//! pk                      sk                        what
//! notifications#<viewer>  inbox                     the number of unread likes, and the latest notifications
//! notifications#<viewer>  <last_at>#<activity>      a further unread one
//! notifications#<viewer>  <last_at>#<activity>#<n>  a read one; N likes of that activity were in those before
//! ```
//!
//! In descending order of keys, the inbox comes first, and then the notifications in the order in which they are shown.

use crate::platform::dynamo::item::{Key, Row};
use crate::platform::dynamo::{DynamoError, keys};
use crate::platform::stored::ROW;
use crate::platform::values::{ActivityId, Origin, Timestamp, ViewerId};

/// The prefix of the partitions of the views with notifications.
pub const NOTIFICATIONS: &str = "notifications#";
const INBOX: &str = "inbox";

keys! {
    /// Viewer and activity of the mark with this key.
    pub fn of_mark -> (ViewerId, ActivityId);
    partitions {
        /// The marks of a viewer, among the facts.
        pub marks(viewer: ViewerId) = "read#{viewer}";
        /// The notifications of a viewer, among the views.
        pub of_viewer(viewer: ViewerId) = "notifications#{viewer}";
    }
    items {
        /// The mark of a viewer and an activity, among the facts.
        pub mark(viewer: ViewerId, activity: ActivityId) = marks(viewer), "{activity}" in Facts as "read mark" {
            says: "how far {viewer} has read the notification of {activity}",
            most: 768, grows: "nothing: one row for a viewer and an activity",
            at_bound: "cannot be exceeded",
            test: "the model test, with repeaters",
            later: Kept, erased: Tombstone,
        } => (viewer, activity);
        /// The note that a message has marked all notifications, among the facts.
        pub all_marked(viewer: ViewerId, origin: Origin) = marks(viewer), "all#{origin}" in Facts as "all read" {
            says: "that {viewer} has read all notifications",
            most: 8_192, grows: "nothing; one for each message that marks all, for 30 days",
            at_bound: "cannot be exceeded",
            test: "the model test",
            later: Never, erased: Tombstone,
        };
        /// A viewer's inbox.
        pub inbox(viewer: ViewerId) = of_viewer(viewer), "inbox" in Views as "inbox" {
            says: "{viewer}'s inbox: what is unread",
            most: ROW, grows: "unread activities, up to 720 bytes of them",
            at_bound: "the one that changed longest ago moves to an item of its own",
            test: "`notifications::marks::all_are_marked_once_for_a_message`",
            later: Kept, erased: Tombstone,
        };
        any_notification(viewer: ViewerId, last_at: Timestamp, rest: String) = of_viewer(viewer), "{last_at}#{rest}" in Views as "notification" {
            says: "a notification of {viewer}",
            most: 1_024, grows: "likes, of which it names four",
            at_bound: "numbers go on, the latest four are named",
            test: "`bounds::many_activities_and_many_marks_of_one_actor_are_in_no_large_transaction`",
            later: Never, erased: Gone,
        };
    }
}

/// True for the key of an inbox, among the views.
pub fn is_inbox(key: &Key) -> bool {
    matches!(of_view(key), Some((_, None)))
}

/// The position of a notification among those of its viewer. Pages are ordered by it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotificationKey {
    /// Its latest like.
    pub last_at: Timestamp,
    pub activity_id: ActivityId,
    /// For a read one: how many likes of that activity were in those before it.
    pub behind: Option<u64>,
}

impl NotificationKey {
    pub fn key(&self, viewer: &ViewerId) -> Key {
        Key { pk: of_viewer(viewer), sk: self.to_text() }
    }

    pub fn to_text(&self) -> String {
        let Self { last_at, activity_id, behind } = self;
        match behind {
            None => format!("{last_at}#{activity_id}"),
            // Padded to the greatest width, so that texts are in the order of numbers.
            Some(behind) => format!("{last_at}#{activity_id}#{behind:020}"),
        }
    }

    /// The position of an item.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`] if it is not a notification.
    pub fn of(row: &Row<'_>) -> Result<Self, DynamoError> {
        let position = of_view(&Key::of(row)?).and_then(|(_, position)| position);
        position.ok_or_else(|| row.corrupt("sk", "the key of a notification"))
    }

    /// Parses a sort key; `None` if it is another one.
    pub fn of_text(text: &str) -> Option<Self> {
        let mut parts = text.split('#');
        let last_at = Timestamp::parse(parts.next()?).ok()?;
        let activity_id = ActivityId::new(parts.next()?).ok()?;
        let behind = parts.next().map(str::parse).transpose().ok()?;
        let position = Self { last_at, activity_id, behind };
        (position.to_text() == text).then_some(position)
    }
}

/// Viewer and position of the notification with this key, among the views; without position for an inbox.
pub fn of_view(key: &Key) -> Option<(ViewerId, Option<NotificationKey>)> {
    let viewer = ViewerId::new(key.pk.strip_prefix(NOTIFICATIONS)?).ok()?;
    match key.sk.as_str() {
        INBOX => Some((viewer, None)),
        text => Some((viewer, Some(NotificationKey::of_text(text)?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn positions() -> impl Strategy<Value = NotificationKey> {
        let at = 0..4_000_000_000_000_i64;
        (at, "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]", proptest::option::of(any::<u64>()))
            .prop_map(|(at, activity, behind)| NotificationKey {
                last_at: Timestamp::from_unix_millis(at),
                activity_id: ActivityId::new(activity).expect("an id"),
                behind,
            })
    }

    proptest! {
        #[test]
        fn keys_say_whose_they_are(viewer in "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]", position in positions()) {
            let viewer = ViewerId::new(viewer).expect("an id");
            prop_assert_eq!(of_view(&position.key(&viewer)), Some((viewer.clone(), Some(position.clone()))));
            prop_assert_eq!(of_view(&inbox(&viewer)), Some((viewer.clone(), None)));
            prop_assert!(inbox(&viewer).sk > position.to_text());
            let mark = mark(&viewer, &position.activity_id);
            prop_assert_eq!(of_mark(&mark.pk, &mark.sk), Some((viewer, position.activity_id)));
            prop_assert_eq!(of_view(&mark), None);
        }

        #[test]
        fn the_latest_is_last(one in positions(), other in positions()) {
            prop_assume!(one.last_at != other.last_at);
            prop_assert_eq!(one.to_text() < other.to_text(), one.last_at < other.last_at);
        }
    }
}

//! The id of a notification.

use std::fmt;

use crate::platform::values::ActivityId;

const KIND: &str = "like";

/// The id of a notification: the activity, and how many of its likes were read before. It does not change when more likes come, or
/// when it is read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotificationId {
    pub activity_id: ActivityId,
    /// How many likes of it were read before.
    pub behind: u64,
}

impl NotificationId {
    /// Parses an id; `None` if it is malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let (behind, activity) = text.strip_prefix(KIND)?.strip_prefix(':')?.split_once(':')?;
        let id =
            Self { activity_id: ActivityId::new(activity).ok()?, behind: behind.parse().ok()? };
        (id.to_string() == text).then_some(id)
    }
}

impl fmt::Display for NotificationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{KIND}:{}:{}", self.behind, self.activity_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_id_survives_its_text(activity in "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]", behind: u64) {
            let id = NotificationId { activity_id: ActivityId::new(activity).expect("an id"), behind };
            prop_assert_eq!(NotificationId::parse(&id.to_string()), Some(id));
        }

        #[test]
        fn other_texts_are_none(text in ".{0,40}") {
            prop_assert!(NotificationId::parse(&text).is_none_or(|id| id.to_string() == text));
        }
    }
}

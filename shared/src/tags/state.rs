//! The state of a tag: of the commands about one activity and person the latest wins, whatever order they arrive in.

use crate::dynamo::item::{Item, Row, text, truth};
use crate::dynamo::{Condition, DynamoError};
use crate::values::Timestamp;

/// Whether somebody is tagged in an activity, and since when. An untag stays on record, so that an older tag that arrives late cannot
/// win.
///
/// The order of the type is the order of victory: by time, and on a tie the untag wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TagState {
    /// True after `tag.created`, false after `tag.deleted`.
    pub tagged: bool,
    /// The `at` of the command that won.
    pub changed_at: Timestamp,
}

impl Ord for TagState {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.changed_at, !self.tagged).cmp(&(other.changed_at, !other.tagged))
    }
}

impl PartialOrd for TagState {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl TagState {
    pub(super) fn write(self) -> Item {
        Item::from([
            ("at".to_owned(), text(self.changed_at.to_string())),
            ("tagged".to_owned(), truth(self.tagged)),
        ])
    }

    /// Reads it from a tag or a listing. The listing of an untag, or an erased one, only has the instant.
    pub(super) fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let changed_at = row.parsed("at", "an instant")?;
        Ok(Self { tagged: row.flag("tagged")?, changed_at })
    }

    /// The condition that it wins over the existing item.
    pub(super) fn wins(self) -> Condition<'static> {
        let later = match self.tagged {
            true => Condition::new("attribute_not_exists(#at) OR #at < :at"),
            false => Condition::new(
                "attribute_not_exists(#at) OR #at < :at OR (#at = :at AND tagged = :yes)",
            )
            .value(":yes", truth(true)),
        };
        later.name("#at", "at").value(":at", text(self.changed_at.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_wins_and_on_a_tie_the_untag() {
        let state =
            |tagged, millis| TagState { tagged, changed_at: Timestamp::from_unix_millis(millis) };
        assert!(state(true, 2) > state(false, 1));
        assert!(state(false, 2) > state(true, 1));
        assert!(state(false, 1) > state(true, 1));
    }
}

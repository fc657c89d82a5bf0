//! What the row of a viewer and an activity says.

use serde::Serialize;

use crate::dynamo::DynamoError;
use crate::dynamo::item::{Item, Row, text, truth};
use crate::values::Timestamp;

/// Whether the viewer likes the activity, and since when that is so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LikeState {
    /// Liked, or no longer.
    pub liked: bool,
    /// The `at` of the command that won.
    pub changed_at: Timestamp,
}

impl LikeState {
    pub(super) fn write(self) -> Item {
        Item::from([
            ("liked".to_owned(), truth(self.liked)),
            ("changed_at".to_owned(), text(self.changed_at.to_string())),
        ])
    }

    /// Reads it from a row.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        Ok(Self { liked: row.flag("liked")?, changed_at: row.parsed("changed_at", "an instant")? })
    }
}

/// What is shown of the likes of an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// How many like it.
    pub count: u64,
    /// Whether the caller does, if it is known who that is.
    pub liked: Option<bool>,
}

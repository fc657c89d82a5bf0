//! The row of a viewer and an activity.

use serde::Serialize;

use crate::dynamo::DynamoError;
use crate::dynamo::item::Row;
use crate::values::Timestamp;

/// Whether the viewer likes the activity, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LikeState {
    /// Liked, or no longer.
    pub liked: bool,
    /// The `at` of the command that won.
    pub changed_at: Timestamp,
}

/// What is on record of a viewer and an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recorded {
    /// Whether the viewer likes it.
    pub state: LikeState,
    /// The earliest like, even if it was undone: the actor is notified of it.
    pub first_liked_at: Option<Timestamp>,
    /// The `at` of the command before, or of this one if it is the first. Rows of an earlier version do not have it.
    pub moved_from: Option<Timestamp>,
}

impl Recorded {
    /// Reads it from a row.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let (liked, changed_at) = (row.flag("liked")?, row.parsed("changed_at", "an instant")?);
        let first_liked_at = row.optional("first_liked_at", "an instant")?;
        let moved_from = row.optional("moved_from", "an instant")?;
        Ok(Self { state: LikeState { liked, changed_at }, first_liked_at, moved_from })
    }
}

/// The likes of an activity, as they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LikeSummary {
    pub count: u64,
    /// Whether the caller likes it; `None` for an unknown caller.
    pub liked: Option<bool>,
}

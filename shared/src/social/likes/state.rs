//! The row of a viewer and an activity.

use serde::Serialize;

use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::Row;
use crate::platform::register::{Register, RegisterAttributes};
use crate::platform::values::Timestamp;

pub(super) const LIKE: RegisterAttributes = RegisterAttributes { on: "liked", at: "changed_at" };

/// The attribute with the instant at which the command that won was recorded.
pub(super) const RECORDED_AT: &str = "recorded_at";

/// What is on record of a viewer and an activity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordedLike {
    /// Whether the viewer likes it.
    pub state: Register,
    /// The earliest like, even if it was undone: the actor is notified of it.
    pub first_liked_at: Option<Timestamp>,
    /// The `at` of the command before, or of this one if it is the first. Rows of erased likes do not have it.
    pub moved_from: Option<Timestamp>,
    /// When the command that won was recorded.
    pub recorded_at: Option<Timestamp>,
    /// The earliest like since which no undo has won; `None` if the viewer does not like it.
    pub liked_since: Option<Timestamp>,
}

impl RecordedLike {
    /// Reads it from a row.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let first_liked_at = row.optional("first_liked_at", "an instant")?;
        let moved_from = row.optional("moved_from", "an instant")?;
        let recorded_at = row.optional(RECORDED_AT, "an instant")?;
        let liked_since = row.optional("liked_since", "an instant")?;
        let state = LIKE.read(row)?;
        Ok(Self { state, first_liked_at, moved_from, recorded_at, liked_since })
    }

    /// True if an entry of the list at this instant is in force, or was until the like moved.
    pub fn lists(&self, entry: Timestamp) -> bool {
        let until = self.state.changed_at;
        self.liked_since.is_some_and(|since| (since..=until).contains(&entry))
    }
}

/// The likes of an activity, as they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LikeSummary {
    pub count: u64,
    /// Whether the caller likes it; `None` for an unknown caller.
    pub liked: Option<bool>,
}

//! What the row of a period says of the mapping of its table's stream.

use crate::dynamo::DynamoError;
use crate::dynamo::item::Row;

/// What is known of the mapping of the stream of a period's table to the projector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum StreamMapping {
    /// None was noted: the table is not made, or was made by a version that knew of none.
    #[default]
    Missing,
    Mapped,
    /// It is gone, since the stream had brought all that is in the archive.
    Folded,
}

impl StreamMapping {
    pub(super) fn name(self) -> Option<&'static str> {
        match self {
            Self::Missing => None,
            Self::Mapped => Some("mapped"),
            Self::Folded => Some("folded"),
        }
    }

    pub(super) fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        match row.optional_text("stream")? {
            None => Ok(Self::Missing),
            Some("mapped") => Ok(Self::Mapped),
            Some("folded") => Ok(Self::Folded),
            Some(_) => Err(row.corrupt("stream", "mapped or folded")),
        }
    }
}

//! Entries as they are written.
//!
//! `BatchWriteItem` takes no conditions, so an entry is a pure function of its activity and its
//! viewer: writing it twice, or late, changes nothing.

use crate::id::{ActorId, ViewerId};

/// One change to one timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryWrite<'a> {
    /// Put the entry there.
    Put {
        /// Whose timeline.
        viewer: &'a ViewerId,
        /// The printed [`SortKey`](crate::SortKey).
        sort_key: &'a str,
        /// Who published the activity.
        actor: &'a ActorId,
        /// When the table may drop it, in unix seconds.
        expires_at: i64,
    },
    /// Take the entry out, whatever it says.
    Erase {
        /// Whose timeline.
        viewer: &'a ViewerId,
        /// The printed [`SortKey`](crate::SortKey).
        sort_key: &'a str,
    },
}

impl<'a> EntryWrite<'a> {
    /// No two entries have the same.
    pub(super) fn key(&self) -> (&'a str, &'a str) {
        match self {
            Self::Put { viewer, sort_key, .. } | Self::Erase { viewer, sort_key } => {
                (viewer.as_str(), sort_key)
            }
        }
    }
}

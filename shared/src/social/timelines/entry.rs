//! Entries as they are written.
//!
//! `BatchWriteItem` takes no conditions, so an entry is a pure function of its activity and its
//! viewer: writing it twice, or late, changes nothing.

use crate::platform::dynamo::{Attributes, BatchItem, keys};
use crate::platform::values::{ActorId, SortKey, ViewerId};

keys! {stored
    (viewer: ViewerId, sort_key: SortKey) = "{viewer}", "{sort_key}" in Timelines as "entry" {
        says: "an entry of {viewer}'s timeline: {sort_key}",
        most: 1_024, grows: "nothing",
        at_bound: "cannot be exceeded",
        test: "the model test",
        later: Derived, erased: Gone,
    };
}

/// One change to one timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryWrite<'a> {
    /// Put the entry there.
    Put {
        viewer: &'a ViewerId,
        /// The printed [`SortKey`](crate::platform::values::SortKey).
        sort_key: &'a str,
        actor: &'a ActorId,
        /// When the table may drop it, in unix seconds.
        expires_at: i64,
    },
    /// Take the entry out, whatever it says.
    Delete {
        viewer: &'a ViewerId,
        /// The printed [`SortKey`](crate::platform::values::SortKey).
        sort_key: &'a str,
    },
}

impl<'a> BatchItem<'a> for EntryWrite<'a> {
    const KEY: [&'static str; 2] = ["viewer_id", "sort_key"];

    #[inline]
    fn key(&self) -> (&'a str, &'a str) {
        match self {
            Self::Put { viewer, sort_key, .. } | Self::Delete { viewer, sort_key } => {
                (viewer.as_str(), sort_key)
            }
        }
    }

    #[inline]
    fn is_put(&self) -> bool {
        matches!(self, Self::Put { .. })
    }

    #[inline]
    fn attributes(&self, to: &mut Attributes<'_>) {
        if let Self::Put { actor, expires_at, .. } = self {
            to.text("actor_id", actor.as_str());
            to.number("expires_at", *expires_at);
        }
    }

    /// The entries of one activity differ in nothing else.
    #[inline]
    fn is_elsewhere(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Put { sort_key, actor, expires_at, .. },
                Self::Put {
                    sort_key: theirs, actor: their_actor, expires_at: their_expiry, ..
                },
            ) => sort_key == theirs && actor == their_actor && expires_at == their_expiry,
            (Self::Delete { sort_key, .. }, Self::Delete { sort_key: theirs, .. }) => {
                sort_key == theirs
            }
            _ => false,
        }
    }
}

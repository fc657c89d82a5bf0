//! What changes among the facts say of a poll.

use super::keys::{self, PollRow};
use super::{History, Rules};
use crate::dynamo::DynamoError;
use crate::dynamo::item::{Item, Row};
use crate::projection::{Change, Who};
use crate::values::{ActorId, Timestamp};

/// What a change of a row of the facts says.
pub(super) enum Said {
    Opened(Rules),
    Ended(ActorId, Timestamp),
    Voted(Voted),
    Nothing,
}

/// How a viewer votes now.
pub(super) struct Voted {
    pub(super) who: Who,
    pub(super) before: History,
    pub(super) after: History,
    /// It comes back, and so out of order.
    pub(super) is_redriven: bool,
}

impl Said {
    /// What a change says.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]: a row that is not what this feature writes.
    pub(super) fn of(change: &Change, facts: &str) -> Result<Self, DynamoError> {
        let row = |item: &Option<Item>| item.clone().map(|item| Row { table: facts, item });
        let (before, after) = (row(&change.before), row(&change.after));
        Ok(match (PollRow::of(&change.key), after) {
            (Some(PollRow::Opened(_)), Some(after)) if before.is_none() => {
                Self::Opened(Rules::read(&after)?)
            }
            (Some(PollRow::End(_, actor)), Some(after)) => {
                Self::Ended(actor, after.parsed("at", "an instant")?)
            }
            (Some(PollRow::Vote(viewer, poll)), after) => {
                let read = |row: Option<Row<'_>>| {
                    row.as_ref().map_or_else(|| Ok(History::default()), History::read)
                };
                Self::Voted(Voted {
                    who: Who::of(&keys::view(&poll), viewer.as_str()),
                    before: read(before)?,
                    after: read(after)?,
                    is_redriven: change.redriven.is_some(),
                })
            }
            _ => Self::Nothing,
        })
    }
}

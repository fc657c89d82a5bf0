//! Marks: how far a viewer has read the notifications of one activity, as a fact.

use super::keys;
use crate::platform::dynamo::item::{Item, Row, number, text};
use crate::platform::dynamo::{Condition, DynamoError};
use crate::platform::facts::Facts;
use crate::platform::ledger::FORGET_AT;
use crate::platform::values::{ActivityId, Timestamp, ViewerId};

/// How far an actor has read the likes of an activity, in the order in which they were counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// The number of likes that were read, from the first on.
    pub through: u64,
    /// The number of likes before the marked notification.
    pub behind: u64,
    pub read_at: Timestamp,
}

impl Mark {
    /// Reads it from a row.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        Ok(Self {
            through: row.count("through")?,
            behind: row.count("behind")?,
            read_at: row.parsed("read_at", "an instant")?,
        })
    }

    fn write(self) -> Item {
        Item::from([
            ("through".to_owned(), number(self.through)),
            ("behind".to_owned(), number(self.behind)),
            ("read_at".to_owned(), text(self.read_at.to_string())),
        ])
    }
}

/// The marks. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Marks {
    facts: Facts,
}

impl Marks {
    pub fn new(facts: &Facts) -> Self {
        Self { facts: facts.clone() }
    }

    /// Records that a viewer has read so far, unless they have read further.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been recorded.
    pub async fn record(
        &self,
        viewer: &ViewerId,
        activity: &ActivityId,
        mark: Mark,
    ) -> Result<(), DynamoError> {
        let key = keys::mark(viewer, activity).into_item();
        let further = Condition::new("attribute_not_exists(through) OR through < :through")
            .value(":through", number(mark.through));
        let table = self.facts.table();
        table.replace(key, mark.write(), &[FORGET_AT], Some(further)).await.map(|_| ())
    }
}

//! The row of a poll.

use aws_sdk_dynamodb::types::AttributeValue;

use super::PollOpened;
use crate::platform::dynamo::DynamoError;
use crate::platform::dynamo::item::{Item, Row, list, text};
use crate::platform::values::{ActorId, Choice, Payload, PollId, Timestamp};

/// The rules that decide which votes of a poll count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollRules {
    /// The actor who may close it early.
    pub actor_id: ActorId,
    /// The choices, in the order in which they are shown.
    pub choices: Vec<Choice>,
    /// The first instant at which a vote counts.
    pub opens_at: Timestamp,
    /// The first instant at which votes no longer count, unless the poll is closed earlier.
    pub closes_at: Timestamp,
}

impl PollRules {
    /// Reads them from an item that has them.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let wrong = || row.corrupt("choices", "a list of choices");
        let list = row.item.get("choices").and_then(|value| value.as_l().ok()).ok_or_else(wrong)?;
        let choice = |value: &AttributeValue| Choice::new(value.as_s().ok()?).ok();
        let choices = list.iter().map(choice).collect::<Option<_>>().ok_or_else(wrong)?;
        Ok(Self {
            actor_id: row.parsed("actor", "the id of an actor")?,
            choices,
            opens_at: row.parsed("opens_at", "an instant")?,
            closes_at: row.parsed("closes_at", "an instant")?,
        })
    }

    pub(super) fn write(&self) -> Item {
        let choices = self.choices.iter().map(|choice| text(choice.as_str())).collect();
        Item::from([
            ("actor".to_owned(), text(self.actor_id.as_str())),
            ("choices".to_owned(), list(choices)),
            ("opens_at".to_owned(), text(self.opens_at.to_string())),
            ("closes_at".to_owned(), text(self.closes_at.to_string())),
        ])
    }
}

/// What was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PollDefinition {
    pub rules: PollRules,
    /// What the product keeps there.
    pub payload: Payload,
}

impl PollDefinition {
    /// Reads it from its row.
    ///
    /// # Errors
    /// [`DynamoError::Corrupt`]
    pub fn read(row: &Row<'_>) -> Result<Self, DynamoError> {
        let payload = Payload::stored(row.text("payload")?)
            .map_err(|_| row.corrupt("payload", "a JSON value of at most 4 KiB"))?;
        Ok(Self { rules: PollRules::read(row)?, payload })
    }

    pub(super) fn write(&self) -> Item {
        let mut item = self.rules.write();
        item.insert("payload".to_owned(), text(self.payload.as_json()));
        item
    }
}

impl From<PollOpened> for (PollId, PollDefinition) {
    fn from(opened: PollOpened) -> Self {
        let PollOpened { poll_id, actor_id, choices, opens_at, closes_at, payload } = opened;
        let rules = PollRules { actor_id, choices, opens_at, closes_at };
        (poll_id, PollDefinition { rules, payload })
    }
}

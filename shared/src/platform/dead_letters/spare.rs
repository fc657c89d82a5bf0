//! Parts of bodies that no letter needs.
//!
//! A part without a letter is either left over or still being stored, because the letter is written last. A write takes no longer than an
//! invocation, so a part that was stored some time ago is left over. A repeated message stores its parts again, with a new instant,
//! before its letter. So a part is only removed if it has not changed since it was read.

use std::collections::HashSet;

use super::DeadLetters;
use super::store::{LETTER, part_key};
use crate::platform::dynamo::item::{Row, text};
use crate::platform::dynamo::{Condition, DynamoError, Query};
use crate::platform::values::Timestamp;

/// A part of a body without a letter, or with the letter of another message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparePart {
    id: String,
    part: String,
    pub stored_at: Timestamp,
}

/// A key of the table, and the message of a letter.
struct SpareKey {
    id: String,
    part: String,
    message_id: Option<String>,
    stored_at: Timestamp,
}

impl DeadLetters {
    /// Reads through all keys for parts that no letter needs.
    pub async fn spare_parts(&self) -> Result<Vec<SparePart>, DynamoError> {
        let keys = self.keys().await?;
        let letters = keys.iter().filter_map(|key| Some((&*key.id, key.message_id.as_deref()?)));
        let letters: HashSet<_> = letters.collect();
        let spare = keys.iter().filter(|key| {
            let message = message_of(&key.part);
            message.is_some_and(|message| !letters.contains(&(&key.id, message)))
        });
        let spare = spare.map(|SpareKey { id, part, stored_at, .. }| SparePart {
            id: id.clone(),
            part: part.clone(),
            stored_at: *stored_at,
        });
        Ok(spare.collect())
    }

    async fn keys(&self) -> Result<Vec<SpareKey>, DynamoError> {
        let query = Query {
            projection: Some("id, #part, message_id, stored_at"),
            names: vec![("#part", "part")],
            ..Query::default()
        };
        self.table.all(query).await?.iter().map(read_key).collect()
    }

    /// Removes a part, unless it has changed since it was read or a letter needs it by now. Returns false if it stays.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be removed.
    pub async fn remove_spare_part(&self, part: &SparePart) -> Result<bool, DynamoError> {
        let letter = self.part(&part.id, LETTER).await?;
        let message = letter.as_ref().map_or(Ok(None), |row| row.optional_text("message_id"))?;
        if message == message_of(&part.part) {
            return Ok(false);
        }
        let seen = Condition::new("stored_at = :seen");
        let seen = seen.value(":seen", text(part.stored_at.to_string()));
        self.table.delete(part_key(&part.id, &part.part), Some(seen)).await
    }
}

fn read_key(row: &Row<'_>) -> Result<SpareKey, DynamoError> {
    Ok(SpareKey {
        id: row.text("id")?.to_owned(),
        part: row.text("part")?.to_owned(),
        message_id: row.optional_text("message_id")?.map(ToOwned::to_owned),
        stored_at: row.parsed("stored_at", "an instant")?,
    })
}

/// The message that brought a part of a body: `body#<message id>#<nnnn>`.
fn message_of(part: &str) -> Option<&str> {
    Some(part.strip_prefix("body#")?.rsplit_once('#')?.0)
}

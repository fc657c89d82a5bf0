//! Parts of bodies that no letter needs.
//!
//! A part without a letter is either left over or on its way: the letter is written last. Nobody writes
//! for longer than an invocation lasts, so one that was stored some time ago is left over. A message that
//! comes again stores its parts once more, with a new instant, before its letter; a part is removed only
//! as it was seen.

use std::collections::HashSet;

use super::super::forgetting::is_delete_refused;
use super::super::item::{Item, Row, text};
use super::{LETTER, part_key};
use crate::deadline::Deadline;
use crate::store::{Store, StoreError};
use crate::timestamp::Timestamp;

/// A part of a body whose letter is not there, or is another message's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SparePart {
    id: String,
    part: String,
    /// When it was stored; unknown of parts that are older than this attribute.
    pub stored_at: Option<Timestamp>,
}

/// A key of the table, and the message that a letter is of.
struct Key {
    id: String,
    part: String,
    message_id: Option<String>,
    stored_at: Option<Timestamp>,
}

impl Store {
    /// Reads through all keys for parts that no letter needs. `deadline` makes the deadline of each step.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn spare_parts(
        &self,
        deadline: impl Fn() -> Deadline,
    ) -> Result<Vec<SparePart>, StoreError> {
        let keys = self.letter_keys(deadline).await?;
        let letters = keys.iter().filter_map(|key| Some((&*key.id, key.message_id.as_deref()?)));
        let letters: HashSet<_> = letters.collect();
        let spare = keys.iter().filter(|key| {
            let message = message_of(&key.part);
            message.is_some_and(|message| !letters.contains(&(&key.id, message)))
        });
        let spare = spare.map(|Key { id, part, stored_at, .. }| SparePart {
            id: id.clone(),
            part: part.clone(),
            stored_at: *stored_at,
        });
        Ok(spare.collect())
    }

    async fn letter_keys(&self, deadline: impl Fn() -> Deadline) -> Result<Vec<Key>, StoreError> {
        let (mut keys, mut start) = (Vec::new(), None);
        loop {
            let scan = || {
                self.client
                    .scan()
                    .table_name(&self.tables.dead_letters)
                    .consistent_read(true)
                    .projection_expression("id, #part, message_id, stored_at")
                    .expression_attribute_names("#part", "part")
                    .set_exclusive_start_key(start.clone())
            };
            let answer = self.attempt(deadline(), || scan().send()).await?;
            for item in answer.items.unwrap_or_default() {
                keys.push(self.letter_key(item)?);
            }
            start = answer.last_evaluated_key;
            if start.is_none() {
                return Ok(keys);
            }
        }
    }

    fn letter_key(&self, item: Item) -> Result<Key, StoreError> {
        let row = Row { table: &self.tables.dead_letters, item };
        Ok(Key {
            id: row.text("id")?.to_owned(),
            part: row.text("part")?.to_owned(),
            message_id: row.optional_text("message_id")?.map(ToOwned::to_owned),
            stored_at: row.optional("stored_at", "an instant")?,
        })
    }

    /// Removes a part as it was seen, unless a letter needs it by now. False if it stays.
    ///
    /// # Errors
    /// [`StoreError`]; it may be removed even so.
    pub async fn drop_spare_part(
        &self,
        part: &SparePart,
        deadline: Deadline,
    ) -> Result<bool, StoreError> {
        let letter = self.letter_part(&part.id, LETTER, deadline).await?.unwrap_or_default();
        let letter = Row { table: &self.tables.dead_letters, item: letter };
        if letter.optional_text("message_id")? == message_of(&part.part) {
            return Ok(false);
        }
        self.attempt(deadline, || async {
            let delete = self.client.delete_item().table_name(&self.tables.dead_letters);
            let delete = delete.set_key(Some(part_key(&part.id, &part.part)));
            let delete = match part.stored_at {
                None => delete.condition_expression("attribute_not_exists(stored_at)"),
                Some(seen) => delete
                    .condition_expression("stored_at = :seen")
                    .expression_attribute_values(":seen", text(seen.to_string())),
            };
            match delete.send().await {
                Ok(_) => Ok(true),
                Err(e) if is_delete_refused(&e) => Ok(false),
                Err(e) => Err(e),
            }
        })
        .await
    }
}

/// The message that brought a part of a body: `body#<message id>#<nnnn>`.
fn message_of(part: &str) -> Option<&str> {
    Some(part.strip_prefix("body#")?.rsplit_once('#')?.0)
}

//! Dead letters: commands that gave up, kept in full until somebody redrives or drops them.
//!
//! ```text
//! id    part                        content
//! <id>  letter                      reason, receive count, instants, and the body if it is short
//! <id>  body#<message id>#<nnnn>    the rest of a body too long for one item (SQS admits 1 MiB,
//!                                   DynamoDB 400 KB), and when it was stored
//! ```
//!
//! The parts of a body are written before the letter that needs them, and under the id of the
//! message that brought them. A letter that comes back under the same id after a redrive is another
//! message, so neither its parts nor the letter can be removed by whoever is still clearing away
//! the former one: [`Store::drop_letter`] removes the letter it has seen and no other. So parts can be
//! left without a letter: of one that was refused because its id was taken, that was overtaken by the
//! same letter in another message, or whose storing or dropping ended half-way. [`Store::spare_parts`]
//! finds those.

mod spare;

use std::collections::HashMap;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::delete_item::DeleteItemError;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::AttributeValue;

use super::item::{Item, Row, number, text, truth};
use super::{Deadline, Store, StoreError};
use crate::hash::sha256;
use crate::timestamp::Timestamp;

pub use spare::SparePart;

/// The most bytes of a body that go into one item.
const PART_BYTES: usize = 300_000;
/// The sort key of the letter itself.
const LETTER: &str = "letter";

/// A command that gave up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// The id of the message that was first sent. It stays the same when the letter is redriven
    /// and comes back.
    pub id: String,
    /// The id of the message that arrived on the dead-letter queue.
    pub message_id: String,
    /// Why, in a short fixed word.
    pub reason: String,
    /// Why, in a sentence of at most [`MAX_DETAIL_BYTES`](crate::dead_letter::MAX_DETAIL_BYTES).
    pub detail: String,
    /// True if reason and detail are what the body itself bears out. False if they came along with the
    /// message: then they are the words of whoever sent it to the dead-letter queue.
    pub verified: bool,
    /// How often it was received before it gave up.
    pub receive_count: i64,
    /// When it was first sent.
    pub sent_at: Timestamp,
    /// When it was stored.
    pub stored_at: Timestamp,
    /// The group (`MessageGroupId`) it was sent with, if any.
    pub group: Option<String>,
    /// The message body, byte for byte. Empty in a list.
    pub body: String,
}

/// Some dead letters, in no order, without their bodies.
#[derive(Debug, Clone, Default)]
pub struct DeadLetterPage {
    /// The letters.
    pub letters: Vec<DeadLetter>,
    /// Where to go on, if there is more.
    pub next: Option<HashMap<String, AttributeValue>>,
}

impl Store {
    /// Stores a letter. Storing the same one again changes nothing. Returns false, and stores
    /// nothing, if another body has that id.
    ///
    /// # Errors
    /// [`StoreError`]; it may have been stored even so.
    pub async fn put_letter(
        &self,
        letter: &DeadLetter,
        deadline: Deadline,
    ) -> Result<bool, StoreError> {
        let parts = split(&letter.body);
        let inline = parts.len() == 1;
        for (index, part) in parts.iter().enumerate().filter(|_| !inline) {
            let mut item = part_key(&letter.id, &part_name(&letter.message_id, index));
            item.insert("body".to_owned(), text(*part));
            item.insert("stored_at".to_owned(), text(letter.stored_at.to_string()));
            let put = || self.client.put_item().table_name(&self.tables.dead_letters);
            self.attempt(deadline, || put().set_item(Some(item.clone())).send()).await?;
        }
        let digest = text(sha256(letter.body.as_bytes()));
        let mut item = part_key(&letter.id, LETTER);
        item.extend(write_letter(letter, parts.len()));
        item.insert("digest".to_owned(), digest.clone());
        self.attempt(deadline, || async {
            let put = self
                .client
                .put_item()
                .table_name(&self.tables.dead_letters)
                .set_item(Some(item.clone()))
                .condition_expression("attribute_not_exists(id) OR digest = :digest")
                .expression_attribute_values(":digest", digest.clone());
            match put.send().await {
                Ok(_) => Ok(true),
                Err(e) => match e.as_service_error() {
                    Some(PutItemError::ConditionalCheckFailedException(_)) => Ok(false),
                    _ => Err(e),
                },
            }
        })
        .await
    }

    /// Reads one letter with its body.
    ///
    /// # Errors
    /// [`StoreError`]; [`StoreError::Corrupt`] if a part of the body is missing.
    pub async fn letter(
        &self,
        id: &str,
        deadline: Deadline,
    ) -> Result<Option<DeadLetter>, StoreError> {
        let Some(item) = self.letter_part(id, LETTER, deadline).await? else {
            return Ok(None);
        };
        let row = Row { table: &self.tables.dead_letters, item };
        let mut letter = read_letter(&row)?;
        if row.optional_text("body")?.is_some() {
            return Ok(Some(letter));
        }
        for index in 0..usize::try_from(row.number("parts")?).unwrap_or(0) {
            let name = part_name(&letter.message_id, index);
            let item = self.letter_part(id, &name, deadline).await?.unwrap_or_default();
            letter.body += Row { table: row.table, item }.text("body")?;
        }
        Ok(Some(letter))
    }

    /// Lists letters without their bodies, on from where the last page ended.
    ///
    /// # Errors
    /// [`StoreError`]
    pub async fn letters(
        &self,
        after: Option<HashMap<String, AttributeValue>>,
        deadline: Deadline,
    ) -> Result<DeadLetterPage, StoreError> {
        let answer = self
            .attempt(deadline, || {
                self.client
                    .scan()
                    .table_name(&self.tables.dead_letters)
                    .consistent_read(true)
                    .filter_expression("#part = :letter")
                    .projection_expression(
                        "id, #part, message_id, reason, detail, verified, receive_count, sent_at, \
                     stored_at, #group",
                    )
                    .expression_attribute_names("#part", "part")
                    .expression_attribute_names("#group", "group_id")
                    .expression_attribute_values(":letter", text(LETTER))
                    .set_exclusive_start_key(after.clone())
                    .send()
            })
            .await?;
        let rows = answer.items.unwrap_or_default().into_iter();
        let letters = rows.map(|item| read_letter(&Row { table: &self.tables.dead_letters, item }));
        let letters = letters.collect::<Result<Vec<_>, _>>()?;
        Ok(DeadLetterPage { letters, next: answer.last_evaluated_key })
    }

    /// Removes a letter as it was read; one that has come back since stays. True if nothing is left of
    /// it.
    ///
    /// # Errors
    /// [`StoreError`]; it may have been removed even so.
    pub async fn drop_letter(
        &self,
        letter: &DeadLetter,
        deadline: Deadline,
    ) -> Result<bool, StoreError> {
        let removed = self
            .attempt(deadline, || async {
                let delete = self
                    .client
                    .delete_item()
                    .table_name(&self.tables.dead_letters)
                    .set_key(Some(part_key(&letter.id, LETTER)))
                    .condition_expression("attribute_not_exists(id) OR message_id = :seen")
                    .expression_attribute_values(":seen", text(&letter.message_id));
                match delete.send().await {
                    Ok(_) => Ok(true),
                    Err(e) => match e.as_service_error() {
                        Some(DeleteItemError::ConditionalCheckFailedException(_)) => Ok(false),
                        _ => Err(e),
                    },
                }
            })
            .await?;
        let parts = split(&letter.body).len();
        for index in (0..parts).filter(|_| removed && parts > 1) {
            let key = part_key(&letter.id, &part_name(&letter.message_id, index));
            let delete = || self.client.delete_item().table_name(&self.tables.dead_letters);
            self.attempt(deadline, || delete().set_key(Some(key.clone())).send()).await?;
        }
        Ok(removed)
    }

    /// Takes the detail out of a letter as it was read, for what it says of others than the command is
    /// about. One that has come back since stays as it is.
    ///
    /// # Errors
    /// [`StoreError`]; it may be taken out even so.
    pub async fn drop_detail(
        &self,
        letter: &DeadLetter,
        deadline: Deadline,
    ) -> Result<(), StoreError> {
        self.attempt(deadline, || async {
            let update = self
                .client
                .update_item()
                .table_name(&self.tables.dead_letters)
                .set_key(Some(part_key(&letter.id, LETTER)))
                .update_expression("SET detail = :none")
                .condition_expression("message_id = :seen")
                .expression_attribute_values(":none", text(""))
                .expression_attribute_values(":seen", text(&letter.message_id));
            match update.send().await {
                Err(e) if !is_overtaken(&e) => Err(e),
                _ => Ok(()),
            }
        })
        .await
    }

    async fn letter_part(
        &self,
        id: &str,
        part: &str,
        deadline: Deadline,
    ) -> Result<Option<Item>, StoreError> {
        let key = part_key(id, part);
        let answer = self.attempt(deadline, || {
            let get = self.client.get_item().table_name(&self.tables.dead_letters);
            get.set_key(Some(key.clone())).consistent_read(true).send()
        });
        Ok(answer.await?.item)
    }
}

fn is_overtaken<R>(error: &SdkError<UpdateItemError, R>) -> bool {
    matches!(error.as_service_error(), Some(UpdateItemError::ConditionalCheckFailedException(_)))
}

fn part_key(id: &str, part: &str) -> Item {
    HashMap::from([("id".to_owned(), text(id)), ("part".to_owned(), text(part))])
}

fn part_name(message_id: &str, index: usize) -> String {
    format!("body#{message_id}#{index:04}")
}

/// Cuts a body into parts that fit an item, never within a character.
fn split(body: &str) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), body);
    while rest.len() > PART_BYTES {
        let (part, tail) = rest.split_at(rest.floor_char_boundary(PART_BYTES));
        parts.push(part);
        rest = tail;
    }
    parts.push(rest);
    parts
}

fn write_letter(letter: &DeadLetter, parts: usize) -> Item {
    let mut item = HashMap::from([
        ("message_id".to_owned(), text(&letter.message_id)),
        ("reason".to_owned(), text(&letter.reason)),
        ("detail".to_owned(), text(&letter.detail)),
        ("verified".to_owned(), truth(letter.verified)),
        ("receive_count".to_owned(), number(letter.receive_count)),
        ("sent_at".to_owned(), text(letter.sent_at.to_string())),
        ("stored_at".to_owned(), text(letter.stored_at.to_string())),
        ("parts".to_owned(), number(parts)),
    ]);
    if let Some(group) = &letter.group {
        item.insert("group_id".to_owned(), text(group));
    }
    if parts == 1 {
        item.insert("body".to_owned(), text(&letter.body));
    }
    item
}

fn read_letter(row: &Row<'_>) -> Result<DeadLetter, StoreError> {
    Ok(DeadLetter {
        id: row.text("id")?.to_owned(),
        message_id: row.text("message_id")?.to_owned(),
        reason: row.text("reason")?.to_owned(),
        detail: row.text("detail")?.to_owned(),
        // Not said of letters that were kept before there was such a mark.
        verified: row.flag("verified")?,
        receive_count: row.number("receive_count")?,
        sent_at: row.parsed("sent_at", "an instant")?,
        stored_at: row.parsed("stored_at", "an instant")?,
        group: row.optional_text("group_id")?.map(ToOwned::to_owned),
        body: row.optional_text("body")?.unwrap_or_default().to_owned(),
    })
}

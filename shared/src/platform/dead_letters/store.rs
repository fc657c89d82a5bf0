//! The table of dead letters.
//!
//! ```text
//! id    part                        content
//! <id>  letter                      reason, receive count, instants, and the body if it is short
//! <id>  body#<message id>#<nnnn>    the rest of a body too long for one item (SQS admits 1 MiB:
//!                                   18 parts), and when it was stored
//! ```
//!
//! The parts of a body are written before their letter, under the id of their message. A letter that comes back with the same id after a
//! redrive is another message, so a removal of the former letter that is still in flight cannot remove it or its parts:
//! [`DeadLetters::remove`] only removes the letter that it has read. So parts can be left without a letter: if the letter was refused
//! because its id was taken, if it was overtaken by the same letter in another message, or if storing or dropping it ended half-way.
//! [`DeadLetters::spare_parts`] finds those.

use super::{DeadLetters, Evidence};
use crate::platform::crypto::hash::sha256;
use crate::platform::dynamo::item::{Item, Row, number, text};
use crate::platform::dynamo::keys;
use crate::platform::dynamo::{Condition, DynamoError, Put, Update};
use crate::platform::runtime::deadline::Deadline;
use crate::platform::values::Timestamp;

keys! {stored
    (id: String) = "{id}", "letter" in DeadLetters as "letter" {
        says: "a dead letter",
        most: 62_700, grows: "a short body, the detail",
        at_bound: "a body above 60,000 bytes goes into parts, a detail above 2,000 is cut",
        test: "`tests/functions/platform/alerter.rs`, `no_item_of_a_letter_is_above_64_kb`",
        later: Kept, erased: Gone,
    };
    (id: String, part: String) = "{id}", "body#{part}" in DeadLetters as "body part" {
        says: "a part of a dead letter's body",
        most: 60_300, grows: "the body, of which it is 60,000 bytes; SQS takes no body above 1 MiB, which is 18 parts",
        at_bound: "there is one more part",
        test: "`tests/functions/platform/alerter.rs`, `no_item_of_a_letter_is_above_64_kb`",
        later: Never, erased: Gone,
    };
}

/// The most bytes of a body in one item. With the detail and ids, the item is less than 64 KiB.
const PART_BYTES: usize = 60_000;
/// The sort key of the letter itself.
pub(super) const LETTER: &str = "letter";

/// The attribute with the instant at which an operator first looked at a letter.
pub(super) const LOOKED_AT: &str = "looked_at";

/// A command that gave up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// The id of the message that was first sent. It stays the same when the letter is redriven
    /// and comes back.
    pub id: String,
    /// The id of the message that arrived on the dead-letter queue.
    pub message_id: String,
    pub reason: String,
    /// Why, in a sentence of at most [`MAX_DETAIL_BYTES`](crate::platform::dead_letters::MAX_DETAIL_BYTES).
    pub detail: String,
    /// The evidence that it comes from the queue of commands or from the functions. Without any, all of it may be text of a stranger.
    pub evidence: Option<Evidence>,
    /// The number of receives before it gave up.
    pub receive_count: i64,
    /// When it was first sent.
    pub sent_at: Timestamp,
    pub stored_at: Timestamp,
    /// The group (`MessageGroupId`) it was sent with, if any.
    pub group: Option<String>,
    /// The message body, byte for byte. Empty in a list.
    pub body: String,
}

impl DeadLetter {
    /// True if its source is known.
    pub fn is_verified(&self) -> bool {
        self.evidence.is_some()
    }
}

/// A letter without the parts of a long body. It is enough to remove it.
#[derive(Debug, Clone)]
pub struct Head {
    /// The letter. Its body is empty if it is kept in parts.
    pub letter: DeadLetter,
    /// The items of its body; none if the body is in the item of the letter.
    parts: usize,
}

impl DeadLetters {
    /// The same letters, for calls with this deadline.
    #[must_use]
    pub fn until(&self, deadline: Deadline) -> Self {
        Self { table: self.table.until(deadline) }
    }

    /// Stores a letter; idempotent. Returns false, and stores nothing, if another body has that id, or if only the stored letter has
    /// evidence.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been stored.
    pub async fn put(&self, letter: &DeadLetter) -> Result<bool, DynamoError> {
        let parts = split(&letter.body);
        let inline = parts.len() == 1;
        for (index, part) in parts.iter().enumerate().filter(|_| !inline) {
            let mut item = part_key(&letter.id, &part_name(&letter.message_id, index));
            item.insert("body".to_owned(), text(*part));
            item.insert("stored_at".to_owned(), text(letter.stored_at.to_string()));
            self.table.put(item).await?;
        }
        let digest = text(sha256(letter.body.as_bytes()));
        let mut item = write_letter(letter, parts.len());
        item.insert("digest".to_owned(), digest.clone());
        let same = Condition::new(match letter.evidence {
            Some(_) => "attribute_not_exists(id) OR digest = :digest",
            None => {
                "attribute_not_exists(id) OR (digest = :digest AND attribute_not_exists(evidence))"
            }
        });
        let (key, same) = (part_key(&letter.id, LETTER), same.value(":digest", digest));
        let stored = self.table.replace(key, item, &OPTIONAL, Some(same)).await?;
        Ok(stored == Put::Done)
    }

    /// Reads one letter with its body.
    ///
    /// # Errors
    /// [`DynamoError`]; [`DynamoError::Corrupt`] if a part of the body is missing.
    pub async fn get(&self, id: &str) -> Result<Option<DeadLetter>, DynamoError> {
        let Some(Head { mut letter, parts }) = self.head(id).await? else {
            return Ok(None);
        };
        for index in 0..parts {
            let name = part_name(&letter.message_id, index);
            let part = self.part(id, &name).await?;
            letter.body += part.unwrap_or_else(|| self.table.row(Item::new())).text("body")?;
        }
        Ok(Some(letter))
    }

    /// Reads one letter, without further parts of its body.
    pub async fn head(&self, id: &str) -> Result<Option<Head>, DynamoError> {
        let Some(row) = self.part(id, LETTER).await? else { return Ok(None) };
        let parts = match row.optional_text("body")? {
            Some(_) => 0,
            None => usize::try_from(row.number("parts")?)
                .map_err(|_| row.corrupt("parts", "a number of parts"))?,
        };
        Ok(Some(Head { letter: read_letter(&row)?, parts }))
    }

    /// Removes a letter as it was read; one that has come back since stays. Returns true if nothing is left of it.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been removed.
    pub async fn remove(&self, letter: &DeadLetter) -> Result<bool, DynamoError> {
        let parts = split(&letter.body).len();
        self.remove_parts(letter, if parts > 1 { parts } else { 0 }).await
    }

    /// Like [`Self::remove`], for a letter whose body was not read, or cannot be.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been removed.
    pub async fn remove_unread(&self, Head { letter, parts }: &Head) -> Result<bool, DynamoError> {
        self.remove_parts(letter, *parts).await
    }

    async fn remove_parts(&self, letter: &DeadLetter, parts: usize) -> Result<bool, DynamoError> {
        let seen = Condition::new("attribute_not_exists(id) OR message_id = :seen");
        let seen = seen.value(":seen", text(&letter.message_id));
        let removed = self.table.delete(part_key(&letter.id, LETTER), Some(seen)).await?;
        for index in (0..parts).filter(|_| removed) {
            let key = part_key(&letter.id, &part_name(&letter.message_id, index));
            self.table.delete(key, None).await?;
        }
        Ok(removed)
    }

    /// Notes that an operator looks at a letter that was not looked at. A letter that comes back is
    /// not looked at.
    ///
    /// # Errors
    /// [`DynamoError`]; it may have been noted.
    pub async fn note_looked_at(&self, id: &str, now: Timestamp) -> Result<(), DynamoError> {
        let update = Update {
            expression: "SET looked_at = :now",
            condition: Some("attribute_exists(id) AND attribute_not_exists(looked_at)"),
            values: vec![(":now", text(now.to_string()))],
            ..Update::default()
        };
        self.table.update(part_key(id, LETTER), update).await.map(|_| ())
    }

    /// Removes the detail of a letter as it was read, because it may mention others than the people of the command. A letter that has
    /// come back since stays as it is.
    ///
    /// # Errors
    /// [`DynamoError`]; it may be removed.
    pub async fn remove_detail(&self, letter: &DeadLetter) -> Result<(), DynamoError> {
        let update = Update {
            expression: "SET detail = :none",
            condition: Some("message_id = :seen"),
            values: vec![(":none", text("")), (":seen", text(&letter.message_id))],
            ..Update::default()
        };
        self.table.update(part_key(&letter.id, LETTER), update).await.map(|_| ())
    }

    pub(super) async fn part(&self, id: &str, part: &str) -> Result<Option<Row<'_>>, DynamoError> {
        self.table.get(part_key(id, part)).await
    }
}

pub(super) fn part_key(id: &str, part: &str) -> Item {
    Item::from([("id".to_owned(), text(id)), ("part".to_owned(), text(part))])
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

/// The optional attributes of a letter.
const OPTIONAL: [&str; 4] = ["evidence", "group_id", "body", LOOKED_AT];

fn write_letter(letter: &DeadLetter, parts: usize) -> Item {
    let mut item = Item::from([
        ("message_id".to_owned(), text(&letter.message_id)),
        ("reason".to_owned(), text(&letter.reason)),
        ("detail".to_owned(), text(&letter.detail)),
        ("receive_count".to_owned(), number(letter.receive_count)),
        ("sent_at".to_owned(), text(letter.sent_at.to_string())),
        ("stored_at".to_owned(), text(letter.stored_at.to_string())),
        ("parts".to_owned(), number(parts)),
    ]);
    if let Some(evidence) = letter.evidence {
        item.insert("evidence".to_owned(), text(evidence.word()));
    }
    if let Some(group) = &letter.group {
        item.insert("group_id".to_owned(), text(group));
    }
    if parts == 1 {
        item.insert("body".to_owned(), text(&letter.body));
    }
    item
}

pub(super) fn read_letter(row: &Row<'_>) -> Result<DeadLetter, DynamoError> {
    Ok(DeadLetter {
        id: row.text("id")?.to_owned(),
        message_id: row.text("message_id")?.to_owned(),
        reason: row.text("reason")?.to_owned(),
        detail: row.text("detail")?.to_owned(),
        evidence: row.optional_text("evidence")?.and_then(Evidence::of_word),
        receive_count: row.number("receive_count")?,
        sent_at: row.parsed("sent_at", "an instant")?,
        stored_at: row.parsed("stored_at", "an instant")?,
        group: row.optional_text("group_id")?.map(ToOwned::to_owned),
        body: row.optional_text("body")?.unwrap_or_default().to_owned(),
    })
}

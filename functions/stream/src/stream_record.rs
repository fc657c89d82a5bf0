//! What Lambda hands over: some records of one shard, of which no more is read than what is used.
//!
//! Which shard they are of is said only to functions whose mapping has a tumbling window, so the template gives it
//! one. Nothing else is done with the window.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use shared::platform::dynamo::AnsweredItem;
use shared::platform::dynamo::item::{Item, Key, Row};
use shared::platform::projection::{Change, Shard};
use shared::platform::values::Timestamp;

/// A batch of records.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamEvent {
    /// The records, the earliest first.
    #[serde(rename = "Records", default)]
    pub records: Vec<Record>,
    pub shard_id: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Record {
    /// The ARN of the stream, which names the table.
    #[serde(rename = "eventSourceARN", default)]
    pub stream: Option<String>,
    pub dynamodb: StreamRecord,
}

/// What a record says.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct StreamRecord {
    keys: AnsweredItem,
    old_image: Option<AnsweredItem>,
    new_image: Option<AnsweredItem>,
    pub sequence_number: String,
    /// In seconds.
    #[serde(default)]
    approximate_creation_date_time: f64,
}

/// The answer: where the first record is that is to be delivered again, with all that follow it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StreamResponse {
    /// At most one.
    pub batch_item_failures: Vec<Failed>,
    /// What a mapping with a window hands back with the next batch: nothing is asked of it.
    pub state: HashMap<String, String>,
}

/// A record that is to be delivered again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failed {
    /// Its sequence number.
    pub item_identifier: String,
}

/// The event is not what the mapping of the template delivers. Delivering it again cannot help.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// Without it nobody knows which records were folded before.
    #[error("the event has no `shardId`: give the event source mapping a tumbling window")]
    NoShard,
    /// A record that no stream of DynamoDB has.
    #[error("record {index} of the batch: {problem}")]
    Record {
        /// Which, from 0 on.
        index: usize,
        problem: &'static str,
    },
    /// A batch is of one shard of one stream.
    #[error("the records of the batch are of several streams")]
    Streams,
}

impl StreamEvent {
    /// The shard, known by its id, and the changes in their order: for the one function that is given all of one stream.
    pub fn of_one_stream(self) -> Result<(Shard, Vec<Change>), EventError> {
        let (_, id) = self.origin()?;
        Ok((Shard::of(id), changes(self.records)?))
    }

    /// The table whose stream it is, the shard, and the changes in their order. The shard is known by its stream and its id: for a
    /// function that folds several streams into the same views, or only some changes of a stream. Its marks and checkpoints say
    /// nothing about what another function has folded.
    pub fn of_streams(self) -> Result<(Option<String>, Shard, Vec<Change>), EventError> {
        let (stream, id) = self.origin()?;
        let table = stream.and_then(table_of).map(str::to_owned);
        let shard = Shard::of(&format!("{}/{id}", stream.unwrap_or_default()));
        Ok((table, shard, changes(self.records)?))
    }

    /// The stream of all records, and the id of their shard.
    fn origin(&self) -> Result<(Option<&str>, &str), EventError> {
        let id = self.shard_id.as_deref().ok_or(EventError::NoShard)?;
        let stream = self.records.first().and_then(|record| record.stream.as_deref());
        match self.records.iter().all(|record| record.stream.as_deref() == stream) {
            true => Ok((stream, id)),
            false => Err(EventError::Streams),
        }
    }
}

impl Record {
    /// True if the partition key of its row begins like this: what a mapping with such a filter delivers.
    pub fn begins_with(&self, prefix: &str) -> bool {
        let row = Row { table: "", item: self.dynamodb.keys.clone().into() };
        row.text("pk").is_ok_and(|pk| pk.starts_with(prefix))
    }
}

fn changes(records: Vec<Record>) -> Result<Vec<Change>, EventError> {
    let changes = records.into_iter().enumerate().map(|(index, record)| {
        change(record.dynamodb).map_err(|problem| EventError::Record { index, problem })
    });
    changes.collect()
}

/// The name of the table in the ARN of a stream, `…:table/<name>/stream/<label>`.
fn table_of(stream: &str) -> Option<&str> {
    stream.split_once(":table/")?.1.split('/').next()
}

fn change(record: StreamRecord) -> Result<Change, &'static str> {
    let keys = Row { table: "", item: record.keys.into() };
    Ok(Change {
        key: Key::of(&keys).map_err(|_| "expected the keys `pk` and `sk`, both strings")?,
        before: record.old_image.map(Item::from),
        after: record.new_image.map(Item::from),
        sequence: record
            .sequence_number
            .parse()
            .map_err(|_| "expected a sequence number of 1 to 40 digits")?,
        at: Timestamp::from_unix_millis(millis(record.approximate_creation_date_time)),
        redriven: None,
    })
}

#[allow(clippy::cast_possible_truncation, reason = "milliseconds of this century fit by far")]
fn millis(seconds: f64) -> i64 {
    (seconds * 1000.0) as i64
}

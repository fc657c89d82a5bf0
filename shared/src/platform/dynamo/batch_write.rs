//! BatchWriteItem for many writes: its body is written by hand and sent with a [`RequestTemplate`].
//!
//! The tests compare it with what the SDK would have sent.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::DynamoError;
use super::transport::{Attribute, RequestTemplate, read_answer};

/// Items that one call of BatchWriteItem takes.
pub const BATCH_WRITE: usize = 25;
/// Room for an item of ordinary length.
const ITEM_BYTES: usize = 224;

/// An item of a batch. `BatchWriteItem` takes no conditions, so writing an item twice, or late, must change nothing.
pub trait BatchItem<'a>: Copy {
    /// The names of the table's partition key and sort key, both of them strings.
    const KEY: [&'static str; 2];

    /// The values of its partition key and its sort key.
    fn key(&self) -> (&'a str, &'a str);

    /// True if it is put, false if it is deleted.
    fn is_put(&self) -> bool;

    /// What a put writes besides the key; a delete writes nothing.
    fn attributes(&self, to: &mut Attributes<'_>);

    /// True if another item is known to be the same but for the value of its partition key.
    fn is_elsewhere(&self, _other: &Self) -> bool {
        false
    }
}

/// The attributes of an item, as it is written.
#[derive(Debug)]
pub struct Attributes<'o>(&'o mut String);

impl Attributes<'_> {
    /// A string.
    #[inline]
    pub fn text(&mut self, name: &'static str, value: &str) {
        self.name(name);
        self.0.push_str(r#"":{"S":"#);
        push_text(self.0, value);
        self.0.push('}');
    }

    #[inline]
    pub fn number(&mut self, name: &'static str, value: i64) {
        self.name(name);
        self.0.push_str(r#"":{"N":""#);
        self.0.push_str(itoa::Buffer::new().format(value));
        self.0.push_str("\"}");
    }

    /// Attribute names are constants of the code and need no escaping.
    #[inline]
    fn name(&mut self, name: &'static str) {
        self.0.push_str(",\"");
        self.0.push_str(name);
    }
}

/// The response of DynamoDB if it has written everything.
const ALL_WRITTEN: &[u8] = br#"{"UnprocessedItems":{}}"#;

/// Writes up to [`BATCH_WRITE`] items in one call. No two of them may have the same key. Returns those
/// that the table did not take.
pub(super) async fn write<'a, I: BatchItem<'a>>(
    template: &RequestTemplate,
    table: &str,
    batch: &[I],
) -> Result<Vec<I>, DynamoError> {
    let answer = template.call("BatchWriteItem", body(table, batch).into()).await?;
    if answer == ALL_WRITTEN { Ok(Vec::new()) } else { unprocessed(batch, &answer) }
}

/// The items of a batch that were not written, by its response. If the response names items that were not sent, all of
/// them count as not written.
fn unprocessed<'a, I: BatchItem<'a>>(batch: &[I], answer: &[u8]) -> Result<Vec<I>, DynamoError> {
    let answer: Answer<'_> = read_answer(answer)?;
    let left: Vec<_> = answer.unprocessed.into_iter().flatten().flat_map(|(_, l)| l).collect();
    if left.is_empty() {
        return Ok(Vec::new());
    }
    let keys: HashSet<_> = left.iter().filter_map(|left| left.key(I::KEY)).collect();
    let named: Vec<_> = batch.iter().filter(|item| keys.contains(&item.key())).copied().collect();
    Ok(if named.len() == left.len() { named } else { batch.to_vec() })
}

#[derive(Deserialize)]
struct Answer<'a> {
    #[serde(rename = "UnprocessedItems", borrow)]
    unprocessed: Option<HashMap<Cow<'a, str>, Vec<Left<'a>>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Left<'a> {
    #[serde(borrow)]
    put_request: Option<Change<'a>>,
    #[serde(borrow)]
    delete_request: Option<Change<'a>>,
}

#[derive(Deserialize)]
struct Change<'a> {
    #[serde(rename = "Item", alias = "Key", borrow)]
    attributes: HashMap<Cow<'a, str>, Attribute<'a>>,
}

impl Left<'_> {
    fn key(&self, [partition, sort]: [&str; 2]) -> Option<(&str, &str)> {
        let Change { attributes } = self.put_request.as_ref().or(self.delete_request.as_ref())?;
        let text = |name| attributes.get(name)?.as_text();
        Some((text(partition)?, text(sort)?))
    }
}

fn body<'a, I: BatchItem<'a>>(table: &str, items: &[I]) -> String {
    let [partition, sort] = I::KEY;
    // The parts that all items have in common are built once.
    let put = format!(r#"{{"PutRequest":{{"Item":{{"{partition}":{{"S":"#);
    let delete = format!(r#"{{"DeleteRequest":{{"Key":{{"{partition}":{{"S":"#);
    let between = format!(r#"}},"{sort}":{{"S":"#);
    let mut out = String::with_capacity(64 + items.len() * ITEM_BYTES);
    out.push_str(r#"{"RequestItems":{"#);
    push_text(&mut out, table);
    out.push_str(":[");
    // What follows the partition key of the item before.
    let mut rest = 0..0;
    for (place, item) in items.iter().enumerate() {
        let (partition, sort) = item.key();
        out.push_str(if place > 0 { "," } else { "" });
        out.push_str(if item.is_put() { &put } else { &delete });
        push_text(&mut out, partition);
        let begin = out.len();
        if place > 0 && item.is_elsewhere(&items[place - 1]) {
            out.extend_from_within(rest);
        } else {
            out.push_str(&between);
            push_text(&mut out, sort);
            out.push('}');
            item.attributes(&mut Attributes(&mut out));
            out.push_str("}}}");
        }
        rest = begin..out.len();
    }
    out.push_str("]}}");
    out
}

/// A JSON string. Ids and instants need no escaping; everything else is left to serde.
pub(super) fn push_text(out: &mut String, text: &str) {
    if is_plain(text) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&serde_json::Value::from(text).to_string());
    }
}

/// Checks every byte of a chunk, even after one that needs escaping, because the compiler turns that into a few wide instructions. What is
/// shorter, as ids are, is looked up in a table.
fn is_plain(text: &str) -> bool {
    let (chunks, rest) = text.as_bytes().as_chunks::<32>();
    let is_plain =
        |chunk: &[u8; 32]| chunk.iter().fold(true, |all, byte| all & is_plain_byte(*byte));
    chunks.iter().all(is_plain)
        && rest.iter().fold(true, |all, byte| all & IS_PLAIN[usize::from(*byte)])
}

const fn is_plain_byte(byte: u8) -> bool {
    0x20 <= byte && byte < 0x7f && byte != b'"' && byte != b'\\'
}

const IS_PLAIN: [bool; 256] = {
    let (mut table, mut byte) = ([false; 256], 0_u8);
    while byte < 128 {
        table[byte as usize] = is_plain_byte(byte);
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests;

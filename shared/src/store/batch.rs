//! BatchWriteItem as fan-outs send it: the body written by hand, sent over the [`Line`].
//!
//! The tests compare it with what the SDK would have sent.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use serde::Deserialize;

use super::line::{Line, read};
use super::{EntryWrite, StoreError};

/// Items one call takes.
pub(super) const BATCH: usize = 25;
/// Room for an entry with ids of ordinary length.
const ENTRY_BYTES: usize = 224;

/// What DynamoDB answers when it has written everything.
const ALL_WRITTEN: &[u8] = br#"{"UnprocessedItems":{}}"#;

/// Writes up to [`BATCH`] entries in one call. No two of them may have the same key. Returns those
/// that the table did not take.
pub(super) async fn write<'a>(
    line: &Line,
    table: &str,
    batch: &[EntryWrite<'a>],
) -> Result<Vec<EntryWrite<'a>>, StoreError> {
    let answer = line.call("BatchWriteItem", body(table, batch)).await?;
    if answer == ALL_WRITTEN { Ok(Vec::new()) } else { unprocessed(batch, &answer) }
}

/// Those of a batch that an answer says were not written. Should it name others than were sent,
/// then nobody knows, and it is all of them.
fn unprocessed<'a>(
    batch: &[EntryWrite<'a>],
    answer: &[u8],
) -> Result<Vec<EntryWrite<'a>>, StoreError> {
    let answer: Answer<'_> = read(answer)?;
    let left: Vec<_> = answer.unprocessed.into_iter().flatten().flat_map(|(_, l)| l).collect();
    if left.is_empty() {
        return Ok(Vec::new());
    }
    let keys: HashSet<_> = left.iter().filter_map(Left::key).collect();
    let named: Vec<_> = batch.iter().filter(|entry| keys.contains(&entry.key())).copied().collect();
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
    key: Key<'a>,
}

#[derive(Deserialize)]
struct Key<'a> {
    #[serde(borrow)]
    viewer_id: Text<'a>,
    #[serde(borrow)]
    sort_key: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Text<'a> {
    #[serde(borrow)]
    s: Cow<'a, str>,
}

impl Left<'_> {
    fn key(&self) -> Option<(&str, &str)> {
        let Change { key } = self.put_request.as_ref().or(self.delete_request.as_ref())?;
        Some((&key.viewer_id.s, &key.sort_key.s))
    }
}

fn body(table: &str, entries: &[EntryWrite<'_>]) -> String {
    let mut out = String::with_capacity(64 + entries.len() * ENTRY_BYTES);
    out.push_str(r#"{"RequestItems":{"#);
    push_text(&mut out, table);
    out.push_str(":[");
    for (n, entry) in entries.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        push_entry(&mut out, entry);
    }
    out.push_str("]}}");
    out
}

fn push_entry(out: &mut String, entry: &EntryWrite<'_>) {
    let (viewer, sort_key) = entry.key();
    out.push_str(match entry {
        EntryWrite::Put { .. } => r#"{"PutRequest":{"Item":{"viewer_id":{"S":"#,
        EntryWrite::Erase { .. } => r#"{"DeleteRequest":{"Key":{"viewer_id":{"S":"#,
    });
    push_text(out, viewer);
    out.push_str(r#"},"sort_key":{"S":"#);
    push_text(out, sort_key);
    if let EntryWrite::Put { actor, expires_at, .. } = entry {
        out.push_str(r#"},"actor_id":{"S":"#);
        push_text(out, actor.as_str());
        out.push_str(r#"},"expires_at":{"N":""#);
        out.push_str(itoa::Buffer::new().format(*expires_at));
        out.push('"');
    }
    out.push_str("}}}}");
}

/// A JSON string. Ids and instants consist of characters that need no escape; whatever else comes
/// is left to serde.
fn push_text(out: &mut String, text: &str) {
    let plain = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\';
    if text.bytes().all(plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&serde_json::Value::from(text).to_string());
    }
}

#[cfg(test)]
mod tests;

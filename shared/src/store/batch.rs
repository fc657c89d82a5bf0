//! BatchWriteItem as fan-outs send it, written by hand.
//!
//! The SDK builds a map of maps for every item and turns it into JSON, and puts every call together
//! from scratch; for a million entries that is most of the writer's work. Here
//!
//! * the body is written directly (this file),
//! * [`Line`] sends it as the SDK would, having asked it once how it does,
//! * [`signature`] signs it, with a key that it keeps for the day.
//!
//! Timeouts, error types and the reading of answers remain what they are for every other call. The
//! tests compare what goes over the wire with what the SDK would have sent.

mod line;
mod signature;

use std::collections::HashSet;

use aws_sdk_dynamodb::operation::batch_write_item::BatchWriteItemOutput;
use aws_sdk_dynamodb::types::WriteRequest;

pub(super) use self::line::Line;
use super::{EntryWrite, StoreError};

/// Items one call takes.
pub(super) const BATCH: usize = 25;
/// Room for an entry with ids of ordinary length.
const ENTRY_BYTES: usize = 224;

/// Writes up to [`BATCH`] entries in one call. No two of them may have the same key. Returns those
/// that the table did not take.
pub(super) async fn write<'a>(
    line: &Line,
    table: &str,
    batch: &[EntryWrite<'a>],
) -> Result<Vec<EntryWrite<'a>>, StoreError> {
    let answer = line.send(body(table, batch)).await?;
    Ok(unprocessed(batch, answer))
}

/// Those of a batch that an answer says were not written. Should it name others than were sent,
/// then nobody knows, and it is all of them.
fn unprocessed<'a>(batch: &[EntryWrite<'a>], answer: BatchWriteItemOutput) -> Vec<EntryWrite<'a>> {
    let left: Vec<_> =
        answer.unprocessed_items.into_iter().flatten().flat_map(|(_, l)| l).collect();
    if left.is_empty() {
        return Vec::new();
    }
    let keys: HashSet<_> = left.iter().filter_map(key).collect();
    let named: Vec<_> = batch.iter().filter(|entry| keys.contains(&entry.key())).copied().collect();
    if named.len() == left.len() { named } else { batch.to_vec() }
}

fn key(request: &WriteRequest) -> Option<(&str, &str)> {
    let put = request.put_request().map(|put| put.item());
    let attributes = put.or_else(|| request.delete_request().map(|delete| delete.key()))?;
    let text = |name| attributes.get(name)?.as_s().ok().map(String::as_str);
    Some((text("viewer_id")?, text("sort_key")?))
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

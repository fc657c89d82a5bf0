//! BatchGetItem: up to a hundred items in one call; TransactGetItems: the same, as they are at one moment. The first is most of what a page of a timeline costs, so its
//! body is written by hand and sent with a [`RequestTemplate`](super::transport::RequestTemplate), as
//! [batches of writes](super::batch_write) are.
//!
//! The tests compare both directions with the SDK.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;
use bytes::Bytes;
use serde::Deserialize;

use super::answer::AnsweredItem;
use super::batch_write::push_text;
use super::client::once;
use super::item::{Item, Row};
use super::transport::{Failed, read_answer};
use super::{Calling, DynamoError, Table};
use crate::platform::runtime::retry::Backoff;

/// Keys that one call takes.
pub const BATCH_GET: usize = 100;
/// Room for a key of ordinary length.
const KEY_BYTES: usize = 128;

impl Table {
    /// Reads up to [`BATCH_GET`] items, strongly consistent. Keys that DynamoDB returns as unprocessed are requested
    /// again. Keys consist of strings, and must differ. A table that takes fewer keys is called several times.
    pub fn batch_get(&self, keys: Vec<Item>) -> Calling<'_, Vec<Row<'_>>> {
        self.batch_get_as(Consistency::Strong, keys)
    }

    /// Like [`Self::batch_get`], eventually consistent, at half the price.
    pub fn batch_get_eventual(&self, keys: Vec<Item>) -> Calling<'_, Vec<Row<'_>>> {
        self.batch_get_as(Consistency::Eventual, keys)
    }

    /// Reads items, at most as many as a transaction takes, as they are at one moment, at twice the
    /// price. One call; `None` if a write of one of them was in progress.
    pub fn snapshot(&self, keys: Vec<Item>) -> Calling<'_, Option<Vec<Row<'_>>>> {
        Box::pin(async move {
            let body = Bytes::from(snapshot_body(self.name(), &keys)?);
            let call = async {
                let answer = self.call_once("TransactGetItems", &body).await;
                let answer = answer.map_err(Failed::of_transaction)?;
                read_answer::<Snapshot>(&answer).map_err(Failed::from)
            };
            let answer = match once(self.deadline(), call).await {
                Err(DynamoError::Contended) => return Ok(None),
                answer => answer.inspect_err(|error| self.dynamo.usage.failed(error))?,
            };
            let items = answer.responses.into_iter().filter_map(|response| response.item);
            Ok(Some(items.map(|item| self.row(item.into())).collect()))
        })
    }

    fn batch_get_as(&self, consistency: Consistency, keys: Vec<Item>) -> Calling<'_, Vec<Row<'_>>> {
        Box::pin(async move {
            let (mut left, deadline) = (keys, self.deadline());
            let (mut found, mut backoff) = (Vec::with_capacity(left.len()), Backoff::default());
            while !left.is_empty() {
                let taken = left.len().min(self.limits().batch_get_items);
                let rest = left.split_off(taken);
                let body = body(self.name(), consistency, &left)?;
                let read = |answer: &Bytes| read_answer::<Answer>(answer);
                let mut answer = self.call("BatchGetItem", body, read).await?;
                let items = answer.responses.remove(self.name()).unwrap_or_default();
                found.extend(items.into_iter().map(|item| self.row(item.into())));
                let unprocessed = answer.unprocessed_keys.remove(self.name()).unwrap_or_default();
                left = unprocessed.keys.into_iter().map(Item::from).collect();
                self.dynamo.usage.unprocessed(left.len());
                if !left.is_empty() {
                    backoff.wait(deadline).await.map_err(|_| DynamoError::Throttled)?;
                }
                left.extend(rest);
            }
            Ok(found)
        })
    }
}

/// The response of DynamoDB, by table. `Responses` is required: without it, items would be taken for missing.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    responses: HashMap<String, Vec<AnsweredItem>>,
    #[serde(default)]
    unprocessed_keys: HashMap<String, Unprocessed>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Unprocessed {
    keys: Vec<AnsweredItem>,
}

/// The response of a transaction: an item for each key, in their order.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Snapshot {
    responses: Vec<SnapshotItem>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct SnapshotItem {
    item: Option<AnsweredItem>,
}

/// The consistency of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Consistency {
    Strong,
    Eventual,
}

fn body(table: &str, consistency: Consistency, keys: &[Item]) -> Result<String, DynamoError> {
    let mut out = String::with_capacity(64 + keys.len() * KEY_BYTES);
    out.push_str(r#"{"RequestItems":{"#);
    push_text(&mut out, table);
    out.push_str(match consistency {
        Consistency::Strong => r#":{"ConsistentRead":true,"Keys":["#,
        Consistency::Eventual => r#":{"Keys":["#,
    });
    let mut separator = "";
    for key in keys {
        out.push_str(separator);
        push_key(&mut out, key)?;
        separator = ",";
    }
    out.push_str("]}}}");
    Ok(out)
}

fn snapshot_body(table: &str, keys: &[Item]) -> Result<String, DynamoError> {
    let mut out = String::with_capacity(64 + keys.len() * 2 * KEY_BYTES);
    let mut separator = r#"{"TransactItems":["#;
    for key in keys {
        out.push_str(separator);
        out.push_str(r#"{"Get":{"TableName":"#);
        push_text(&mut out, table);
        out.push_str(r#","Key":"#);
        push_key(&mut out, key)?;
        out.push_str("}}");
        separator = ",";
    }
    out.push_str("]}");
    Ok(out)
}

fn push_key(out: &mut String, key: &Item) -> Result<(), DynamoError> {
    let mut separator = "{";
    for (name, value) in key {
        let AttributeValue::S(value) = value else {
            return Err(DynamoError::not_built("a key that is not a string"));
        };
        out.push_str(separator);
        push_text(out, name);
        out.push_str(r#":{"S":"#);
        push_text(out, value);
        out.push('}');
        separator = ",";
    }
    out.push('}');
    Ok(())
}

#[cfg(test)]
mod tests;

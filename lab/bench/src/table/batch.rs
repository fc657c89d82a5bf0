//! A batch of entries, as BatchWriteItem carries it. It is parsed without copying, because thousands of
//! these arrive in a second.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Items DynamoDB takes in one batch.
const MOST: usize = 25;

/// The key that a write names.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Key<'a> {
    #[serde(borrow)]
    viewer_id: Text<'a>,
    #[serde(borrow)]
    sort_key: Text<'a>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Text<'a> {
    #[serde(rename = "S", borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
enum Write<'a> {
    #[serde(borrow)]
    PutRequest(Put<'a>),
    #[serde(borrow)]
    DeleteRequest(Delete<'a>),
}

#[derive(Deserialize)]
struct Put<'a> {
    #[serde(rename = "Item", borrow)]
    item: Key<'a>,
}

#[derive(Deserialize)]
struct Delete<'a> {
    #[serde(rename = "Key", borrow)]
    key: Key<'a>,
}

/// A call; `W` is how much of each write is read.
#[derive(Deserialize)]
struct Call<'a, W> {
    #[serde(rename = "RequestItems", borrow)]
    tables: HashMap<&'a str, Vec<W>>,
}

#[derive(Serialize)]
struct BatchAnswer<'a> {
    #[serde(rename = "UnprocessedItems")]
    unprocessed: HashMap<&'a str, &'a [&'a RawValue]>,
}

impl<'a> Key<'a> {
    pub(super) fn viewer(&self) -> &str {
        &self.viewer_id.text
    }

    pub(super) fn sort_key(&self) -> &str {
        &self.sort_key.text
    }
}

/// The keys that a call writes to. None if DynamoDB would refuse the call, or if it writes to any other
/// table.
pub(super) fn keys<'a>(body: &'a [u8], table: &str) -> Option<Vec<Key<'a>>> {
    let mut call: Call<'a, Write<'a>> = serde_json::from_slice(body).ok()?;
    let writes = call.tables.remove(table).filter(|_| call.tables.is_empty())?;
    let keys: Vec<_> = writes.into_iter().map(Write::key).collect();
    let distinct = || keys.iter().enumerate().all(|(n, key)| !keys[..n].contains(key));
    let taken = (1..=MOST).contains(&keys.len()) && distinct();
    taken.then_some(keys)
}

/// The answer to a call of which only the first `done` writes were done. None if it does not write to
/// this table, or has fewer writes.
pub(super) fn answer(body: &[u8], table: &str, done: usize) -> Option<String> {
    let mut call: Call<'_, &RawValue> = serde_json::from_slice(body).ok()?;
    let writes = call.tables.remove(table)?;
    let unprocessed = HashMap::from([(table, writes.get(done..)?)]);
    serde_json::to_string(&BatchAnswer { unprocessed }).ok()
}

impl<'a> Write<'a> {
    fn key(self) -> Key<'a> {
        match self {
            Self::PutRequest(put) => put.item,
            Self::DeleteRequest(delete) => delete.key,
        }
    }
}

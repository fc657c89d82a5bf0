//! A batch of entries, as BatchWriteItem carries it. Nothing is copied that need not be: thousands of
//! these arrive in a second.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Items DynamoDB takes in one batch.
const MOST: usize = 25;

/// What every write names.
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

/// The call, down to what a write is read as.
#[derive(Deserialize)]
struct Call<'a, W> {
    #[serde(rename = "RequestItems", borrow)]
    tables: HashMap<&'a str, Vec<W>>,
}

#[derive(Serialize)]
struct Answer<'a> {
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

/// The keys that a call writes to, if it is one that DynamoDB takes and writes to this table alone.
pub(super) fn keys<'a>(body: &'a [u8], table: &str) -> Option<Vec<Key<'a>>> {
    let mut call: Call<'a, Write<'a>> = serde_json::from_slice(body).ok()?;
    let writes = call.tables.remove(table).filter(|_| call.tables.is_empty())?;
    let keys: Vec<_> = writes.into_iter().map(Write::key).collect();
    let distinct = || keys.iter().enumerate().all(|(n, key)| !keys[..n].contains(key));
    let taken = (1..=MOST).contains(&keys.len()) && distinct();
    taken.then_some(keys)
}

/// The answer to a call if only its first `done` writes were done. None if it does not write to this table,
/// or has fewer writes.
pub(super) fn answer(body: &[u8], table: &str, done: usize) -> Option<String> {
    let mut call: Call<'_, &RawValue> = serde_json::from_slice(body).ok()?;
    let writes = call.tables.remove(table)?;
    let unprocessed = HashMap::from([(table, writes.get(done..)?)]);
    serde_json::to_string(&Answer { unprocessed }).ok()
}

impl<'a> Write<'a> {
    fn key(self) -> Key<'a> {
        match self {
            Self::PutRequest(put) => put.item,
            Self::DeleteRequest(delete) => delete.key,
        }
    }
}

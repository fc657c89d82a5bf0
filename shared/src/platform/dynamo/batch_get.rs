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
                read_answer::<TransactionAnswer>(&answer).map_err(Failed::from)
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
                let read = |answer: &Bytes| read_answer::<BatchGetAnswer>(answer);
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
struct BatchGetAnswer {
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
struct TransactionAnswer {
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
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use aws_sdk_dynamodb::types::{Get, KeysAndAttributes, TransactGetItem};
    use proptest::collection::{hash_map, vec};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::platform::dynamo::Dynamo;
    use crate::platform::dynamo::item::text;
    use crate::platform::dynamo::transport::tests::{Wiretap, run};

    const TABLE: &str = "ledger";

    fn key(pk: &str, sk: &str) -> Item {
        Item::from([("pk".to_owned(), text(pk)), ("sk".to_owned(), text(sk))])
    }

    /// What a batch read makes of an answer. Time passes as soon as it is waited for.
    fn read(tap: &Wiretap, keys: Vec<Item>) -> Result<Vec<Item>, DynamoError> {
        let table = Dynamo::new(tap.client()).table(TABLE);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap()
            .block_on(async { table.batch_get(keys).await.map(items) })
    }

    fn items(rows: Vec<Row<'_>>) -> Vec<Item> {
        rows.into_iter().map(|row| row.item).collect()
    }

    /// The same read as the SDK makes it.
    fn read_by_the_sdk(tap: &Wiretap, keys: Vec<Item>) -> Vec<Item> {
        let keys = KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true);
        let call = tap.client().batch_get_item().request_items(TABLE, keys.build().unwrap());
        let answer = run(call.send()).unwrap();
        answer.responses.unwrap().remove(TABLE).unwrap()
    }

    fn sent(tap: &Wiretap) -> Value {
        serde_json::from_slice(tap.request().body().bytes().unwrap()).unwrap()
    }

    /// Any value of an attribute, as DynamoDB says it.
    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            ".{0,20}".prop_map(|text| json!({"S": text})),
            any::<i64>().prop_map(|number| json!({"N": number.to_string()})),
            any::<bool>().prop_map(|truth| json!({"BOOL": truth})),
            Just(json!({"NULL": true})),
            Just(json!({"B": "AAECAw=="})),
            vec("[a-z]{1,8}", 1..4).prop_map(|texts| json!({"SS": texts})),
            Just(json!({"NS": ["1", "2.5"]})),
            Just(json!({"BS": ["AAE=", "Ag=="]})),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(|values| json!({"L": values})),
                hash_map("[a-z]{1,8}", inner, 0..4).prop_map(|values| json!({"M": values})),
            ]
        })
    }

    proptest! {
        #[test]
        fn asks_and_reads_as_the_sdk_does(
            keys in vec(("[A-Za-z0-9#._:@|+-]{1,64}", ".{0,64}"), 1..=BATCH_GET),
            stored in vec(hash_map("[a-z_]{1,8}", values(), 0..6), 0..8),
        ) {
            let keys: Vec<_> = keys.iter().map(|(pk, sk)| key(pk, sk)).collect();
            let answer = json!({"Responses": {TABLE: stored}, "UnprocessedKeys": {}});
            let tap = Wiretap::answering(answer);
            let ours = read(&tap, keys.clone()).unwrap();
            let our_body = sent(&tap);
            prop_assert_eq!(ours, read_by_the_sdk(&tap, keys));
            prop_assert_eq!(our_body, sent(&tap));
        }
    }

    /// It answers with the same keys again and again, so time runs out; they must not be taken for missing.
    #[test]
    fn what_was_not_processed_is_not_missing() {
        let left = json!({TABLE: {"Keys": [{"pk": {"S": "a"}, "sk": {"S": "b"}}]}});
        let tap = Wiretap::answering(json!({"Responses": {}, "UnprocessedKeys": left}));
        let error = read(&tap, vec![key("a", "b"), key("c", "d")]).unwrap_err();
        assert!(matches!(error, DynamoError::Throttled), "{error:?}");
        assert_eq!(sent(&tap)["RequestItems"][TABLE]["Keys"], left[TABLE]["Keys"]);
    }

    #[test]
    fn what_is_no_answer_is_no_success() {
        for answer in ["", "{}", "[]", r#"{"UnprocessedKeys":{}}"#, r#"{"Responses":{"ledger":[{"#]
        {
            let error = read(&Wiretap::answering(answer), vec![key("a", "b")]).unwrap_err();
            assert!(error.is_retryable(), "{answer}: {error:?}");
        }
    }

    /// What is there of some keys at one moment.
    fn snapshot(tap: &Wiretap, keys: Vec<Item>) -> Result<Option<Vec<Item>>, DynamoError> {
        let table = Dynamo::new(tap.client()).table(TABLE);
        run(async { Ok(table.snapshot(keys).await?.map(items)) })
    }

    #[test]
    fn a_snapshot_is_asked_for_as_the_sdk_does() {
        let keys = [key("a", "b"), key("c", "d")];
        let stored = json!({"pk": {"S": "a"}});
        let tap = Wiretap::answering(json!({"Responses": [{"Item": stored}, {}]}));
        let ours = snapshot(&tap, keys.to_vec()).unwrap().unwrap();
        assert_eq!(ours, [Item::from([("pk".to_owned(), text("a"))])]);
        let our_body = sent(&tap);
        let gets = keys.map(|key| {
            let get = Get::builder().table_name(TABLE).set_key(Some(key)).build().unwrap();
            TransactGetItem::builder().get(get).build()
        });
        let call = tap.client().transact_get_items().set_transact_items(Some(gets.to_vec()));
        run(call.send()).unwrap();
        assert_eq!(our_body, sent(&tap));
    }

    #[test]
    fn a_snapshot_that_meets_a_write_is_none() {
        let cancelled = |code: &str| {
            let reasons = json!([{"Code": "None"}, {"Code": code}]);
            let code = "com.amazonaws.dynamodb.v20120810#TransactionCanceledException";
            Wiretap::failing(400, json!({"__type": code, "CancellationReasons": reasons}))
        };
        let read = |code| snapshot(&cancelled(code), vec![key("a", "b"), key("c", "d")]);
        assert_eq!(read("TransactionConflict").unwrap(), None);
        assert!(matches!(read("ProvisionedThroughputExceeded"), Err(DynamoError::Throttled)));
        assert!(read("ValidationError").unwrap_err().is_refusal());
    }
}

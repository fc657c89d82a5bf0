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
    let answer: BatchWriteAnswer<'_> = read_answer(answer)?;
    let left: Vec<_> = answer.unprocessed.into_iter().flatten().flat_map(|(_, l)| l).collect();
    if left.is_empty() {
        return Ok(Vec::new());
    }
    let keys: HashSet<_> = left.iter().filter_map(|left| left.key(I::KEY)).collect();
    let named: Vec<_> = batch.iter().filter(|item| keys.contains(&item.key())).copied().collect();
    Ok(if named.len() == left.len() { named } else { batch.to_vec() })
}

#[derive(Deserialize)]
struct BatchWriteAnswer<'a> {
    #[serde(rename = "UnprocessedItems", borrow)]
    unprocessed: Option<HashMap<Cow<'a, str>, Vec<Left<'a>>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Left<'a> {
    #[serde(borrow)]
    put_request: Option<RowWrite<'a>>,
    #[serde(borrow)]
    delete_request: Option<RowWrite<'a>>,
}

#[derive(Deserialize)]
struct RowWrite<'a> {
    #[serde(rename = "Item", alias = "Key", borrow)]
    attributes: HashMap<Cow<'a, str>, Attribute<'a>>,
}

impl Left<'_> {
    fn key(&self, [partition, sort]: [&str; 2]) -> Option<(&str, &str)> {
        let RowWrite { attributes } = self.put_request.as_ref().or(self.delete_request.as_ref())?;
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
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::collections::BTreeSet;

    use aws_sdk_dynamodb::Client;
    use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest, WriteRequest};
    use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::platform::dynamo::transport::tests::{Wiretap, run};

    /// An item of a table with a key of two strings, or the deletion of one.
    #[derive(Debug, Clone, Copy, PartialEq)]
    struct Write<'a> {
        key: (&'a str, &'a str),
        put: Option<(&'a str, i64)>,
    }

    impl<'a> BatchItem<'a> for Write<'a> {
        const KEY: [&'static str; 2] = ["viewer_id", "sort_key"];

        fn key(&self) -> (&'a str, &'a str) {
            self.key
        }

        fn is_put(&self) -> bool {
            self.put.is_some()
        }

        fn attributes(&self, to: &mut Attributes<'_>) {
            if let Some((actor, expires_at)) = self.put {
                to.text("actor_id", actor);
                to.number("expires_at", expires_at);
            }
        }

        fn is_elsewhere(&self, other: &Self) -> bool {
            self.key.1 == other.key.1 && self.put == other.put
        }
    }

    async fn send<'a>(
        client: &Client,
        table: &str,
        entries: &[Write<'a>],
    ) -> Result<Vec<Write<'a>>, DynamoError> {
        let template = RequestTemplate::capture(client, table).await?;
        write(&template, table, entries).await
    }

    fn text(value: &str) -> AttributeValue {
        AttributeValue::S(value.to_owned())
    }

    /// The same write as the SDK's own types say it.
    fn in_the_sdks_words(entry: &Write<'_>) -> WriteRequest {
        let (viewer, sort_key) = entry.key();
        let mut item = HashMap::from([
            ("viewer_id".to_owned(), text(viewer)),
            ("sort_key".to_owned(), text(sort_key)),
        ]);
        if let Some((actor, expires_at)) = entry.put {
            item.insert("actor_id".to_owned(), text(actor));
            item.insert("expires_at".to_owned(), AttributeValue::N(expires_at.to_string()));
            let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
            return WriteRequest::builder().put_request(put).build();
        }
        let delete = DeleteRequest::builder().set_key(Some(item)).build().unwrap();
        WriteRequest::builder().delete_request(delete).build()
    }

    fn json(request: &HttpRequest) -> Value {
        serde_json::from_slice(request.body().bytes().unwrap()).unwrap()
    }

    /// A partition key, a sort key, and what a put says besides.
    type Words = (String, String, Option<(String, i64)>);

    fn entry((partition, sort, put): &Words) -> Write<'_> {
        let put = put.as_ref().map(|(actor, expires_at)| (actor.as_str(), *expires_at));
        Write { key: (partition, sort), put }
    }

    fn words() -> impl Strategy<Value = Vec<Words>> {
        let id = || "[A-Za-z0-9._:@|+-]{0,127}[A-Za-z0-9_:@|+-]";
        // Ids are plain; whatever else comes is escaped. Some items differ in nothing but their partition.
        let rests = (".{0,64}", proptest::option::of((id(), any::<i64>())));
        let rests = proptest::collection::vec(rests, 3);
        let partitions = proptest::collection::vec((id(), 0..3_usize), 1..=BATCH_WRITE);
        (rests, partitions).prop_map(|(rests, partitions)| {
            let whole = |(partition, nth): (String, usize)| {
                let (sort, put) = rests[nth].clone();
                (partition, sort, put)
            };
            partitions.into_iter().map(whole).collect()
        })
    }

    proptest! {
        #[test]
        fn says_what_the_sdk_would_say(
            words in words(),
            // A name. An ARN would make the SDK choose the endpoint of its account.
            table in "[a-zA-Z0-9_.-]{3,255}",
        ) {
            let entries: Vec<_> = words.iter().map(entry).collect();
            let tap = Wiretap::answering("{}");
            let client = tap.client();
            prop_assert_eq!(run(send(&client, &table, &entries)).unwrap(), []);
            let ours = tap.request();
            let requests = entries.iter().map(in_the_sdks_words).collect();
            run(client.batch_write_item().request_items(&table, requests).send()).unwrap();
            let theirs = tap.request();

            prop_assert_eq!(json(&ours), json(&theirs));
            prop_assert_eq!(ours.uri(), theirs.uri());
            prop_assert_eq!(ours.method(), theirs.method());
            // The connectors add the host and the length; what tells of retries and says the user agent twice is left out.
            let left_out = ["x-amz-user-agent", "content-length"];
            let other = |name: &str| left_out.contains(&name) || name.starts_with("amz-sdk-");
            let names = |request: &HttpRequest| {
                let names = request.headers().iter().map(|(name, _)| name.to_owned());
                names.filter(|name| !other(name)).collect::<BTreeSet<_>>()
            };
            let mut expected = names(&theirs);
            expected.insert("host".to_owned());
            prop_assert_eq!(names(&ours), expected);
            for name in ["content-type", "x-amz-target", "user-agent"] {
                prop_assert_eq!(ours.headers().get(name), theirs.headers().get(name), "{}", name);
            }
            prop_assert_eq!(ours.body().content_length(), theirs.body().content_length());
        }

        #[test]
        fn what_is_given_back_is_recognised(
            words in words(),
            left in proptest::collection::vec(any::<bool>(), BATCH_WRITE),
        ) {
            let entries: Vec<_> = words.iter().map(entry).collect();
            let distinct: HashSet<_> = entries.iter().map(BatchItem::key).collect();
            prop_assume!(distinct.len() == entries.len());
            let left: Vec<_> =
                entries.iter().zip(left).filter(|(_, left)| *left).map(|(entry, _)| *entry).collect();
            let answer = serde_json::from_str::<Value>(&body("entries", &left)).unwrap();
            let mut items = answer["RequestItems"].clone();
            if left.is_empty() {
                items = serde_json::json!({});
            }
            let tap = Wiretap::answering(serde_json::json!({"UnprocessedItems": items}));
            prop_assert_eq!(run(send(&tap.client(), "entries", &entries)).unwrap(), left);
        }
    }

    #[test]
    fn an_answer_about_somebody_else_says_nothing() {
        let [ann, bob, cat] =
            ["ann", "bob", "cat"].map(|viewer| Write { key: (viewer, "s"), put: None });
        let items = serde_json::from_str::<Value>(&body("entries", &[ann, cat])).unwrap();
        let tap =
            Wiretap::answering(serde_json::json!({"UnprocessedItems": items["RequestItems"]}));
        assert_eq!(run(send(&tap.client(), "entries", &[ann, bob])).unwrap(), [ann, bob]);
    }

    #[test]
    fn what_is_no_answer_is_no_success() {
        let entries = [Write { key: ("bob", "s"), put: None }];
        for answer in ["", "{", "[]", r#"{"UnprocessedItems":{"entries":[{"DeleteRe"#] {
            let tap = Wiretap::answering(answer);
            let error = run(send(&tap.client(), "entries", &entries)).unwrap_err();
            assert!(error.is_retryable(), "{answer}: {error:?}");
        }
    }
}

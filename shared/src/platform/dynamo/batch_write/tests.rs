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
    let tap = Wiretap::answering(serde_json::json!({"UnprocessedItems": items["RequestItems"]}));
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

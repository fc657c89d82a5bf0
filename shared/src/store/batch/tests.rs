#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::Config;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::http::StatusCode;
use hmac::{Hmac, KeyInit, Mac};
use proptest::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::*;
use crate::id::{ActorId, ViewerId};

/// Keeps what is sent and answers the same every time.
#[derive(Debug, Clone)]
struct Wiretap {
    sent: Arc<Mutex<Vec<HttpRequest>>>,
    answer: String,
}

impl HttpConnector for Wiretap {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        self.sent.lock().unwrap().push(request);
        let status = StatusCode::try_from(200).unwrap();
        let body = SdkBody::from(self.answer.clone());
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status, body)))
    }
}

impl Wiretap {
    fn answering(answer: impl ToString) -> Self {
        Self { sent: Arc::default(), answer: answer.to_string() }
    }

    fn client(&self) -> Client {
        let connector = SharedHttpConnector::new(self.clone());
        let config = Config::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new("eu-west-1"))
            .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
            .http_client(http_client_fn(move |_, _| connector.clone()));
        Client::from_conf(config.build())
    }

    fn request(&self) -> HttpRequest {
        self.sent.lock().unwrap().pop().unwrap()
    }
}

fn text(value: &str) -> AttributeValue {
    AttributeValue::S(value.to_owned())
}

/// The same write as the SDK's own types say it.
fn in_the_sdks_words(entry: &EntryWrite<'_>) -> WriteRequest {
    let (viewer, sort_key) = entry.key();
    let mut item = HashMap::from([
        ("viewer_id".to_owned(), text(viewer)),
        ("sort_key".to_owned(), text(sort_key)),
    ]);
    if let EntryWrite::Put { actor, expires_at, .. } = entry {
        item.insert("actor_id".to_owned(), text(actor.as_str()));
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

/// A viewer, a sort key, and what a put says besides.
type Words = (ViewerId, String, Option<(ActorId, i64)>);

fn entry((viewer, sort_key, put): &Words) -> EntryWrite<'_> {
    match put {
        None => EntryWrite::Erase { viewer, sort_key },
        Some((actor, expires_at)) => {
            EntryWrite::Put { viewer, sort_key, actor, expires_at: *expires_at }
        }
    }
}

fn words() -> impl Strategy<Value = Words> {
    let id = || "[A-Za-z0-9._:@-]{1,128}";
    let viewer = id().prop_map(|id| ViewerId::new(id).unwrap());
    let actor = id().prop_map(|id| ActorId::new(id).unwrap());
    // Sort keys are checked by whoever prints them; here they may be anything.
    (viewer, ".{0,64}", proptest::option::of((actor, any::<i64>())))
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

proptest! {
    #[test]
    fn says_what_the_sdk_would_say(
        words in proptest::collection::vec(words(), 1..=BATCH),
        // A name. An ARN would make the SDK choose the endpoint of its account.
        table in "[a-zA-Z0-9_.-]{3,255}",
    ) {
        let entries: Vec<_> = words.iter().map(entry).collect();
        let tap = Wiretap::answering("{}");
        let client = tap.client();
        run(write(&client, &table, &entries)).unwrap();
        let ours = tap.request();
        let requests = entries.iter().map(in_the_sdks_words).collect();
        run(client.batch_write_item().request_items(&table, requests).send()).unwrap();
        let theirs = tap.request();

        prop_assert_eq!(json(&ours), json(&theirs));
        prop_assert_eq!(ours.uri(), theirs.uri());
        prop_assert_eq!(ours.method(), theirs.method());
        let names = |request: &HttpRequest| {
            let mut names: Vec<_> = request.headers().iter().map(|(n, _)| n.to_owned()).collect();
            names.sort();
            names
        };
        prop_assert_eq!(names(&ours), names(&theirs));
        for name in ["content-type", "x-amz-target", "host"] {
            prop_assert_eq!(ours.headers().get(name), theirs.headers().get(name), "{}", name);
        }
        let length = ours.body().bytes().unwrap().len().to_string();
        prop_assert_eq!(ours.headers().get("content-length"), Some(length.as_str()));
    }

    #[test]
    fn what_is_given_back_is_recognised(
        words in proptest::collection::vec(words(), 1..=BATCH),
        left in proptest::collection::vec(any::<bool>(), BATCH),
    ) {
        let entries: Vec<_> = words.iter().map(entry).collect();
        let distinct: HashSet<_> = entries.iter().map(EntryWrite::key).collect();
        prop_assume!(distinct.len() == entries.len());
        let left: Vec<_> =
            entries.iter().zip(left).filter(|(_, left)| *left).map(|(entry, _)| *entry).collect();
        let answer = serde_json::from_str::<Value>(&body("entries", &left)).unwrap();
        let mut items = answer["RequestItems"].clone();
        if left.is_empty() {
            items = serde_json::json!({});
        }
        let tap = Wiretap::answering(serde_json::json!({"UnprocessedItems": items}));
        let answer = run(write(&tap.client(), "entries", &entries)).unwrap();
        prop_assert_eq!(unprocessed(&entries, answer), left);
    }
}

#[test]
fn an_answer_about_somebody_else_says_nothing() {
    let viewers = ["ann", "bob", "cat"].map(|id| ViewerId::new(id).unwrap());
    let [ann, bob, cat] =
        viewers.each_ref().map(|v| EntryWrite::Erase { viewer: v, sort_key: "s" });
    let items = serde_json::from_str::<Value>(&body("entries", &[ann, cat])).unwrap();
    let tap = Wiretap::answering(serde_json::json!({"UnprocessedItems": items["RequestItems"]}));
    let answer = run(write(&tap.client(), "entries", &[ann, bob])).unwrap();
    assert_eq!(unprocessed(&[ann, bob], answer), [ann, bob]);
}

/// Signature Version 4, by the book, over what was sent.
#[test]
fn the_signature_is_over_the_body_that_is_sent() {
    let viewer = ViewerId::new("bob").unwrap();
    let tap = Wiretap::answering("{}");
    let entries = [EntryWrite::Erase { viewer: &viewer, sort_key: "s" }];
    run(write(&tap.client(), "entries", &entries)).unwrap();
    let request = tap.request();
    let header = |name: &str| match name {
        // The connector adds it, from the address.
        "host" => "dynamodb.eu-west-1.amazonaws.com".to_owned(),
        name => request.headers().get(name).unwrap().to_owned(),
    };
    let authorization = header("authorization");
    let part = |name: &str| {
        let rest = authorization.split_once(name).unwrap().1;
        rest.split(',').next().unwrap().to_owned()
    };
    let (scope, signed) = (part("Credential=key/"), part("SignedHeaders="));
    let lines: String =
        signed.split(';').map(|name| format!("{name}:{}\n", header(name))).collect();
    let hash = hex(&Sha256::digest(request.body().bytes().unwrap()));
    let canonical = format!("POST\n/\n\n{lines}\n{signed}\n{hash}");
    let digest = hex(&Sha256::digest(canonical));
    let text = format!("AWS4-HMAC-SHA256\n{}\n{scope}\n{digest}", header("x-amz-date"));
    let key = scope.split('/').fold(b"AWS4secret".to_vec(), |key, part| hmac(&key, part));
    assert_eq!(part("Signature="), hex(&hmac(&key, &text)));
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::future;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{
    self, BehaviorVersion, Credentials, IdentityCache, ProvideCredentials, Region,
};
use aws_sdk_dynamodb::types::{AttributeValue, DeleteRequest, PutRequest};
use aws_sdk_dynamodb::{Client, Config};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use aws_smithy_async::time::TimeSource;
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::id::{ActorId, ViewerId};

async fn send<'a>(
    client: &Client,
    table: &str,
    entries: &[EntryWrite<'a>],
) -> Result<Vec<EntryWrite<'a>>, StoreError> {
    let line = Line::learn(client, table).await?;
    write(&line, table, entries).await
}

/// Keeps what is sent and answers the same every time.
#[derive(Debug, Clone)]
struct Wiretap {
    sent: Arc<Mutex<Vec<HttpRequest>>>,
    status: u16,
    answer: String,
}

impl HttpConnector for Wiretap {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        self.sent.lock().unwrap().push(request);
        let status = StatusCode::try_from(self.status).unwrap();
        let body = SdkBody::from(self.answer.clone());
        HttpConnectorFuture::ready(Ok(HttpResponse::new(status, body)))
    }
}

impl Wiretap {
    fn answering(answer: impl ToString) -> Self {
        Self { sent: Arc::default(), status: 200, answer: answer.to_string() }
    }

    fn config(&self) -> config::Builder {
        let connector = SharedHttpConnector::new(self.clone());
        Config::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .retry_config(RetryConfig::disabled())
            .region(Region::new("eu-west-1"))
            .credentials_provider(Credentials::new("key", "secret", None, None, "test"))
            .http_client(http_client_fn(move |_, _| connector.clone()))
    }

    fn client(&self) -> Client {
        Client::from_conf(self.config().build())
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
        prop_assert_eq!(run(send(&client, &table, &entries)).unwrap(), []);
        let ours = tap.request();
        let requests = entries.iter().map(in_the_sdks_words).collect();
        run(client.batch_write_item().request_items(&table, requests).send()).unwrap();
        let theirs = tap.request();

        prop_assert_eq!(json(&ours), json(&theirs));
        prop_assert_eq!(ours.uri(), theirs.uri());
        prop_assert_eq!(ours.method(), theirs.method());
        // Its connector says the host; what tells of its retries and says the user agent twice is left out.
        let other = |name: &str| name == "x-amz-user-agent" || name.starts_with("amz-sdk-");
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
        prop_assert_eq!(run(send(&tap.client(), "entries", &entries)).unwrap(), left);
    }
}

#[test]
fn an_answer_about_somebody_else_says_nothing() {
    let viewers = ["ann", "bob", "cat"].map(|id| ViewerId::new(id).unwrap());
    let [ann, bob, cat] =
        viewers.each_ref().map(|v| EntryWrite::Erase { viewer: v, sort_key: "s" });
    let items = serde_json::from_str::<Value>(&body("entries", &[ann, cat])).unwrap();
    let tap = Wiretap::answering(serde_json::json!({"UnprocessedItems": items["RequestItems"]}));
    assert_eq!(run(send(&tap.client(), "entries", &[ann, bob])).unwrap(), [ann, bob]);
}

/// What the SDK's own signer would say of what was sent.
fn signed_by_the_sdk(request: &HttpRequest, credentials: Credentials, at: SystemTime) -> String {
    let identity = credentials.into();
    let params = v4::SigningParams::builder()
        .identity(&identity)
        .region("eu-west-1")
        .name("dynamodb")
        .time(at)
        .settings(SigningSettings::default());
    let headers = request.headers().iter().filter(|(name, _)| !ADDED_BY_THE_SIGNER.contains(name));
    let body = SignableBody::Bytes(request.body().bytes().unwrap());
    let signable = SignableRequest::new("POST", request.uri(), headers, body).unwrap();
    let signed = sign(signable, &params.build().unwrap().into()).unwrap();
    let (instructions, _) = signed.into_parts();
    let mut headers = instructions.headers();
    headers.find(|(name, _)| *name == "authorization").unwrap().1.to_owned()
}

const ADDED_BY_THE_SIGNER: [&str; 3] = ["authorization", "x-amz-date", "x-amz-security-token"];

proptest! {
    #[test]
    fn signs_what_is_sent_as_the_sdk_signs(
        words in proptest::collection::vec(words(), 1..=BATCH),
        secrets in proptest::collection::vec(
            ("[A-Z0-9]{16,20}", "[!-~]{1,64}", proptest::option::of("[!-~]{1,900}")), 1..4),
        // To the end of the year 9999, which is as far as the format goes.
        calls in proptest::collection::vec((any::<prop::sample::Index>(), 0..253_402_300_800_u64), 1..6),
        endpoint in proptest::option::of("https?://[a-z]{1,9}(:(80|443|8000))?"),
    ) {
        let entries: Vec<_> = words.iter().map(entry).collect();
        let tap = Wiretap::answering("{}");
        let (clock, purse) = (Purse::default(), Purse::default());
        let config = tap.config().time_source(clock.clone()).credentials_provider(purse.clone());
        let mut config = config.identity_cache(IdentityCache::no_cache());
        config.set_endpoint_url(endpoint);
        let client = Client::from_conf(config.build());
        let line = run(async {
            purse.put(Credentials::new("first", "first", None, None, "test"));
            Line::learn(&client, "entries").await
        });
        let line = line.unwrap();
        for (which, seconds) in calls {
            let (access_key, secret, token) = which.get(&secrets).clone();
            let credentials = Credentials::new(access_key, secret, token, None, "test");
            purse.put(credentials.clone());
            clock.put(seconds);
            run(write(&line, "entries", &entries)).unwrap();
            let request = tap.request();
            let at = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            let expected = signed_by_the_sdk(&request, credentials, at);
            prop_assert_eq!(request.headers().get("authorization").unwrap(), expected);
        }
    }
}

#[test]
fn what_the_sdk_cannot_make_is_not_sent() {
    let tap = Wiretap::answering("{}");
    let client = Client::from_conf(tap.config().credentials_provider(Purse::default()).build());
    let viewer = ViewerId::new("bob").unwrap();
    let entries = [EntryWrite::Erase { viewer: &viewer, sort_key: "s" }];
    let error = run(send(&client, "entries", &entries)).unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    assert!(tap.sent.lock().unwrap().is_empty());
}

#[test]
fn an_answer_that_is_no_success_says_why() {
    let cases = [
        (
            400,
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}"#,
        ),
        (400, r#"{"__type":"com.amazon.coral.service#AccessDeniedException","message":"no"}"#),
        (400, r#"{"__type":"x#ResourceNotFoundException"}"#),
        (500, r#"{"__type":"x#InternalServerError"}"#),
        (500, r#"{"__ty"#),
        (200, r#"{"Unpro"#),
    ];
    let viewer = ViewerId::new("bob").unwrap();
    let entries = [EntryWrite::Erase { viewer: &viewer, sort_key: "s" }];
    for (status, answer) in cases {
        let client = Wiretap { status, ..Wiretap::answering(answer) }.client();
        let ours = run(send(&client, "entries", &entries)).map(|_| ());
        let theirs = client.batch_write_item().set_request_items(Some(HashMap::new())).send();
        let theirs = run(theirs).map(|_| ()).map_err(StoreError::from);
        assert!(ours.is_err(), "{status} {answer}");
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{status} {answer}");
    }
    // The SDK takes silence for a yes.
    let error = run(send(&Wiretap::answering("").client(), "entries", &entries)).unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
}

/// Holds something that a client asks for.
#[derive(Debug, Clone)]
struct Purse<T>(Arc<Mutex<Option<T>>>);

impl<T> Default for Purse<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T: Clone> Purse<T> {
    fn put(&self, thing: T) {
        *self.0.lock().unwrap() = Some(thing);
    }

    fn get(&self) -> Option<T> {
        self.0.lock().unwrap().clone()
    }
}

impl TimeSource for Purse<u64> {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(self.get().unwrap_or_default())
    }
}

impl ProvideCredentials for Purse<Credentials> {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        let none = || CredentialsError::not_loaded("the purse is empty");
        future::ProvideCredentials::ready(self.get().ok_or_else(none))
    }
}

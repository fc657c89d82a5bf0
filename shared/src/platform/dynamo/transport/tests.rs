#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::{Duration, SystemTime};

use aws_credential_types::provider::error::CredentialsError;
use aws_credential_types::provider::future;
use aws_sdk_dynamodb::Config;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::{self, BehaviorVersion, IdentityCache, ProvideCredentials, Region};
use aws_sigv4::http_request::{SignableBody, SignableRequest, SigningSettings, sign};
use aws_sigv4::sign::v4;
use aws_smithy_async::time::TimeSource;
use aws_smithy_runtime_api::client::http::{HttpConnectorFuture, http_client_fn};
use aws_smithy_runtime_api::http::StatusCode;
use proptest::prelude::*;

use super::*;

/// Keeps what is sent and answers the same every time.
#[derive(Debug, Clone)]
pub(crate) struct Wiretap {
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
    pub(crate) fn answering(answer: impl ToString) -> Self {
        Self { sent: Arc::default(), status: 200, answer: answer.to_string() }
    }

    pub(crate) fn failing(status: u16, answer: impl ToString) -> Self {
        Self { status, ..Self::answering(answer) }
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

    pub(crate) fn client(&self) -> Client {
        Client::from_conf(self.config().build())
    }

    pub(crate) fn request(&self) -> HttpRequest {
        self.sent.lock().unwrap().pop().unwrap()
    }
}

pub(crate) fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
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

/// The host too, which it takes from the address.
const ADDED_BY_THE_SIGNER: [&str; 4] =
    ["authorization", "host", "x-amz-date", "x-amz-security-token"];

proptest! {
    #[test]
    fn signs_what_is_sent_as_the_sdk_signs(
        body in ".{0,400}",
        secrets in proptest::collection::vec(
            ("[A-Z0-9]{16,20}", "[!-~]{1,64}", proptest::option::of("[!-~]{1,900}")), 1..4),
        // To the end of the year 9999, which is as far as the format goes.
        calls in proptest::collection::vec((any::<prop::sample::Index>(), 0..253_402_300_800_u64), 1..6),
        endpoint in proptest::option::of("https?://[a-z]{1,9}(:(80|443|8000))?"),
    ) {
        let tap = Wiretap::answering("{}");
        let (clock, purse) = (Purse::default(), Purse::default());
        let config = tap.config().time_source(clock.clone()).credentials_provider(purse.clone());
        let mut config = config.identity_cache(IdentityCache::no_cache());
        config.set_endpoint_url(endpoint);
        let client = Client::from_conf(config.build());
        let template = run(async {
            purse.put(Credentials::new("first", "first", None, None, "test"));
            RequestTemplate::capture(&client, "entries").await
        });
        let template = template.unwrap();
        for (which, seconds) in calls {
            let (access_key, secret, token) = which.get(&secrets).clone();
            let credentials = Credentials::new(access_key, secret, token, None, "test");
            purse.put(credentials.clone());
            clock.put(seconds);
            run(template.call("Query", body.clone().into())).unwrap();
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
    let error = run(RequestTemplate::capture(&client, "entries")).unwrap_err();
    assert!(matches!(error, DynamoError::Unavailable(_)), "{error:?}");
    assert!(tap.sent.lock().unwrap().is_empty());
}

#[test]
fn an_error_is_what_the_sdk_says_it_is() {
    let cases = [
        (
            400,
            r#"{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}"#,
        ),
        (400, r#"{"__type":"com.amazon.coral.service#AccessDeniedException","message":"no"}"#),
        (400, r#"{"__type":"x#ResourceNotFoundException"}"#),
        (500, r#"{"__type":"x#InternalServerError"}"#),
        (500, r#"{"__ty"#),
        (503, ""),
    ];
    for (status, answer) in cases {
        let client = Wiretap::failing(status, answer).client();
        let template = run(RequestTemplate::capture(&client, "entries")).unwrap();
        let ours = run(template.call("Query", "{}".into())).unwrap_err().error;
        let theirs = run(client.query().table_name("entries").send());
        let theirs = DynamoError::from(theirs.unwrap_err());
        assert_eq!(format!("{ours:?}"), format!("{theirs:?}"), "{status} {answer}");
    }
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

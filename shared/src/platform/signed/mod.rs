//! Signed calls over HTTP, of services of which a few calls are needed: S3, Lambda, EventBridge and CloudWatch. Signed by [`aws_sigv4`].
//!
//! ```text
//! signing     what makes a request one of ours, and addresses that work for a while
//! error       what goes wrong before there is an answer
//! ```
//!
//! There is no SDK for ten calls: `aws-sdk-s3` or `aws-sdk-lambda` would be half of what a function consists of. A call is repeated until
//! its deadline while that helps, by [the one policy](crate::platform::runtime::retry), so each has to be one that may be done twice without harm. What an
//! answer says is read by the caller. A request and its answer are held in memory as a whole.

mod error;
mod signing;

use std::sync::OnceLock;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::{HttpConnector, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use bytes::Bytes;
use futures::future::BoxFuture;

pub use self::error::SignedError;
use self::signing::Signer;
pub use self::signing::escaped;
use crate::platform::runtime::clock::Clock;
use crate::platform::runtime::deadline::Deadline;
#[cfg(doc)]
use crate::platform::runtime::retry;
use crate::platform::runtime::retry::Backoff;
use crate::platform::values::Timestamp;

/// What a service's answer may mean that is no success.
pub trait CallError: From<SignedError> {
    /// True if the same call may succeed a moment later.
    fn is_retryable(&self) -> bool;
}

/// A service, as its requests are sent and signed.
#[derive(Debug)]
pub struct SignedHttp {
    /// Made when it is first needed: who only signs addresses opens no connection.
    connector: OnceLock<SharedHttpConnector>,
    signer: Signer,
    endpoint: Option<String>,
    clock: Clock,
}

/// What is asked.
#[derive(Debug, Clone)]
pub struct HttpCall<'a> {
    pub method: &'static str,
    /// The address, escaped.
    pub url: &'a str,
    /// The body. Where it is sent its length is signed with it.
    pub body: Bytes,
    /// The media type of the body, if it has one.
    pub content_type: Option<&'static str>,
    /// The operation, of a service that is asked for it in a header.
    pub target: Option<&'static str>,
    /// When an attempt that begins now is given up, of a call with a deadline: one of those in [`retry`].
    pub attempt: fn(Deadline) -> Deadline,
}

/// What was answered, whatever it means.
#[derive(Debug)]
pub struct HttpAnswer {
    pub status: u16,
    /// What the header says of the length of the body.
    pub length: Option<u64>,
    /// The header in which services that speak JSON name an error.
    pub error_type: Option<String>,
    pub body: Bytes,
}

/// How services are called: who signs, and where they are.
#[derive(Debug, Clone)]
pub struct Services {
    /// Without one, each service has its own.
    pub connector: Option<SharedHttpConnector>,
    pub credentials: Option<SharedCredentialsProvider>,
    pub region: String,
    /// The endpoint of all services, if it is not AWS's.
    pub endpoint: Option<String>,
}

impl Services {
    pub fn from_config(config: &SdkConfig) -> Self {
        Self {
            connector: None,
            credentials: config.credentials_provider(),
            region: config.region().map(ToString::to_string).unwrap_or_default(),
            endpoint: config.endpoint_url().map(ToOwned::to_owned),
        }
    }

    /// Behind a connector, by a key that is its own secret.
    pub fn behind(connector: SharedHttpConnector, key: &str, region: &str) -> Self {
        let keys = Credentials::new(key, key, None, None, "given");
        let credentials = Some(SharedCredentialsProvider::new(keys));
        let (connector, region) = (Some(connector), region.to_owned());
        Self { connector, credentials, region, endpoint: None }
    }

    /// The same, of a service with an endpoint of its own if there is one.
    #[must_use]
    pub fn at(self, endpoint: Option<String>) -> Self {
        Self { endpoint: endpoint.or(self.endpoint), ..self }
    }
}

impl SignedHttp {
    /// A service by the name that signatures have.
    pub fn new(service: &'static str, services: &Services) -> Self {
        let Services { connector, credentials, region, endpoint } = services.clone();
        Self {
            connector: connector.map_or_else(OnceLock::new, OnceLock::from),
            signer: Signer::new(service, credentials, &region),
            endpoint: endpoint.map(|endpoint| endpoint.trim_end_matches('/').to_owned()),
            clock: Clock::system(),
        }
    }

    /// The address of the service, or of a bucket in it, without a slash at the end.
    pub fn address(&self, bucket: Option<&str>) -> String {
        let (service, region) = (self.signer.service(), self.signer.region());
        match (&self.endpoint, bucket) {
            (Some(endpoint), None) => endpoint.clone(),
            (Some(endpoint), Some(bucket)) => format!("{endpoint}/{bucket}"),
            (None, None) => format!("https://{service}.{region}.amazonaws.com"),
            (None, Some(bucket)) => format!("https://{bucket}.{service}.{region}.amazonaws.com"),
        }
    }

    /// Calls until an answer is read without an error, one is permanent, or the deadline passes.
    ///
    /// In a box, so that it is compiled once for each kind of answer.
    ///
    /// # Errors
    /// What `read` makes of the answer, or there is none.
    pub fn call<'a, T: Send + 'a, E: CallError + Send + 'a>(
        &'a self,
        call: HttpCall<'a>,
        deadline: Deadline,
        read: impl Fn(HttpAnswer) -> Result<T, E> + Send + Sync + 'a,
    ) -> BoxFuture<'a, Result<T, E>> {
        Box::pin(async move {
            let (mut backoff, mut failed) = (Backoff::default(), None);
            loop {
                let once = (call.attempt)(deadline).bound(Box::pin(self.once(&call)));
                let error = match once.await {
                    Ok(answer) => match answer.map_err(E::from).and_then(&read) {
                        Ok(found) => return Ok(found),
                        Err(error) => error,
                    },
                    // It failed before, so it is not time alone that is missing.
                    Err(exceeded) if deadline.has_passed() => {
                        return Err(failed.unwrap_or_else(|| SignedError::from(exceeded).into()));
                    }
                    Err(_) => SignedError::Unavailable("no answer in time".to_owned()).into(),
                };
                if !error.is_retryable() || backoff.wait(deadline).await.is_err() {
                    return Err(error);
                }
                failed = Some(error);
            }
        })
    }

    /// An address that GETs what is at this one, from `now` on for so long, as far as whoever signs it may, and no longer than
    /// their credentials are valid.
    ///
    /// # Errors
    /// [`SignedError`] if there is nothing to sign with.
    pub async fn presigned(
        &self,
        url: &str,
        now: Timestamp,
        valid: Duration,
    ) -> Result<String, SignedError> {
        self.signer.presigned(url, now, valid).await
    }

    async fn once(&self, call: &HttpCall<'_>) -> Result<HttpAnswer, SignedError> {
        let mut request = HttpRequest::new(SdkBody::from(call.body.clone()));
        let not_built = |e: &dyn std::error::Error| SignedError::not_built(&e.to_string());
        request.set_method(call.method).map_err(|e| not_built(&e))?;
        request.set_uri(call.url).map_err(|e| not_built(&e))?;
        if matches!(call.method, "PUT" | "POST") {
            request.headers_mut().insert("content-length", call.body.len().to_string());
        }
        if let Some(content_type) = call.content_type {
            request.headers_mut().insert("content-type", content_type);
        }
        if let Some(target) = call.target {
            request.headers_mut().insert("x-amz-target", target);
        }
        self.signer.sign(&mut request, call.url, &call.body, self.clock.now()).await?;
        let connector = self.connector.get_or_init(connector);
        let response = connector.call(request).await.map_err(|e| SignedError::not_reached(&e))?;
        read(call.method, response).await
    }
}

async fn read(method: &str, mut response: HttpResponse) -> Result<HttpAnswer, SignedError> {
    let status = response.status().as_u16();
    let length = response.headers().get("content-length").and_then(|text| text.parse().ok());
    let error_type = response.headers().get("x-amzn-errortype").map(ToOwned::to_owned);
    let body = whole(response.take_body()).await?;
    if method != "HEAD" && length.is_some_and(|length| length != body.len() as u64) {
        return Err(SignedError::unreadable());
    }
    Ok(HttpAnswer { status, length, error_type, body })
}

async fn whole(body: SdkBody) -> Result<Bytes, SignedError> {
    if let Some(bytes) = body.bytes() {
        return Ok(Bytes::copy_from_slice(bytes));
    }
    let read = ByteStream::new(body).collect().await;
    Ok(read.map_err(|_| SignedError::unreadable())?.into_bytes())
}

/// Like [`crate::platform::dynamo::sdk_config`]: hyper with rustls on ring. Attempts are bounded by the caller.
fn connector() -> SharedHttpConnector {
    let tls = Provider::Rustls(CryptoMode::Ring);
    SharedHttpConnector::new(Connector::builder().tls_provider(tls).build())
}

//! Objects: S3, as much of it as archives need. Five calls, signed by [`aws_sigv4`].
//!
//! ```text
//! signing     what makes a request one of ours, and addresses that work for a while
//! error       what can go wrong, and whether a retry helps
//! ```
//!
//! There is no SDK for five calls: `aws-sdk-s3` would be half of what a function consists of. Each call is repeated
//! until its deadline while that helps, by [the one policy](crate::runtime::retry). All of them may be done twice without harm:
//! who puts an object puts the same bytes again.
//!
//! An object is at most what a chunk of an archive becomes, tens of megabytes, and is held in memory as a whole. Its digest is
//! signed with it, so what arrives is what was sent; what is read is as long as S3 says, or is asked for again.
//!
//! With an endpoint (`AWS_ENDPOINT_URL_S3`) the bucket is the first part of the path, otherwise of the host.

mod error;
mod signing;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_config::SdkConfig;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_http_client::Connector;
use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
use aws_smithy_runtime_api::client::http::{HttpConnector, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use bytes::Bytes;
use futures::future::BoxFuture;

pub use self::error::ObjectError;
use self::signing::Signer;
use crate::runtime::clock::Clock;
use crate::runtime::deadline::Deadline;
use crate::runtime::env;
use crate::runtime::retry::{self, Backoff};
use crate::values::Timestamp;

/// A call of S3, in a box: it is compiled once, here.
type Calling<'a, T> = BoxFuture<'a, Result<T, ObjectError>>;

/// The objects of one bucket. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Objects(Arc<Bucket>);

#[derive(Debug)]
struct Bucket {
    /// Made when it is first needed: who only signs addresses opens no connection.
    connector: OnceLock<SharedHttpConnector>,
    signer: Signer,
    /// Scheme, host, and the bucket if it is part of the path; without a slash at the end.
    base: String,
    clock: Clock,
}

impl Objects {
    /// Those of a bucket, reached as the environment says.
    #[must_use]
    pub fn new(config: &SdkConfig, bucket: &str) -> Self {
        let region = config.region().map(ToString::to_string).unwrap_or_default();
        let endpoint = env::optional(env::S3_ENDPOINT);
        let endpoint = endpoint.as_deref().or(config.endpoint_url());
        let signer = Signer::new(config.credentials_provider(), &region);
        Self::of(OnceLock::new(), signer, endpoint, bucket)
    }

    /// Those of a bucket behind a connector, with an endpoint: for who brings both.
    #[must_use]
    pub fn over(
        connector: SharedHttpConnector,
        credentials: SharedCredentialsProvider,
        region: &str,
        endpoint: &str,
        bucket: &str,
    ) -> Self {
        let signer = Signer::new(Some(credentials), region);
        Self::of(OnceLock::from(connector), signer, Some(endpoint), bucket)
    }

    fn of(
        connector: OnceLock<SharedHttpConnector>,
        signer: Signer,
        endpoint: Option<&str>,
        bucket: &str,
    ) -> Self {
        let base = match endpoint {
            Some(endpoint) => format!("{}/{bucket}", endpoint.trim_end_matches('/')),
            None => format!("https://{bucket}.s3.{}.amazonaws.com", signer.region()),
        };
        Self(Arc::new(Bucket { connector, signer, base, clock: Clock::system() }))
    }

    /// Writes an object, whatever is there.
    ///
    /// # Errors
    /// [`ObjectError`]; it may have been written.
    pub fn put<'a>(&'a self, key: &'a str, bytes: Bytes, deadline: Deadline) -> Calling<'a, ()> {
        Box::pin(async move { self.0.call("PUT", key, &bytes, deadline).await.map(|_| ()) })
    }

    /// An object, if there is one.
    ///
    /// # Errors
    /// [`ObjectError`]
    pub fn get<'a>(&'a self, key: &'a str, deadline: Deadline) -> Calling<'a, Option<Bytes>> {
        Box::pin(async move {
            let found = self.0.call("GET", key, &Bytes::new(), deadline).await?;
            Ok(found.map(|answer| answer.body))
        })
    }

    /// How many bytes an object has, if there is one.
    ///
    /// # Errors
    /// [`ObjectError`]
    pub fn head<'a>(&'a self, key: &'a str, deadline: Deadline) -> Calling<'a, Option<u64>> {
        Box::pin(async move {
            let found = self.0.call("HEAD", key, &Bytes::new(), deadline).await?;
            found.map(|answer| answer.length.ok_or_else(ObjectError::unreadable)).transpose()
        })
    }

    /// Deletes an object. It may have been absent.
    ///
    /// # Errors
    /// [`ObjectError`]; it may have been deleted.
    pub fn delete<'a>(&'a self, key: &'a str, deadline: Deadline) -> Calling<'a, ()> {
        Box::pin(
            async move { self.0.call("DELETE", key, &Bytes::new(), deadline).await.map(|_| ()) },
        )
    }

    /// An address by which anybody reads an object from `now` on for so long, as far as whoever signs it may, and no
    /// longer than their credentials are valid.
    ///
    /// # Errors
    /// [`ObjectError`] if there is nothing to sign with.
    pub fn presigned<'a>(
        &'a self,
        key: &'a str,
        now: Timestamp,
        valid: Duration,
    ) -> Calling<'a, String> {
        Box::pin(async move { self.0.signer.presigned(&self.0.url(key), now, valid).await })
    }
}

/// What was answered to a call that succeeded.
struct Answer {
    body: Bytes,
    /// What the header says.
    length: Option<u64>,
}

impl Bucket {
    fn url(&self, key: &str) -> String {
        format!("{}/{}", self.base, signing::escaped(key))
    }

    /// Calls until it succeeds, fails permanently, or the deadline passes. None if there is no such object.
    async fn call(
        &self,
        method: &str,
        key: &str,
        body: &Bytes,
        deadline: Deadline,
    ) -> Result<Option<Answer>, ObjectError> {
        let mut backoff = Backoff::default();
        loop {
            let once = retry::transfer(deadline).bound(Box::pin(self.once(method, key, body)));
            let error = match once.await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => error,
                Err(exceeded) if deadline.has_passed() => return Err(exceeded.into()),
                Err(_) => ObjectError::Unavailable("no answer in time".to_owned()),
            };
            if !error.is_retryable() || backoff.wait(deadline).await.is_err() {
                return Err(error);
            }
        }
    }

    async fn once(
        &self,
        method: &str,
        key: &str,
        body: &Bytes,
    ) -> Result<Option<Answer>, ObjectError> {
        let url = self.url(key);
        let mut request = HttpRequest::new(SdkBody::from(body.clone()));
        let not_built = |e: &dyn std::error::Error| ObjectError::not_built(&e.to_string());
        request.set_method(method).map_err(|e| not_built(&e))?;
        request.set_uri(url.as_str()).map_err(|e| not_built(&e))?;
        if method == "PUT" {
            request.headers_mut().insert("content-length", body.len().to_string());
        }
        self.signer.sign(&mut request, &url, body, self.clock.now()).await?;
        let connector = self.connector.get_or_init(connector);
        let response = connector.call(request).await.map_err(|e| ObjectError::not_reached(&e))?;
        read(method, response).await
    }
}

async fn read(method: &str, mut response: HttpResponse) -> Result<Option<Answer>, ObjectError> {
    let status = response.status().as_u16();
    let length = response.headers().get("content-length").and_then(|text| text.parse().ok());
    let body = whole(response.take_body()).await?;
    if method != "HEAD" && length.is_some_and(|length| length != body.len() as u64) {
        return Err(ObjectError::unreadable());
    }
    match status {
        200..300 => Ok(Some(Answer { body, length })),
        _ => ObjectError::answered(status, &body).map(|()| None),
    }
}

async fn whole(body: SdkBody) -> Result<Bytes, ObjectError> {
    if let Some(bytes) = body.bytes() {
        return Ok(Bytes::copy_from_slice(bytes));
    }
    let read = ByteStream::new(body).collect().await;
    Ok(read.map_err(|_| ObjectError::unreadable())?.into_bytes())
}

/// As [`crate::dynamo::sdk_config`] has it: hyper with rustls on ring. Attempts are bounded by whoever calls.
fn connector() -> SharedHttpConnector {
    let tls = Provider::Rustls(CryptoMode::Ring);
    SharedHttpConnector::new(Connector::builder().tls_provider(tls).build())
}

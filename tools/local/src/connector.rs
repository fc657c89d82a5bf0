//! The SDK's way into this process: the embedded tables and queues answer what the SDK would send over
//! the network. Everything above the connector (serialising, error types, timeouts) is the same code
//! that runs on AWS.

use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, SharedHttpClient, SharedHttpConnector, http_client_fn,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::{HttpError, StatusCode};
use aws_smithy_types::body::SdkBody;
use axum::body::Bytes;
use nagare_client::local_stack::{dynamodb_config, sqs_config};

use super::bus::{self, LocalBus};
use super::engine::Engine;
use super::lambda;
use super::s3::S3;
use super::sqs::Wire;
use super::tables_http::TARGET;

/// Answers the SDK from the embedded engine and queues.
#[derive(Clone)]
pub struct InProcess {
    engine: Engine,
    queues: Wire,
    objects: Option<S3>,
    bus: Option<LocalBus>,
    takes_turns: bool,
}

impl InProcess {
    /// A connector to these tables and queues.
    pub fn new(engine: Engine, queues: Wire) -> Self {
        Self { engine, queues, objects: None, bus: None, takes_turns: false }
    }

    /// The same, to these objects too: a request that names no operation is for them.
    #[must_use]
    pub(crate) fn with_objects(self, objects: S3) -> Self {
        Self { objects: Some(objects), ..self }
    }

    /// The same, to this bus too.
    #[must_use]
    pub fn with_bus(self, bus: LocalBus) -> Self {
        Self { bus: Some(bus), ..self }
    }

    /// A connector whose callers yield at each call. None of the calls waits, so without that a batch of a thousand calls would block its
    /// thread.
    #[must_use]
    pub(crate) fn taking_turns(self) -> Self {
        Self { takes_turns: true, ..self }
    }

    async fn answer(&self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        if let Some(path) = lambda::path(request.uri()) {
            return self.of_mappings(path, &request);
        }
        if let (None, Some(objects)) = (request.headers().get("x-amz-target"), &self.objects) {
            return of_objects(objects, request);
        }
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let body = request.body().bytes().ok_or_else(not_in_memory)?;
        let bus = self.bus.as_ref().filter(|_| target.starts_with(bus::TARGET));
        let (status, body) = match (target.strip_prefix(TARGET), bus) {
            (Some(operation), _) => self.engine.call(operation, body),
            (None, Some(bus)) => bus.call(target, body),
            (None, None) => {
                let answer = self.queues.call(target, body);
                (answer.status, answer.body)
            }
        };
        let status =
            StatusCode::try_from(status).map_err(|e| ConnectorError::other(e.into(), None))?;
        Ok(HttpResponse::new(status, SdkBody::from(body)))
    }

    fn of_mappings(
        &self,
        path: &str,
        request: &HttpRequest,
    ) -> Result<HttpResponse, ConnectorError> {
        let body = request.body().bytes().ok_or_else(not_in_memory)?;
        let lambda::Answer { status, error, body } =
            lambda::answer(&self.engine, request.method(), path, body);
        let status =
            StatusCode::try_from(status).map_err(|e| ConnectorError::other(e.into(), None))?;
        let mut answer = HttpResponse::new(status, SdkBody::from(body.to_string()));
        if let Some(error) = error {
            answer.headers_mut().insert("x-amzn-errortype", error);
        }
        Ok(answer)
    }
}

fn of_objects(objects: &S3, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
    let other = |e: HttpError| ConnectorError::other(e.into(), None);
    let (head, body) = request.try_into_http1x().map_err(other)?.into_parts();
    let body = Bytes::copy_from_slice(body.bytes().ok_or_else(not_in_memory)?);
    let answer = objects.answer(&http::Request::from_parts(head, body)).map(SdkBody::from);
    answer.try_into().map_err(other)
}

/// The error for a streaming body, which must not be taken for an empty one.
pub(crate) fn not_in_memory() -> ConnectorError {
    ConnectorError::other("the body is not in memory".into(), None)
}

impl HttpConnector for InProcess {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let this = self.clone();
        HttpConnectorFuture::new(async move {
            if this.takes_turns {
                tokio::task::yield_now().await;
            }
            this.answer(request).await
        })
    }
}

impl std::fmt::Debug for InProcess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InProcess")
    }
}

/// An HTTP client for the SDK over a connector.
pub fn http_client(connector: SharedHttpConnector) -> SharedHttpClient {
    http_client_fn(move |_, _| connector.clone())
}

/// A DynamoDB client over a connector, set up as [`shared::platform::dynamo::sdk_config`] sets up the real one,
/// except that it does not sign: nothing in this process would check the signature.
pub fn dynamodb(connector: SharedHttpConnector) -> aws_sdk_dynamodb::Client {
    let config = dynamodb_config("http://dynamodb.local").http_client(http_client(connector));
    aws_sdk_dynamodb::Client::from_conf(config.build())
}

/// An SQS client over a connector.
pub fn sqs(connector: SharedHttpConnector) -> aws_sdk_sqs::Client {
    let config = sqs_config("http://sqs.local").http_client(http_client(connector));
    aws_sdk_sqs::Client::from_conf(config.build())
}

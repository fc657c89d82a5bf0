//! A request template: a request that the SDK has made once. All calls of items repeat it with other bodies.
//!
//! The SDK builds each call from scratch: it resolves the endpoint, collects its configuration, runs its interceptors, derives the
//! signing key, and needs a map of maps for each item. That takes longer than all else that a function does for most calls. So the SDK makes one call, and an interceptor captures the signed request and stops it. From then on that
//! request is repeated with another body, date and signature, over the connector that the SDK would have used. Credentials come
//! from the SDK's own cache once a second, so they are renewed as usual, and its deserialiser reads every error.
//!
//! The template leaves out the headers about retries, because the SDK does not retry (see [`crate::platform::runtime::retry`]). It also leaves
//! out `x-amz-user-agent`, which repeats the user agent, the length of the body, which the connector adds, and the correction of clock
//! skew. So the requests of one second to one operation differ in nothing but body and signature, and are prepared once.
//! [`super::client`] sets the timeout of an attempt. Callers write and read bodies.

mod signature;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_runtime::auth::sigv4::SCHEME_ID;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::interceptors::BeforeTransmitInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Credentials, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::{BoxError, SdkError};
use aws_sdk_dynamodb::operation::batch_write_item::{BatchWriteItem, BatchWriteItemError};
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorSettings, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::identity::{ResolveCachedIdentity, SharedIdentityResolver};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::GetIdentityResolver;
use aws_smithy_runtime_api::client::runtime_plugin::RuntimePlugin;
use aws_smithy_runtime_api::client::ser_de::{DeserializeResponse, SharedResponseDeserializer};
use aws_smithy_types::body::SdkBody;
use aws_smithy_types::byte_stream::ByteStream;
use aws_smithy_types::config_bag::FrozenLayer;
use bytes::Bytes;
use http::Uri;
use serde::Deserialize;
use serde::de::IgnoredAny;

use self::signature::DynamoSigner;
use super::answer::AnsweredItem;
use super::item::Item;
use super::{Calling, DynamoError};
use crate::platform::runtime::retry::CONNECT_TIMEOUT;

/// What comes before the operation in the header `x-amz-target`.
const API: &str = "DynamoDB_20120810.";
/// Prefixes of headers of the SDK's request that are not repeated.
const NOT_REPEATED: [&str; 7] = [
    "amz-sdk-",
    "authorization",
    "content-length",
    "x-amz-date",
    "x-amz-security-token",
    "x-amz-target",
    "x-amz-user-agent",
];

/// A captured request, and what it takes to send it again.
#[derive(Debug)]
pub(super) struct RequestTemplate {
    connector: SharedHttpConnector,
    common: HttpRequest,
    /// `None` if the SDK does not sign its requests.
    signing: Option<Signing>,
    operation: FrozenLayer,
}

#[derive(Debug)]
struct Signing {
    signer: DynamoSigner,
    identities: SharedIdentityResolver,
    components: RuntimeComponents,
}

impl RequestTemplate {
    /// Lets a client make a request, and captures it before it is sent.
    ///
    /// # Errors
    /// [`DynamoError`]: the SDK cannot make a request, for example without credentials.
    pub(super) fn capture<'a>(client: &'a Client, table: &'a str) -> Calling<'a, Self> {
        Box::pin(async move {
            let capture = Capture::default();
            // The endpoint may depend on the name of the table, so the call names it. Nothing of the call is sent.
            let nothing = HashMap::from([(table.to_owned(), Vec::new())]);
            let call = client.batch_write_item().set_request_items(Some(nothing));
            let outcome = call.customize().interceptor(capture.clone()).send().await;
            match (capture.take(), outcome) {
                (Some(template), _) => template.map_err(|problem| DynamoError::not_built(&problem)),
                (None, Err(error)) => Err(error.into()),
                (None, Ok(_)) => Err(DynamoError::not_built("the SDK has made no request")),
            }
        })
    }

    /// Calls an operation and returns the JSON of its response.
    ///
    /// # Errors
    /// [`Failed`], with the same error as if the SDK had made the call.
    pub(super) async fn call(&self, operation: &str, body: Bytes) -> Result<Bytes, Failed> {
        let unsigned = || self.unsigned(operation);
        let request = match &self.signing {
            Some(signing) => signing.sign(unsigned, operation, &body).await?,
            None => unsigned(),
        };
        let mut request = request.ok_or_else(|| DynamoError::not_built("it has a body"))?;
        *request.body_mut() = SdkBody::from(body);
        let mut response = self.connector.call(request).await.map_err(not_reached)?;
        let answer = whole(response.take_body()).await?;
        if response.status().is_success() {
            return Ok(answer);
        }
        *response.body_mut() = SdkBody::from(answer.clone());
        Err(Failed { error: self.error(&response), answer })
    }

    /// A request without body, date and signature.
    fn unsigned(&self, operation: &str) -> Option<HttpRequest> {
        let mut request = self.common.try_clone()?;
        request.headers_mut().insert("x-amz-target", [API, operation].concat());
        Some(request)
    }

    /// Reads an error like the SDK does. All operations have the same errors.
    fn error(&self, response: &HttpResponse) -> DynamoError {
        let Some(reader) = self.operation.load::<SharedResponseDeserializer>() else {
            return unreadable();
        };
        let outcome = reader.deserialize_nonstreaming_with_config(response, &ConfigBag::base());
        let error = outcome.err();
        let error = error.as_ref().and_then(|error| error.as_operation_error()?.downcast_ref());
        error.map_or_else(unreadable, |error: &BatchWriteItemError| {
            DynamoError::answered(error, response.status().as_u16())
        })
    }
}

/// A call that failed.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) error: DynamoError,
    /// The JSON of the response; empty if there is none.
    answer: Bytes,
}

/// What else the response of a failed call has.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    #[serde(rename = "__type")]
    code: String,
    #[serde(rename = "Item")]
    item: Option<AnsweredItem>,
    #[serde(rename = "CancellationReasons")]
    cancellations: Vec<Cancellation>,
    #[serde(rename = "ThrottlingReasons", alias = "throttlingReasons")]
    throttlings: Vec<Throttling>,
}

#[derive(Debug, Deserialize)]
struct Cancellation {
    #[serde(rename = "Code", default)]
    code: String,
}

#[derive(Debug, Deserialize)]
struct Throttling {
    #[serde(default)]
    reason: String,
}

impl Failed {
    /// The details; none if the response cannot be read.
    fn details(&self) -> Details {
        let details = serde_json::from_slice(&self.answer);
        let mut details: Details = details.unwrap_or_else(|_| Details::default());
        if let Some((_, code)) = details.code.rsplit_once('#') {
            details.code = code.to_owned();
        }
        details
    }

    /// The item that is there, if the condition of the call did not hold.
    ///
    /// # Errors
    /// [`Failed`] for any other reason.
    pub(super) fn refused(self) -> Result<Item, Self> {
        match self.details() {
            details if details.code == "ConditionalCheckFailedException" => {
                Ok(details.item.map(Item::from).unwrap_or_default())
            }
            _ => Err(self),
        }
    }

    /// Succeeds if a transaction was cancelled because a condition did not hold.
    ///
    /// # Errors
    /// [`DynamoError`] for any other reason.
    pub(super) fn cancelled_by_condition(self) -> Result<(), DynamoError> {
        let details = self.details();
        let mut codes = details.cancellations.iter().map(|reason| reason.code.as_str());
        match codes.any(|code| code == "ConditionalCheckFailed") {
            true => Ok(()),
            false => Err(self.of_transaction().error),
        }
    }

    /// The failure of a transaction, by the reasons of its parts.
    pub(super) fn of_transaction(self) -> Self {
        let details = self.details();
        if details.code != "TransactionCanceledException" {
            return self;
        }
        let codes = details.cancellations.iter().map(|reason| reason.code.as_str());
        Self { error: DynamoError::of_cancellation(codes), ..self }
    }

    /// True if a call was throttled by its partition, or for an unknown reason.
    pub(super) fn is_hot_partition(&self) -> bool {
        let Details { code, throttlings, .. } = self.details();
        let is_partition =
            |throttling: &Throttling| throttling.reason.ends_with("KeyRangeThroughputExceeded");
        matches!(&*code, "ProvisionedThroughputExceededException" | "ThrottlingException")
            && (throttlings.is_empty() || throttlings.iter().any(is_partition))
    }
}

impl From<DynamoError> for Failed {
    fn from(error: DynamoError) -> Self {
        Self { error, answer: Bytes::new() }
    }
}

impl From<Failed> for DynamoError {
    fn from(failed: Failed) -> Self {
        failed.error
    }
}

/// An attribute of an item in a response. Values other than strings and booleans are not read.
#[derive(Debug, Deserialize)]
pub enum Attribute<'a> {
    #[serde(rename = "S", borrow)]
    Text(Cow<'a, str>),
    /// A boolean.
    #[serde(rename = "BOOL")]
    Truth(bool),
    #[serde(alias = "N", alias = "B", alias = "SS", alias = "NS", alias = "BS")]
    #[serde(alias = "M", alias = "L", alias = "NULL")]
    Other(IgnoredAny),
}

impl Attribute<'_> {
    /// The string, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Reads the JSON of a response.
///
/// # Errors
/// [`DynamoError::Unavailable`] if it is malformed or incomplete, so that its meaning is unknown.
pub fn read_answer<'a, T: Deserialize<'a>>(answer: &'a [u8]) -> Result<T, DynamoError> {
    serde_json::from_slice(answer).map_err(|_| unreadable())
}

impl Signing {
    /// Asks for credentials once a second.
    async fn sign(
        &self,
        unsigned: impl FnOnce() -> Option<HttpRequest>,
        operation: &str,
        body: &[u8],
    ) -> Result<Option<HttpRequest>, DynamoError> {
        let now = self.components.time_source().unwrap_or_default().now();
        if let Some(prepared) = self.signer.prepared(operation, now) {
            return Ok(prepared.sign(body));
        }
        let unknown = || DynamoError::Unavailable("no credentials".to_owned());
        let (cache, bag) = (self.components.identity_cache(), ConfigBag::base());
        let identity = cache
            .resolve_cached_identity(self.identities.clone(), &self.components, &bag)
            .await
            .map_err(|_| unknown())?;
        let credentials = identity.data::<Credentials>().ok_or_else(unknown)?;
        let prepare = |request| self.signer.prepare(request, operation, credentials, now);
        Ok(unsigned().and_then(prepare).and_then(|prepared| prepared.sign(body)))
    }
}

async fn whole(body: SdkBody) -> Result<Bytes, DynamoError> {
    if let Some(bytes) = body.bytes() {
        return Ok(Bytes::copy_from_slice(bytes));
    }
    Ok(ByteStream::new(body).collect().await.map_err(|_| unreadable())?.into_bytes())
}

fn not_reached(error: ConnectorError) -> DynamoError {
    SdkError::<BatchWriteItemError, HttpResponse>::dispatch_failure(error).into()
}

fn unreadable() -> DynamoError {
    DynamoError::Unavailable("the answer could not be read".to_owned())
}

/// What was captured: a template, or why there is none.
type Captured = Result<RequestTemplate, String>;

/// The interceptor: captures the request that the SDK is about to send, and stops it.
#[derive(Debug, Clone, Default)]
struct Capture(Arc<Mutex<Option<Captured>>>);

impl Capture {
    fn take(&self) -> Option<Captured> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Intercept for Capture {
    fn name(&self) -> &'static str {
        "Capture"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let template = of_request(context.request(), components);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(template);
        Err("captured, not sent".into())
    }
}

fn of_request(made: &HttpRequest, components: &RuntimeComponents) -> Captured {
    let client = components.http_client().ok_or("it has no HTTP client")?;
    let settings = HttpConnectorSettings::builder().connect_timeout(CONNECT_TIMEOUT).build();
    let operation = BatchWriteItem::new().config().ok_or("its operation is not configured")?;
    let address: Uri = made.uri().parse().map_err(|_| "its endpoint is not a URL")?;
    Ok(RequestTemplate {
        connector: client.http_connector(&settings, components),
        common: in_common(made, &address)?,
        signing: signing(made, &address, components)?,
        operation,
    })
}

fn in_common(made: &HttpRequest, address: &Uri) -> Result<HttpRequest, String> {
    let mut common = HttpRequest::new(SdkBody::empty());
    common.set_method(made.method()).map_err(|e| e.to_string())?;
    common.set_uri(made.uri()).map_err(|e| e.to_string())?;
    let headers = common.headers_mut();
    for (name, value) in made.headers() {
        if !NOT_REPEATED.iter().any(|start| name.starts_with(start)) {
            headers.insert(name.to_owned(), value.to_owned());
        }
    }
    // The host is signed, so it is set here and not left to the connector.
    headers.insert("host", host(address)?);
    Ok(common)
}

/// The host, with the port unless it is the default of the scheme.
fn host(address: &Uri) -> Result<String, String> {
    let host = address.host().ok_or("its endpoint has no host")?;
    Ok(match (address.port_u16(), address.scheme_str()) {
        (None, _) | (Some(443), Some("https")) | (Some(80), Some("http")) => host.to_owned(),
        (Some(port), _) => format!("{host}:{port}"),
    })
}

/// The signer for the region and service that the SDK has signed for.
fn signing(
    made: &HttpRequest,
    address: &Uri,
    components: &RuntimeComponents,
) -> Result<Option<Signing>, String> {
    let Some(authorization) = made.headers().get("authorization") else {
        return Ok(None);
    };
    let signer = DynamoSigner::like(authorization, address.path().to_owned());
    let signer = signer.ok_or("it is not signed with SigV4")?;
    let identities = components.identity_resolver(SCHEME_ID).ok_or("it has no credentials")?;
    Ok(Some(Signing { signer, identities, components: components.clone() }))
}

#[cfg(test)]
pub(crate) mod tests;

//! Mappings of streams to the history projector, by three [signed](shared::platform::signed) calls of Lambda.
//!
//! Lambda allows one mapping of a stream to a function, and refuses a second one; the first one can then be listed. So a mapping
//! needs no name that would have to be noted before, and each call may be repeated: by a keeper that got no response, by the successor
//! of a crashed one, or by two keepers at once.
//!
//! The environment has the settings of mappings, as a request without the stream (`NAGARE_STREAM_MAPPING`). On AWS the template sets
//! it, next to the mapping of the facts, which has to have the same settings.

use std::str::FromStr;
use std::sync::Arc;

use serde_json::{Map, Value};
use shared::platform::runtime::deadline::Deadline;
use shared::platform::runtime::retry;
use shared::platform::signed::{HttpAnswer, HttpCall, Services, SignedError, SignedHttp, escaped};

use crate::service::{ServiceError, failure, refusal};

/// As signatures name it.
const SERVICE: &str = "lambda";
/// Where mappings are.
const PATH: &str = "/2015-03-31/event-source-mappings/";
/// The most pages of a list. There is one mapping of a stream to a function, or two while one is being replaced.
const PAGES: usize = 8;

/// The mappings of streams to one function. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Mappings(Arc<MappingsInner>);

#[derive(Debug)]
struct MappingsInner {
    lambda: SignedHttp,
    /// Up to the slash at the end.
    base: String,
    request: MappingRequest,
}

/// The request to map a stream, without the stream.
#[derive(Debug, Clone, PartialEq)]
pub struct MappingRequest {
    request: Map<String, Value>,
    function: String,
}

/// The text is no request for a mapping.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a request for an event source mapping in JSON, with `FunctionName`, without `EventSourceArn`"
)]
pub struct MappingRequestError;

impl FromStr for MappingRequest {
    type Err = MappingRequestError;

    fn from_str(text: &str) -> Result<Self, MappingRequestError> {
        let request: Map<String, Value> =
            serde_json::from_str(text).map_err(|_| MappingRequestError)?;
        let function = request.get("FunctionName").and_then(Value::as_str);
        let function = function.filter(|name| !name.is_empty()).ok_or(MappingRequestError)?;
        let function = function.to_owned();
        match request.contains_key("EventSourceArn") {
            true => Err(MappingRequestError),
            false => Ok(Self { request, function }),
        }
    }
}

/// A mapping in a list.
struct Found {
    uuid: String,
    /// It is being deleted, and brings nothing any more.
    is_going: bool,
}

impl Mappings {
    /// Mappings to the function of a request.
    pub fn new(services: &Services, request: MappingRequest) -> Self {
        let lambda = SignedHttp::new(SERVICE, services);
        let base = format!("{}{PATH}", lambda.address(None));
        Self(Arc::new(MappingsInner { lambda, base, request }))
    }

    /// Maps a stream, if it is not mapped. Returns false if that is unknown yet: an earlier mapping is being deleted, or is not listed
    /// yet.
    ///
    /// # Errors
    /// [`ServiceError`]; it may be mapped.
    pub(crate) async fn create(
        &self,
        stream: &str,
        deadline: Deadline,
    ) -> Result<bool, ServiceError> {
        let mut request = self.0.request.request.clone();
        request.insert("EventSourceArn".to_owned(), Value::from(stream));
        let body = Value::Object(request).to_string().into_bytes();
        let is_made =
            self.call("POST", &self.0.base, body, deadline, |answer| match refusal(&answer) {
                None => Ok(true),
                Some((409, _)) => Ok(false),
                Some(_) => Err(failure(&answer)),
            });
        if is_made.await? {
            return Ok(true);
        }
        let found = self.list(stream, deadline).await?;
        Ok(found.iter().any(|mapping| !mapping.is_going))
    }

    /// Deletes whatever maps a stream to the function. Returns false if Lambda is still at work on a mapping, which can be deleted later.
    ///
    /// # Errors
    /// [`ServiceError`]; it may be deleted.
    pub(crate) async fn delete(
        &self,
        stream: &str,
        deadline: Deadline,
    ) -> Result<bool, ServiceError> {
        let mut all = true;
        for Found { uuid, is_going } in self.list(stream, deadline).await? {
            if is_going {
                continue;
            }
            let url = format!("{}{}", self.0.base, escaped(&uuid));
            let is_gone =
                self.call("DELETE", &url, Vec::new(), deadline, |answer| match refusal(&answer) {
                    None | Some((404, _)) => Ok(true),
                    Some((409, _)) | Some((_, "ResourceInUseException")) => Ok(false),
                    Some(_) => Err(failure(&answer)),
                });
            all &= is_gone.await?;
        }
        Ok(all)
    }

    async fn list(&self, stream: &str, deadline: Deadline) -> Result<Vec<Found>, ServiceError> {
        let value = |text: &str| escaped(text).replace('/', "%2F");
        let (stream, function) = (value(stream), value(&self.0.request.function));
        let first = format!("{}?EventSourceArn={stream}&FunctionName={function}", self.0.base);
        let (mut found, mut url) = (Vec::new(), first.clone());
        for _ in 0..PAGES {
            let page =
                self.call("GET", &url, Vec::new(), deadline, |answer| match refusal(&answer) {
                    None => page(&answer).ok_or_else(|| SignedError::unreadable().into()),
                    Some(_) => Err(failure(&answer)),
                });
            let (some, marker) = page.await?;
            found.extend(some);
            let Some(marker) = marker else { return Ok(found) };
            url = format!("{first}&Marker={}", value(&marker));
        }
        Err(ServiceError::Unavailable("its list of mappings has no end".to_owned()))
    }

    async fn call<T: Send>(
        &self,
        method: &'static str,
        url: &str,
        body: Vec<u8>,
        deadline: Deadline,
        read: impl Fn(HttpAnswer) -> Result<T, ServiceError> + Send + Sync,
    ) -> Result<T, ServiceError> {
        let content_type = (method == "POST").then_some("application/json");
        let (body, target) = (body.into(), None);
        let call = HttpCall { method, url, body, content_type, target, attempt: retry::attempt };
        self.0.lambda.call(call, deadline, read).await
    }
}

/// A page of a list, and the marker of the next one.
fn page(answer: &HttpAnswer) -> Option<(Vec<Found>, Option<String>)> {
    let answer: Value = serde_json::from_slice(&answer.body).ok()?;
    let found = |mapping: &Value| {
        let uuid = mapping["UUID"].as_str()?.to_owned();
        Some(Found { uuid, is_going: mapping["State"] == "Deleting" })
    };
    let mappings = answer["EventSourceMappings"].as_array()?;
    let mappings = mappings.iter().map(found).collect::<Option<_>>()?;
    Some((mappings, answer["NextMarker"].as_str().map(ToOwned::to_owned)))
}

//! The service that a call is for. Each service has its own error codes, and its own way to report that a batch was done in part.

use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use serde_json::{Map, Value, json};

use super::demand::operation;
use crate::tables_http::TARGET;
use crate::{bus, lambda};

/// The service that a call is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    Tables,
    Queues,
    Objects,
    Mappings,
    Bus,
}

/// The items of a batch that are given back.
pub(super) struct Left {
    /// The member of the answer that has them.
    pub(super) name: &'static str,
    pub(super) requests: Value,
}

impl Service {
    pub(super) fn of(request: &HttpRequest) -> Self {
        match request.headers().get("x-amz-target") {
            Some(target) if target.starts_with(TARGET) => Self::Tables,
            Some(target) if target.starts_with(bus::TARGET) => Self::Bus,
            Some(_) => Self::Queues,
            None if lambda::path(request.uri()).is_some() => Self::Mappings,
            None => Self::Objects,
        }
    }

    pub(super) fn throttled(self) -> HttpResponse {
        self.error(400, "ProvisionedThroughputExceededException", "RequestThrottled", "SlowDown")
    }

    pub(super) fn broken(self) -> HttpResponse {
        self.error(500, "InternalServerError", "InternalFailure", "InternalError")
    }

    pub(super) fn missing(self) -> HttpResponse {
        self.error(400, "ResourceNotFoundException", "QueueDoesNotExist", "NoSuchBucket")
    }

    pub(super) fn limit_exceeded(self) -> HttpResponse {
        self.error(400, "LimitExceededException", "RequestThrottled", "SlowDown")
    }

    pub(super) fn in_use(self) -> HttpResponse {
        self.error(400, "ResourceInUseException", "RequestThrottled", "SlowDown")
    }

    pub(super) fn denied(self) -> HttpResponse {
        self.error(400, "AccessDeniedException", "AccessDeniedException", "AccessDenied")
    }

    /// Splits a batch into the call for its first items, and the rest. `None` if it is not a batch, or if there is no rest.
    pub(super) fn split(self, request: &HttpRequest, first: usize) -> Option<(HttpRequest, Left)> {
        match self {
            Self::Tables => split_items(request, first),
            Self::Queues => split_entries(request, first, "Failed", failed_message),
            Self::Bus => split_entries(
                request,
                first,
                "Entries",
                |_| json!({"ErrorCode": "InternalFailure"}),
            ),
            Self::Objects | Self::Mappings => None,
        }
    }

    fn error(self, status: u16, of_table: &str, of_queue: &str, of_object: &str) -> HttpResponse {
        let code = match self {
            Self::Tables => format!("com.amazonaws.dynamodb.v20120810#{of_table}"),
            Self::Queues => format!("com.amazonaws.sqs#{of_queue}"),
            Self::Objects => return of_bucket(of_object),
            Self::Mappings => return of_mapping(of_object),
            Self::Bus => return of_bus(of_object),
        };
        answered(status, &json!({"__type": code, "message": "a fault on purpose"}))
    }
}

/// An error of S3, by its code.
fn of_bucket(code: &str) -> HttpResponse {
    let status = match code {
        "SlowDown" => http::StatusCode::SERVICE_UNAVAILABLE,
        "NoSuchBucket" => http::StatusCode::NOT_FOUND,
        "AccessDenied" => http::StatusCode::FORBIDDEN,
        _ => http::StatusCode::INTERNAL_SERVER_ERROR,
    };
    let body = format!("<Error><Code>{code}</Code><Message>a fault on purpose</Message></Error>");
    HttpResponse::new(StatusCode::from(status), SdkBody::from(body))
}

/// The same error of EventBridge.
fn of_bus(of_object: &str) -> HttpResponse {
    let (status, name) = match of_object {
        "SlowDown" => (400, "ThrottlingException"),
        "NoSuchBucket" => (400, "ResourceNotFoundException"),
        "AccessDenied" => (400, "AccessDeniedException"),
        _ => (500, "InternalException"),
    };
    answered(status, &json!({"__type": name, "message": "a fault on purpose"}))
}

/// The same error of Lambda.
fn of_mapping(of_object: &str) -> HttpResponse {
    let (status, name) = match of_object {
        "SlowDown" => (429, "TooManyRequestsException"),
        "NoSuchBucket" => (404, "ResourceNotFoundException"),
        "AccessDenied" => (403, "AccessDeniedException"),
        _ => (500, "ServiceException"),
    };
    let mut answer = answered(status, &json!({"Message": "a fault on purpose"}));
    answer.headers_mut().insert("x-amzn-errortype", name);
    answer
}

fn failed_message(entry: &Value) -> Value {
    json!({"Id": entry["Id"], "SenderFault": false, "Code": "InternalError"})
}

/// The same for tables.
fn split_items(request: &HttpRequest, first: usize) -> Option<(HttpRequest, Left)> {
    let name = match operation(request)? {
        "BatchWriteItem" => "UnprocessedItems",
        "BatchGetItem" => "UnprocessedKeys",
        _ => return None,
    };
    let mut body: Value = serde_json::from_slice(request.body().bytes()?).ok()?;
    let (mut left, mut room) = (Map::new(), first);
    for (table, requests) in body["RequestItems"].as_object_mut()? {
        let mut rest = requests.clone();
        let kept = items_mut(requests)?;
        let cut = room.min(kept.len());
        room -= cut;
        let over = kept.split_off(cut);
        if !over.is_empty() {
            *items_mut(&mut rest)? = over;
            left.insert(table.clone(), rest);
        }
    }
    let requests = body["RequestItems"].as_object_mut()?;
    requests.retain(|_, requests| items_mut(requests).is_some_and(|items| !items.is_empty()));
    if left.is_empty() {
        return None;
    }
    let call = with_body(request, &body)?;
    Some((call, Left { name, requests: Value::Object(left) }))
}

fn items_mut(requests: &mut Value) -> Option<&mut Vec<Value>> {
    match requests {
        Value::Array(items) => Some(items),
        requests => requests.get_mut("Keys")?.as_array_mut(),
    }
}

/// The same for queues and the bus, whose batches report for each entry whether it failed: how, says `failed`.
fn split_entries(
    request: &HttpRequest,
    first: usize,
    name: &'static str,
    failed: impl Fn(&Value) -> Value,
) -> Option<(HttpRequest, Left)> {
    let mut body: Value = serde_json::from_slice(request.body().bytes()?).ok()?;
    let entries = body["Entries"].as_array_mut().filter(|entries| entries.len() > first)?;
    let rest = entries.split_off(first);
    let requests = rest.iter().map(failed).collect();
    Some((with_body(request, &body)?, Left { name, requests }))
}

/// The same call with another body.
fn with_body(request: &HttpRequest, body: &Value) -> Option<HttpRequest> {
    let mut call = HttpRequest::new(SdkBody::from(body.to_string()));
    *call.headers_mut() = request.headers().clone();
    call.set_method(request.method()).ok()?;
    call.set_uri(request.uri()).ok()?;
    Some(call)
}

/// An answer in JSON.
pub(super) fn answered(status: u16, body: &Value) -> HttpResponse {
    let status =
        StatusCode::try_from(status).unwrap_or_else(|_| StatusCode::from(http::StatusCode::OK));
    let mut response = HttpResponse::new(status, SdkBody::from(body.to_string()));
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    response
}

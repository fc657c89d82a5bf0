//! One fault, done to one call.

use std::time::Duration;

use aws_smithy_runtime_api::client::http::{HttpConnector, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::http::StatusCode;
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};

use super::demand;

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Refused for want of capacity; nothing was done.
    Throttled,
    /// Of a batch only the first so many are done, and the others are given back as unprocessed. A
    /// call that is no batch is refused, and so is a batch of which nothing would be done.
    Leftovers(usize),
    /// Status 500, and nothing was done.
    ServerError,
    /// The connection is reset before the call arrives.
    LostRequest,
    /// The call is done, and the connection is reset before the answer.
    LostAnswer,
    /// The call is done, and half of the answer arrives.
    CutAnswer,
    /// The answer takes its time.
    Slow(Duration),
    /// The call is done, and no answer ever comes.
    Hang,
    /// The table is not there.
    TableMissing,
    /// The caller may not do this.
    Denied,
}

/// Does a call, with a fault if there is one.
///
/// # Errors
/// What the connector inside answers, or what the fault does.
pub async fn inject(
    fault: Option<Fault>,
    request: HttpRequest,
    inside: &SharedHttpConnector,
) -> Result<HttpResponse, ConnectorError> {
    let Some(fault) = fault else { return inside.call(request).await };
    match fault {
        Fault::Throttled => Ok(throttled()),
        Fault::Leftovers(done) => leftovers(done, request, inside).await,
        Fault::ServerError => Ok(error(500, "InternalServerError", "something broke")),
        Fault::LostRequest => Err(reset()),
        Fault::LostAnswer => inside.call(request).await.and_then(|_| Err(reset())),
        Fault::CutAnswer => inside.call(request).await.map(cut),
        Fault::Slow(delay) => {
            tokio::time::sleep(delay).await;
            inside.call(request).await
        }
        Fault::Hang => {
            let _ = inside.call(request).await;
            std::future::pending().await
        }
        Fault::TableMissing => {
            Ok(error(400, "ResourceNotFoundException", "Requested resource not found"))
        }
        Fault::Denied => Ok(error(400, "AccessDeniedException", "the caller may not do this")),
    }
}

/// Does the first of a batch and gives the others back.
async fn leftovers(
    done: usize,
    request: HttpRequest,
    inside: &SharedHttpConnector,
) -> Result<HttpResponse, ConnectorError> {
    let split = (done > 0).then(|| demand::split(&request, done)).flatten();
    let Some((first, left)) = split else { return Ok(throttled()) };
    let response = inside.call(first).await?;
    if !response.status().is_success() {
        return Ok(response);
    }
    let body = response.body().bytes().unwrap_or_default();
    let mut answer: Value = serde_json::from_slice(body).unwrap_or_else(|_| json!({}));
    answer[left.name] = left.requests;
    Ok(answered(200, &answer))
}

fn throttled() -> HttpResponse {
    let sentence = "The level of configured provisioned throughput for the table was exceeded.";
    error(400, "ProvisionedThroughputExceededException", sentence)
}

fn error(status: u16, code: &str, message: &str) -> HttpResponse {
    let code = format!("com.amazonaws.dynamodb.v20120810#{code}");
    answered(status, &json!({"__type": code, "message": message}))
}

fn answered(status: u16, body: &Value) -> HttpResponse {
    let status =
        StatusCode::try_from(status).unwrap_or_else(|_| StatusCode::from(http::StatusCode::OK));
    let mut response = HttpResponse::new(status, SdkBody::from(body.to_string()));
    response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
    response
}

fn cut(mut response: HttpResponse) -> HttpResponse {
    let whole = response.body().bytes().unwrap_or_default();
    let half = SdkBody::from(&whole[..whole.len() / 2]);
    *response.body_mut() = half;
    response
}

fn reset() -> ConnectorError {
    ConnectorError::io("the connection was reset".into())
}

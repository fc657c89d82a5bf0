//! One fault, injected into one call.

use std::time::Duration;

use aws_smithy_runtime_api::client::http::{HttpConnector, SharedHttpConnector};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_types::body::SdkBody;
use serde_json::Value;

use super::service::{Service, answered};
use crate::connector::not_in_memory;

/// What happens to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Refused for lack of capacity; nothing is done.
    Throttled,
    /// The first items of a batch, as many as this number, are done. The others are given back: as unprocessed by the tables, as failed
    /// by the queues. A call that is not a batch is refused, and so is a batch of which nothing would be done.
    Leftovers(usize),
    /// Status 500; nothing is done.
    ServerError,
    /// The connection is reset before the call arrives.
    LostRequest,
    /// The call is done, and the connection is reset before the answer.
    LostAnswer,
    /// The call is done, and half of the answer arrives.
    CutAnswer,
    /// The answer is delayed.
    Slow(Duration),
    /// The call is done, and no answer ever comes.
    Hang,
    /// The table or the queue does not exist.
    TableMissing,
    /// Too many operations on tables at once; nothing is done.
    LimitExceeded,
    /// The call is done, and the table is still being created.
    Creating,
    /// The table is still being created, so it cannot be changed.
    InUse,
    /// The caller has no permission.
    Denied,
    /// The caller panics in the middle of this call.
    Panic,
}

/// Executes a call, with a fault if there is one.
///
/// # Errors
/// What the connector inside answers, or what the fault does.
pub async fn inject(
    fault: Option<Fault>,
    request: HttpRequest,
    inside: &SharedHttpConnector,
) -> Result<HttpResponse, ConnectorError> {
    let Some(fault) = fault else { return inside.call(request).await };
    let service = Service::of(&request);
    match fault {
        Fault::Throttled => Ok(service.throttled()),
        Fault::Leftovers(done) => leftovers(done, request, inside).await,
        Fault::ServerError => Ok(service.broken()),
        Fault::LostRequest => Err(reset()),
        Fault::LostAnswer => inside.call(request).await.and_then(|_| Err(reset())),
        Fault::CutAnswer => cut(inside.call(request).await?),
        Fault::Slow(delay) => {
            tokio::time::sleep(delay).await;
            inside.call(request).await
        }
        Fault::Hang => {
            let _ = inside.call(request).await;
            std::future::pending().await
        }
        Fault::TableMissing => Ok(service.missing()),
        Fault::LimitExceeded => Ok(service.limit_exceeded()),
        Fault::InUse => Ok(service.in_use()),
        Fault::Creating => creating(inside.call(request).await?),
        Fault::Panic => panic_on_purpose(),
        Fault::Denied => Ok(service.denied()),
    }
}

#[allow(clippy::panic, reason = "that is the fault")]
fn panic_on_purpose() -> ! {
    panic!("a fault on purpose: --faults=panics")
}

/// Executes the first items of a batch and gives the others back.
async fn leftovers(
    done: usize,
    request: HttpRequest,
    inside: &SharedHttpConnector,
) -> Result<HttpResponse, ConnectorError> {
    let service = Service::of(&request);
    let split = (done > 0).then(|| service.split(&request, done)).flatten();
    let Some((first, left)) = split else { return Ok(service.throttled()) };
    let response = inside.call(first).await?;
    if !response.status().is_success() {
        return Ok(response);
    }
    let body = response.body().bytes().ok_or_else(not_in_memory)?;
    let mut answer: Value =
        serde_json::from_slice(body).map_err(|e| ConnectorError::other(e.into(), None))?;
    match (&mut answer[left.name], left.requests) {
        (Value::Array(there), Value::Array(more)) => there.extend(more),
        (there, requests) => *there = requests,
    }
    Ok(answered(200, &answer))
}

/// Changes an answer about a table, so that the table is still being created.
fn creating(response: HttpResponse) -> Result<HttpResponse, ConnectorError> {
    let body = response.body().bytes().ok_or_else(not_in_memory)?;
    let mut answer: Value =
        serde_json::from_slice(body).map_err(|e| ConnectorError::other(e.into(), None))?;
    for member in ["Table", "TableDescription"] {
        if let Some(status) = answer[member].get_mut("TableStatus") {
            *status = Value::from("CREATING");
        }
    }
    Ok(answered(response.status().as_u16(), &answer))
}

fn cut(mut response: HttpResponse) -> Result<HttpResponse, ConnectorError> {
    let whole = response.body().bytes().ok_or_else(not_in_memory)?;
    let half = SdkBody::from(&whole[..whole.len() / 2]);
    *response.body_mut() = half;
    Ok(response)
}

fn reset() -> ConnectorError {
    ConnectorError::io("the connection was reset".into())
}

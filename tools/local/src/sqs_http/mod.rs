//! The queues over HTTP: any AWS SDK finds SQS here.

mod query_protocol;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use nagare_gateway::ports::intake::{Intake, Refused};
use uuid::Uuid;

use crate::sqs::Wire;

/// A batch is at most 1 MiB; escaping it in JSON can take six times that.
const MAX_REQUEST_BYTES: usize = 8 * 1024 * 1024;

/// Serves the protocol at every path: SDKs send to the endpoint or to a queue's URL.
pub(super) fn router(wire: Wire) -> Router {
    Router::new().fallback(answer).with_state((wire, Intake::up_to(MAX_REQUEST_BYTES)))
}

async fn answer(
    State((wire, intake)): State<(Wire, Intake)>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let body = intake.read(body).await?;
    if let Some(refusal) = query_protocol::refusal(&uri, &headers) {
        return Ok(refusal);
    }
    let target = headers.get("x-amz-target").and_then(|value| value.to_str().ok());
    let answer = wire.call(target.unwrap_or_default(), &body.bytes);
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, answer.body).into_response();
    let headers = response.headers_mut();
    headers.insert("content-type", HeaderValue::from_static("application/x-amz-json-1.0"));
    let request_id = HeaderValue::try_from(Uuid::new_v4().to_string());
    let error = answer.error_type.map(HeaderValue::try_from);
    if let Ok(request_id) = request_id {
        headers.insert("x-amzn-requestid", request_id);
    }
    if let Some(Ok(error)) = error {
        headers.insert("x-amzn-query-error", error);
    }
    Ok(response)
}

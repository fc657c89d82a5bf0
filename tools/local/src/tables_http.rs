//! The tables over HTTP: any AWS SDK finds DynamoDB here.

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use nagare_gateway::ports::intake::{Intake, Refused};
use uuid::Uuid;

use super::engine::Engine;

/// The largest request that DynamoDB takes.
pub const MAX_REQUEST_BYTES: usize = 16 * 1024 * 1024;
/// The prefix of every operation's target.
pub const TARGET: &str = "DynamoDB_20120810.";

/// Serves the protocol at the root.
pub(super) fn router(engine: Engine) -> Router {
    Router::new().fallback(answer).with_state((engine, Intake::up_to(MAX_REQUEST_BYTES)))
}

async fn answer(
    State((engine, intake)): State<(Engine, Intake)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Refused> {
    let body = intake.read(body).await?;
    let (status, answer) = engine.call(operation(&headers), &body.bytes);
    Ok(response(status, answer))
}

/// The operation that is asked for.
pub fn operation(headers: &HeaderMap) -> &str {
    let target = headers.get("x-amz-target").and_then(|value| value.to_str().ok());
    target.and_then(|target| target.strip_prefix(TARGET)).unwrap_or_default()
}

/// An answer of the protocol.
pub fn response(status: u16, answer: String) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = (status, answer).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-amz-json-1.0"));
    if let Ok(request_id) = HeaderValue::try_from(Uuid::new_v4().to_string()) {
        headers.insert("x-amzn-requestid", request_id);
    }
    response
}

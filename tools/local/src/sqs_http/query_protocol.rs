//! Clients that speak SQS's older protocol: a form as request, XML as answer.
//!
//! SDKs released before SQS had JSON (November 2023) speak nothing else. They are refused in their own protocol, so that they can
//! show the reason. `docs/LOCAL.md` names versions.

use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode, Uri};
use uuid::Uuid;

const FORM: &str = "application/x-www-form-urlencoded";
const MESSAGE: &str = "This queue speaks SQS's JSON protocol only, and this client its older query protocol. Use a \
                       client of December 2023 or later; of Python's, boto3 1.28.81 with botocore 1.31.81 or later. \
                       docs/LOCAL.md of Nagare says more.";

/// The answer to a request in the older protocol; `None` for every other one.
pub(super) fn refusal(uri: &Uri, headers: &HeaderMap) -> Option<Response> {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_form = content_type.is_some_and(|media| media.starts_with(FORM));
    let is_query = uri.query().is_some_and(|query| {
        form_urlencoded::parse(query.as_bytes()).any(|(name, _)| name == "Action")
    });
    let is_json = headers.contains_key("x-amz-target");
    (!is_json && (is_form || is_query)).then(answer)
}

fn answer() -> Response {
    let body = format!(
        "<?xml version=\"1.0\"?>\n\
         <ErrorResponse xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"><Error><Type>Sender</Type>\
         <Code>UnsupportedProtocol</Code><Message>{MESSAGE}</Message><Detail/></Error>\
         <RequestId>{}</RequestId></ErrorResponse>",
        Uuid::new_v4()
    );
    (StatusCode::BAD_REQUEST, [(CONTENT_TYPE, "text/xml")], body).into_response()
}

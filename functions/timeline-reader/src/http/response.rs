//! Answers in JSON.

use aws_lambda_events::encodings::Body;
use aws_lambda_events::event::apigw::ApiGatewayV2httpResponse;
use aws_lambda_events::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use aws_lambda_events::http::{HeaderMap, HeaderValue};

/// What a request is answered with.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The body, JSON.
    pub(crate) body: String,
    /// How many items it holds.
    pub(crate) items: usize,
}

impl Answer {
    pub(crate) fn into_response(self) -> ApiGatewayV2httpResponse {
        json(200, "application/json", self.body)
    }
}

/// An answer with a JSON body that nobody may keep.
pub(crate) fn json(
    status: u16,
    content_type: &'static str,
    body: String,
) -> ApiGatewayV2httpResponse {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    let mut response = ApiGatewayV2httpResponse::default();
    response.status_code = i64::from(status);
    response.headers = headers;
    response.body = Some(Body::Text(body));
    response
}

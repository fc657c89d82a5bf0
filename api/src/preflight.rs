//! What a browser asks before a web page of another origin may read: whether it may.
//!
//! Where CORS is configured, API Gateway says who may, in the headers of every answer. Its route `$default` would ask
//! a preflight for a token, which a browser does not send, so there is a route for preflights that asks nobody, and
//! a browser wants its answer to be a success. Nothing is read for it, and its answer says nothing.

use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};

/// The route that asks nobody for anything.
pub const ROUTE: &str = "OPTIONS /{proxy+}";

/// Answers a preflight. Returns `None` if the request is not one.
#[must_use]
pub fn answer(event: &ApiGatewayV2httpRequest) -> Option<ApiGatewayV2httpResponse> {
    let is_preflight =
        event.route_key.as_deref() == Some(ROUTE) && event.request_context.http.method == "OPTIONS";
    is_preflight.then(|| {
        let mut response = ApiGatewayV2httpResponse::default();
        response.status_code = 204;
        response
    })
}

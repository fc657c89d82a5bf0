//! CORS preflight requests.
//!
//! Where CORS is configured, API Gateway adds its headers to every answer. Its routes for any method would require a token of a preflight,
//! which browsers do not send, so preflights have routes without authentication. Browsers require a successful answer. It is empty, and
//! nothing is read for it.

use aws_lambda_events::event::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};

/// The routes without authentication: one for each reader.
pub const ROUTES: [&str; 2] = ["OPTIONS /{proxy+}", "OPTIONS /v1/tenants/{proxy+}"];

/// Answers a preflight. Returns `None` if the request is not one.
pub fn answer(event: &ApiGatewayV2httpRequest) -> Option<ApiGatewayV2httpResponse> {
    let is_route = event.route_key.as_deref().is_some_and(|key| ROUTES.contains(&key));
    let is_preflight = is_route && event.request_context.http.method == "OPTIONS";
    is_preflight.then(|| {
        let mut response = ApiGatewayV2httpResponse::default();
        response.status_code = 204;
        response
    })
}

//! Tests through the router, as a caller sees the API.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod answers;
mod connection;
mod cors;
mod events;
mod isolation;
mod overload;
mod sizes;

use shared::platform::runtime::clock::Clock;
use shared::platform::values::Timestamp;
use std::convert::Infallible;

use aws_lambda_events::apigw::{ApiGatewayV2httpRequest, ApiGatewayV2httpResponse};
use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use http::{HeaderMap, StatusCode};
use serde_json::Value;
use tower::ServiceExt;

use super::{Authorization, Gateway, Limits};

/// 2026-11-20T12:00:00Z.
const NOW: i64 = 1_795_176_000;

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next().map(|value| value.to_str().unwrap());
        assert!(values.next().is_none(), "{name} has several values");
        value
    }

    /// Asserts that this is a problem document, complete and of this status.
    fn assert_problem(&self, status: u16, what: &str) {
        assert_eq!(self.status, status, "{what}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{what}");
        let problem = self.json();
        assert_eq!(problem["type"], "about:blank", "{what}");
        assert_eq!(problem["status"], status, "{what}");
        assert_eq!(problem["title"], self.status.canonical_reason().unwrap(), "{what}");
        assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{what}");
    }
}

async fn send(api: &Router, request: Request) -> Answer {
    let response = api.clone().oneshot(request).await.unwrap();
    let (head, body) = response.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap().to_vec();
    Answer { status: head.status, headers: head.headers, body }
}

fn get(target: &str) -> Request {
    Request::get(target).body(Body::empty()).unwrap()
}

/// An API whose handler answers with the event that it got.
fn echo(authorization: Authorization, limits: Limits) -> Router {
    Gateway::new(echo_handler, authorization, limits)
        .taking(event_intake::ROUTES)
        .with_clock(Clock::manual(Timestamp::from_unix_millis(NOW * 1000)))
        .router()
}

async fn echo_handler(
    event: ApiGatewayV2httpRequest,
) -> Result<ApiGatewayV2httpResponse, Infallible> {
    let mut answer = ApiGatewayV2httpResponse::default();
    answer.status_code = 200;
    answer.body = Some(serde_json::to_string(&event).unwrap().into());
    Ok(answer)
}

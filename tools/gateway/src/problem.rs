//! Refusals, as problem documents (RFC 9457).

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::json;

use crate::ports::intake::Refused;

/// An answer that the gateway gives without, or instead of, the handler's.
///
/// The texts are constants, so nothing of the inside can get into one.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    detail: &'static str,
    header: Option<(HeaderName, HeaderValue)>,
}

impl Problem {
    pub(super) fn no_token() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "This API needs a bearer token.")
            .with(WWW_AUTHENTICATE, "Bearer")
    }

    pub(super) fn invalid_token() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "The bearer token is not valid.")
            .with(WWW_AUTHENTICATE, r#"Bearer error="invalid_token""#)
    }

    pub(super) fn head_too_large() -> Self {
        Self::new(
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            "The request line and headers are too large.",
        )
    }

    pub(super) fn overloaded() -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "More requests are in flight than can be served.")
            .with(RETRY_AFTER, "1")
    }

    /// A body cannot be handed on.
    pub(super) fn body_refused(why: Refused) -> Self {
        match why {
            Refused::Cut => Self::new(StatusCode::BAD_REQUEST, "The request's body ended early."),
            Refused::TooSlow => {
                Self::new(StatusCode::REQUEST_TIMEOUT, "The request's body did not arrive in time.")
            }
            Refused::TooLarge => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "The request's body is too large.")
            }
            Refused::NoRoom => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "The bodies of other requests take all the room there is.",
            )
            .with(RETRY_AFTER, "1"),
        }
    }

    pub(super) fn integration_timed_out() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "The request took too long.")
            .with(RETRY_AFTER, "1")
    }

    pub(super) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "The request could not be answered.")
    }

    fn new(status: StatusCode, detail: &'static str) -> Self {
        Self { status, detail, header: None }
    }

    fn with(self, name: HeaderName, value: &'static str) -> Self {
        Self { header: Some((name, HeaderValue::from_static(value))), ..self }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let document = json!({
            "type": "about:blank",
            "title": self.status.canonical_reason(),
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        let mut response = (self.status, document.to_string()).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.extend(self.header);
        response
    }
}

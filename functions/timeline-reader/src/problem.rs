//! What is answered instead of a page: RFC 9457 problem details. They tell the caller what to mend,
//! and nothing about the inside.

use aws_lambda_events::event::apigw::ApiGatewayV2httpResponse;
use aws_lambda_events::http::HeaderValue;
use aws_lambda_events::http::header::{ALLOW, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use serde::Serialize;
use shared::store::StoreError;
use tracing::error;

use crate::answer;

/// Why a request is not answered with a page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Problem {
    /// A parameter is not what it should be.
    Invalid { parameter: &'static str, problem: String },
    /// Nobody vouches for the caller.
    Unauthenticated,
    /// It is another viewer's timeline.
    Forbidden,
    /// There is nothing at this path.
    NotFound,
    /// There is, but it cannot be done to it.
    MethodNotAllowed,
    /// More is asked for than the tables admit.
    Throttled,
    /// The tables cannot be read now.
    Unavailable,
}

#[derive(Serialize)]
struct Details<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameter: Option<&'a str>,
}

impl Problem {
    pub(crate) fn invalid(parameter: &'static str, problem: String) -> Self {
        Self::Invalid { parameter, problem }
    }

    pub(crate) fn into_response(self) -> ApiGatewayV2httpResponse {
        let (status, name, title) = self.kind();
        let (detail, parameter) = self.detail();
        let kind = format!("urn:nagare:problem:{name}");
        let details = Details { r#type: kind, title, status, detail, parameter };
        let mut response = answer::json(status, "application/problem+json", &details);
        if let Some((name, value)) = self.header() {
            response.headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }

    fn kind(&self) -> (u16, &'static str, &'static str) {
        match self {
            Self::Invalid { .. } => (400, "invalid-parameter", "A parameter is invalid"),
            Self::Unauthenticated => (401, "unauthenticated", "The caller is not known"),
            Self::Forbidden => (403, "forbidden", "Not the caller's timeline"),
            Self::NotFound => (404, "not-found", "There is nothing here"),
            Self::MethodNotAllowed => (405, "method-not-allowed", "The method is not allowed"),
            Self::Throttled => (429, "throttled", "Too many requests"),
            Self::Unavailable => (503, "unavailable", "The timeline cannot be read now"),
        }
    }

    fn detail(&self) -> (String, Option<&'static str>) {
        let sentence = match self {
            Self::Invalid { parameter, problem } => {
                return (format!("{parameter}: {problem}"), Some(parameter));
            }
            Self::Unauthenticated => "Send a bearer token with a `sub` claim.",
            Self::Forbidden => "Viewers read their own timeline only.",
            Self::NotFound => "Timelines are at /v1/timelines/{viewer_id}.",
            Self::MethodNotAllowed => "Timelines are read with GET.",
            Self::Throttled | Self::Unavailable => "Try again after the time in Retry-After.",
        };
        (sentence.to_owned(), None)
    }

    fn header(&self) -> Option<(HeaderName, &'static str)> {
        match self {
            Self::Unauthenticated => Some((WWW_AUTHENTICATE, "Bearer")),
            Self::MethodNotAllowed => Some((ALLOW, "GET")),
            Self::Throttled => Some((RETRY_AFTER, "1")),
            Self::Unavailable => Some((RETRY_AFTER, "5")),
            _ => None,
        }
    }
}

/// The one place where a failed read is logged; the caller is told no more than when to come back.
impl From<StoreError> for Problem {
    fn from(failure: StoreError) -> Self {
        error!(reason = failure.reason(), "the timeline was not read: {failure}");
        match failure {
            StoreError::Throttled => Self::Throttled,
            _ => Self::Unavailable,
        }
    }
}

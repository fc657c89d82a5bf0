//! What is answered instead: RFC 9457 problem details. They tell the caller what to correct,
//! and nothing about the inside.

use aws_lambda_events::event::apigw::ApiGatewayV2httpResponse;
use aws_lambda_events::http::HeaderValue;
use aws_lambda_events::http::header::{ALLOW, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE};
use serde_json::Value;
use shared::dynamo::DynamoError;

use super::response;

/// Why a request is not answered as it was meant.
#[derive(Debug)]
pub(crate) enum Problem {
    /// A parameter is not what it should be.
    Invalid { parameter: &'static str, problem: String },
    /// Nobody vouches for the caller.
    Unauthenticated,
    /// It is another viewer's.
    Forbidden,
    /// There is nothing at this path; these are the paths that there are, if it is none of them.
    NotFound(&'static [&'static str]),
    /// There is, but it cannot be done to it.
    MethodNotAllowed,
    /// The tables cannot be read now: more is asked of them than they admit, or worse. The caller is
    /// told no more than when to come back.
    Unread(DynamoError),
    /// The answer was read, and cannot be written as JSON: a defect of ours.
    Unwritten(serde_json::Error),
}

impl Problem {
    pub(crate) fn invalid(parameter: &'static str, problem: String) -> Self {
        Self::Invalid { parameter, problem }
    }

    pub(crate) fn into_response(self) -> ApiGatewayV2httpResponse {
        let mut response = response::json(self.status(), "application/problem+json", self.body());
        if let Some((name, value)) = self.header() {
            response.headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }

    /// Written member by member, which cannot fail: behind a problem there is nothing to fall back on.
    fn body(&self) -> String {
        let (status, name, title) = self.kind();
        let (detail, parameter) = self.detail();
        let text = |text: &str| Value::from(text).to_string();
        let (title, detail) = (text(title), text(&detail));
        let parameter = parameter.map(|name| format!(",\"parameter\":{}", text(name)));
        let parameter = parameter.as_deref().unwrap_or("");
        format!(
            "{{\"type\":\"urn:nagare:problem:{name}\",\"title\":{title},\"status\":{status},\
             \"detail\":{detail}{parameter}}}"
        )
    }

    /// Its status.
    pub(crate) fn status(&self) -> u16 {
        self.kind().0
    }

    /// The last part of its type: a short fixed word.
    pub(crate) fn name(&self) -> &'static str {
        self.kind().1
    }

    /// The parameter that is wrong, if one is.
    pub(crate) fn parameter(&self) -> Option<&'static str> {
        match self {
            Self::Invalid { parameter, .. } => Some(parameter),
            _ => None,
        }
    }

    fn kind(&self) -> (u16, &'static str, &'static str) {
        match self {
            Self::Invalid { .. } => (400, "invalid-parameter", "A parameter is invalid"),
            Self::Unauthenticated => (401, "unauthenticated", "The caller is not known"),
            Self::Forbidden => (403, "forbidden", "Not the caller's own"),
            Self::NotFound(_) => (404, "not-found", "There is nothing here"),
            Self::MethodNotAllowed => (405, "method-not-allowed", "The method is not allowed"),
            Self::Unread(DynamoError::Throttled) => (429, "throttled", "Too many requests"),
            Self::Unread(_) | Self::Unwritten(_) => (503, "unavailable", "It cannot be read now"),
        }
    }

    fn detail(&self) -> (String, Option<&'static str>) {
        let sentence = match self {
            Self::Invalid { parameter, problem } => {
                return (format!("{parameter}: {problem}"), Some(parameter));
            }
            Self::Unauthenticated => "Send a bearer token with a `sub` claim, or sign the request.",
            Self::Forbidden => "Viewers read only what is their own, or their tenant's.",
            Self::NotFound([]) => "The path is right, and nobody has put anything there.",
            Self::NotFound(paths) => return (format!("Paths: {}", paths.join(", ")), None),
            Self::MethodNotAllowed => "It is read with GET.",
            Self::Unread(_) | Self::Unwritten(_) => "Try again after the time in Retry-After.",
        };
        (sentence.to_owned(), None)
    }

    fn header(&self) -> Option<(HeaderName, &'static str)> {
        match self {
            Self::Unauthenticated => Some((WWW_AUTHENTICATE, "Bearer")),
            Self::MethodNotAllowed => Some((ALLOW, "GET")),
            Self::Unread(DynamoError::Throttled) => Some((RETRY_AFTER, "1")),
            Self::Unread(_) | Self::Unwritten(_) => Some((RETRY_AFTER, "5")),
            _ => None,
        }
    }
}

impl From<DynamoError> for Problem {
    fn from(failure: DynamoError) -> Self {
        Self::Unread(failure)
    }
}

impl From<serde_json::Error> for Problem {
    fn from(defect: serde_json::Error) -> Self {
        Self::Unwritten(defect)
    }
}

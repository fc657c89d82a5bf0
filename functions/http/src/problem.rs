//! Errors as RFC 9457 problem details. They tell the caller what to correct, and nothing about internals.

use std::fmt::Display;

use aws_lambda_events::event::apigw::ApiGatewayV2httpResponse;
use aws_lambda_events::http::HeaderValue;
use aws_lambda_events::http::header::{
    ACCEPT_ENCODING, ALLOW, HeaderName, RETRY_AFTER, WWW_AUTHENTICATE,
};
use serde_json::{Value, json};
use shared::platform::dynamo::DynamoError;
use shared::platform::queue::SendError;

use crate::response;

/// What a problem is called: its status, the last part of its type, and its title.
pub type ProblemKind = (u16, &'static str, &'static str);

macro_rules! kinds {
    ($($kind:ident: $status:literal, $name:literal, $title:literal;)*) => {
        $(const $kind: ProblemKind = ($status, $name, $title);)*
        /// All kinds of problems.
        pub const KINDS: &[ProblemKind] = &[$($kind),*];
    };
}

kinds! {
    INVALID: 400, "invalid-parameter", "A parameter is invalid";
    INVALID_EVENTS: 400, "invalid-events", "The events are invalid";
    UNAUTHENTICATED: 401, "unauthenticated", "The caller is not known";
    FORBIDDEN: 403, "forbidden", "Not the caller's own";
    NOT_FOUND: 404, "not-found", "There is nothing here";
    METHOD_NOT_ALLOWED: 405, "method-not-allowed", "The method is not allowed";
    TOO_LARGE: 413, "too-large", "The body is too large";
    UNKNOWN_ENCODING: 415, "unknown-encoding", "The encoding is not supported";
    THROTTLED: 429, "throttled", "Too many requests";
    TOO_MANY_EVENTS: 429, "too-many-events", "Too many events";
    UNSENT: 503, "unavailable", "The events cannot be queued now";
    RETURNING: 503, "returning", "The timeline is being completed";
    UNREAD: 503, "unavailable", "The answer cannot be read now";
}

/// The reason why a request failed.
#[derive(Debug)]
pub enum Problem {
    /// A parameter is malformed.
    Invalid {
        parameter: &'static str,
        problem: String,
    },
    /// Nothing of the body was accepted, for these reasons.
    Rejected(Vec<Fault>),
    /// The body is larger than this number of bytes.
    TooLarge(usize),
    /// The body has an unsupported encoding.
    UnknownEncoding,
    /// The tenant is over its rate. It may send again after this number of seconds.
    TooMuch(u64),
    /// The caller is not authenticated.
    Unauthenticated,
    Forbidden,
    /// Nothing was found at this path. If no such path exists, lists those that do; otherwise the list is empty.
    NotFound(&'static [&'static str]),
    /// The path accepts only this method.
    MethodNotAllowed(&'static str),
    /// The tables cannot be read now. Whatever the error is, the answer only says when to retry.
    Unread(DynamoError),
    /// The viewer has not read for long, and their timeline is not complete yet.
    Returning,
    /// The events were not sent to the queue, or only some of them.
    Unsent(SendError),
    /// The answer cannot be serialized: a defect of ours.
    Unwritten(serde_json::Error),
}

/// An error in one part of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The index of the part, from 0. `None` if the error is in the body as a whole.
    pub index: Option<usize>,
    /// The name of the malformed member, if there is one.
    pub member: Option<&'static str>,
    /// The error, and what was expected.
    pub detail: String,
}

impl Fault {
    fn json(&self) -> Value {
        json!({"index": self.index, "member": self.member, "detail": self.detail})
    }
}

impl Problem {
    pub fn invalid(parameter: &'static str, problem: String) -> Self {
        Self::Invalid { parameter, problem }
    }

    /// A parameter of the query has a malformed value. An unencoded `+` arrives as a space, and the
    /// answer says so.
    pub fn of_query(parameter: &'static str, value: &str, problem: &dyn Display) -> Self {
        let hint = if value.contains(' ') { "; write `+` as %2B" } else { "" };
        Self::invalid(parameter, format!("{problem}{hint}"))
    }

    #[must_use]
    pub fn into_response(self) -> ApiGatewayV2httpResponse {
        let mut response = response::json(
            self.status(),
            "application/problem+json",
            response::Caching::Private,
            self.body(),
        );
        if let Some((name, value)) = self.header() {
            response.headers.insert(name, value);
        }
        response
    }

    /// Written member by member. That cannot fail, and it must not: a problem that cannot be serialized has no fallback.
    fn body(&self) -> String {
        let (status, name, title) = self.kind();
        let (detail, parameter) = self.detail();
        let text = |text: &str| Value::from(text).to_string();
        let (title, detail) = (text(title), text(&detail));
        let parameter = parameter.map(|name| format!(",\"parameter\":{}", text(name)));
        let parameter = parameter.as_deref().unwrap_or("");
        let errors = match self {
            Self::Rejected(faults) => {
                let errors: Vec<_> = faults.iter().map(|fault| fault.json().to_string()).collect();
                format!(",\"errors\":[{}]", errors.join(","))
            }
            _ => String::new(),
        };
        format!(
            "{{\"type\":\"urn:nagare:problem:{name}\",\"title\":{title},\"status\":{status},\
             \"detail\":{detail}{parameter}{errors}}}"
        )
    }

    pub fn status(&self) -> u16 {
        self.kind().0
    }

    /// The last part of the problem type: a short fixed name.
    pub fn name(&self) -> &'static str {
        self.kind().1
    }

    /// The malformed parameter, if there is one.
    pub fn parameter(&self) -> Option<&'static str> {
        match self {
            Self::Invalid { parameter, .. } => Some(parameter),
            _ => None,
        }
    }

    fn kind(&self) -> ProblemKind {
        match self {
            Self::Invalid { .. } => INVALID,
            Self::Unauthenticated => UNAUTHENTICATED,
            Self::Forbidden => FORBIDDEN,
            Self::NotFound(_) => NOT_FOUND,
            Self::MethodNotAllowed(_) => METHOD_NOT_ALLOWED,
            Self::Rejected(_) => INVALID_EVENTS,
            Self::TooLarge(_) => TOO_LARGE,
            Self::UnknownEncoding => UNKNOWN_ENCODING,
            Self::Unread(DynamoError::Throttled) => THROTTLED,
            Self::TooMuch(_) => TOO_MANY_EVENTS,
            Self::Unsent(_) => UNSENT,
            Self::Returning => RETURNING,
            Self::Unread(_) | Self::Unwritten(_) => UNREAD,
        }
    }

    fn detail(&self) -> (String, Option<&'static str>) {
        let sentence = match self {
            Self::Invalid { parameter, problem } => {
                return (format!("{parameter}: {problem}"), Some(parameter));
            }
            Self::Unauthenticated => "Send a bearer token with a `sub` claim, or sign the request.",
            Self::Forbidden => "Callers may access only what is their own, or their tenant's.",
            Self::NotFound([]) => "The path is valid, but nothing is stored there.",
            Self::NotFound(paths) => return (format!("Paths: {}", paths.join(", ")), None),
            Self::MethodNotAllowed("GET") => "Use GET.",
            Self::MethodNotAllowed(method) => return (format!("Use {method}."), None),
            Self::Rejected(faults) => {
                let sentence = "Nothing was queued. Correct what `errors` names, and send the whole body again.";
                let whole = faults.iter().find(|fault| fault.index.is_none());
                return (whole.map_or(sentence, |fault| &fault.detail).to_owned(), None);
            }
            Self::TooLarge(most) => {
                return (
                    format!("Nothing was queued. Send several requests of at most {most} bytes."),
                    None,
                );
            }
            Self::UnknownEncoding => {
                "Send the body uncompressed, or compressed with gzip and the header Content-Encoding: gzip."
            }
            Self::TooMuch(_) => {
                "The tenant has sent more events than it may. Nothing was queued. Try again after the time in Retry-After."
            }
            Self::Unsent(_) => {
                "Some events may be queued. Send the whole body again after the time in Retry-After; each event is recorded once."
            }
            Self::Returning => {
                "Nobody has read this timeline for long, so it is being completed. Try again after the time in Retry-After."
            }
            Self::Unread(_) | Self::Unwritten(_) => "Try again after the time in Retry-After.",
        };
        (sentence.to_owned(), None)
    }

    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        let (name, value) = match self {
            Self::Unauthenticated => (WWW_AUTHENTICATE, "Bearer"),
            Self::MethodNotAllowed(method) => (ALLOW, *method),
            Self::UnknownEncoding => (ACCEPT_ENCODING, "gzip"),
            Self::TooMuch(seconds) => return Some((RETRY_AFTER, HeaderValue::from(*seconds))),
            Self::Unread(DynamoError::Throttled) | Self::Returning => (RETRY_AFTER, "1"),
            Self::Unread(_) | Self::Unwritten(_) | Self::Unsent(_) => (RETRY_AFTER, "5"),
            _ => return None,
        };
        Some((name, HeaderValue::from_static(value)))
    }
}

impl From<DynamoError> for Problem {
    fn from(failure: DynamoError) -> Self {
        Self::Unread(failure)
    }
}

impl From<SendError> for Problem {
    fn from(failure: SendError) -> Self {
        Self::Unsent(failure)
    }
}

impl From<serde_json::Error> for Problem {
    fn from(defect: serde_json::Error) -> Self {
        Self::Unwritten(defect)
    }
}

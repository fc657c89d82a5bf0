//! Responses, and errors with S3's codes.

use axum::body::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use nagare_gateway::ports::intake::Refused;
use uuid::Uuid;

/// Why a request is not done: a code of S3's, and a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    status: StatusCode,
    code: &'static str,
    message: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, code: &'static str, message: &str) -> Self {
        Self { status, code, message: message.to_owned() }
    }

    pub(super) fn no_such_bucket() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NoSuchBucket", "The specified bucket does not exist")
    }

    pub(super) fn no_such_key() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NoSuchKey", "The specified key does not exist.")
    }

    pub(super) fn not_implemented(what: &str) -> Self {
        let message = format!(
            "{what} is not served by the local stack; its docs/LOCAL.md lists the calls that are"
        );
        Self::new(StatusCode::NOT_IMPLEMENTED, "NotImplemented", &message)
    }

    pub(super) fn invalid(message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "InvalidArgument", message)
    }

    pub(super) fn denied(message: &str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "AccessDenied", message)
    }

    pub(super) fn precondition() -> Self {
        let message = "At least one of the pre-conditions you specified did not hold";
        Self::new(StatusCode::PRECONDITION_FAILED, "PreconditionFailed", message)
    }

    pub(super) fn internal() -> Self {
        let message = "We encountered an internal error. Please try again.";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "InternalError", message)
    }

    /// Of a body that could not be read.
    pub(super) fn of_body(refused: Refused) -> Self {
        let (status, code) = match refused {
            Refused::Cut => (StatusCode::BAD_REQUEST, "IncompleteBody"),
            Refused::TooSlow => (StatusCode::BAD_REQUEST, "RequestTimeout"),
            Refused::TooLarge => (StatusCode::BAD_REQUEST, "EntityTooLarge"),
            Refused::NoRoom => (StatusCode::SERVICE_UNAVAILABLE, "SlowDown"),
        };
        Self::new(status, code, &refused.to_string())
    }

    pub(super) fn answer(&self) -> Response<Bytes> {
        let Self { status, code, message } = self;
        let body =
            format!("<Error><Code>{code}</Code><Message>{}</Message></Error>", text(message));
        xml(*status, &body)
    }
}

pub(super) fn xml(status: StatusCode, body: &str) -> Response<Bytes> {
    let body = format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{body}");
    let mut answer = plain(status, Bytes::from(body));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/xml"));
    answer
}

/// An answer with the headers that all have.
pub(super) fn plain(status: StatusCode, body: Bytes) -> Response<Bytes> {
    let mut answer = Response::new(body);
    *answer.status_mut() = status;
    if let Ok(id) = HeaderValue::try_from(Uuid::new_v4().simple().to_string()) {
        answer.headers_mut().insert("x-amz-request-id", id);
    }
    answer
}

/// A text as XML has it. What XML cannot say at all is left out.
pub(super) fn text(raw: &str) -> String {
    let mut escaped = String::with_capacity(raw.len());
    for char in raw.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push_str("&#10;"),
            '\r' => escaped.push_str("&#13;"),
            char if char < ' ' && char != '\t' => {}
            char => escaped.push(char),
        }
    }
    escaped
}

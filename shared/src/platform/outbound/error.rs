//! What can go wrong with sending, and whether a retry helps.

use serde_json::Value;

use crate::platform::runtime::deadline::DeadlineExceeded;
use crate::platform::signed::{CallError, HttpAnswer, SignedError};

/// Some events were not sent, or may not have been. The message quotes nothing of what was sent.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BusError {
    /// The account is throttled.
    #[error("the event bus is throttled")]
    Throttled,
    /// No response, an incomplete one, or one that says that the service fails.
    #[error("the event bus did not answer: {0}")]
    Unavailable(String),
    #[error("the event bus does not exist")]
    Missing,
    /// The caller lacks a permission.
    #[error("access to the event bus denied: {0}")]
    Denied(String),
    /// EventBridge says that an event, or the request, is wrong.
    #[error("the event bus refused: {0}")]
    Refused(String),
    /// Time was up before the call: earlier work took long, or other handlers of this process had much to send.
    #[error(transparent)]
    DeadlineExceeded(#[from] DeadlineExceeded),
}

impl BusError {
    /// True if the same call may succeed a moment later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Throttled | Self::Unavailable(_))
    }

    /// A short fixed word for metrics and dead letters.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Throttled | Self::Unavailable(_) => "bus-unavailable",
            Self::Missing => "bus-missing",
            Self::Denied(_) => "access-denied",
            Self::Refused(_) => "bus-refused",
            Self::DeadlineExceeded(_) => "out-of-time",
        }
    }

    /// The error of an unsuccessful response.
    pub(super) fn answered(answer: &HttpAnswer) -> Self {
        let said: Value = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
        let named = answer.error_type.as_deref().or_else(|| said["__type"].as_str());
        // `namespace#Name`, and `Name:http://…` in the header.
        let name = named.unwrap_or_default().rsplit('#').next().unwrap_or_default();
        let name = name.split(':').next().unwrap_or_default();
        match (answer.status, name) {
            (429, _) => Self::Throttled,
            // An incomplete response: its meaning is unknown.
            (_, "") | (500.., _) => Self::Unavailable(format!("status {}, {name}", answer.status)),
            (_, name) => Self::of_code(name),
        }
    }

    /// The error of a code, of a request or of one event.
    pub(super) fn of_code(code: &str) -> Self {
        match code {
            "ThrottlingException" | "Throttling" | "TooManyRequestsException" => Self::Throttled,
            "InternalException"
            | "InternalFailure"
            | "InternalServerError"
            | "ServiceUnavailable"
            | "ServiceUnavailableException" => Self::Unavailable(code.to_owned()),
            "ResourceNotFoundException" => Self::Missing,
            _ if code.starts_with("AccessDenied")
                || code.starts_with("NotAuthorized")
                || code.starts_with("ExpiredToken")
                || code.starts_with("UnrecognizedClient")
                || code.starts_with("InvalidClientToken")
                || code.starts_with("MissingAuthentication")
                || code.starts_with("IncompleteSignature")
                || code.starts_with("InvalidSignature")
                || code.starts_with("SignatureDoesNotMatch") =>
            {
                Self::Denied(code.to_owned())
            }
            _ => Self::Refused(code.to_owned()),
        }
    }
}

impl From<SignedError> for BusError {
    fn from(error: SignedError) -> Self {
        match error {
            SignedError::Unavailable(why) => Self::Unavailable(why),
            SignedError::Denied(why) => Self::Denied(why),
            SignedError::NotBuilt(_) => Self::Refused(error.to_string()),
            SignedError::DeadlineExceeded(exceeded) => Self::DeadlineExceeded(exceeded),
        }
    }
}

impl CallError for BusError {
    fn is_retryable(&self) -> bool {
        self.is_retryable()
    }
}

//! What Lambda and CloudWatch answer to a [signed](shared::platform::signed) call that they do not take.

use serde_json::Value;
use shared::platform::runtime::deadline::DeadlineExceeded;
use shared::platform::signed::{CallError, HttpAnswer, SignedError};

/// The most characters of an error message that are quoted.
const QUOTED: usize = 300;

/// A call of a service failed. The message begins with a verb: who reports it names the service.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    #[error("throttles calls")]
    Throttled,
    /// No response, an incomplete one, or one that says that the service fails. The call may have been applied.
    #[error("did not answer: {0}")]
    Unavailable(String),
    /// The caller lacks a permission, or credentials.
    #[error("denied access: {0}")]
    Denied(String),
    /// The service says that the request is wrong.
    #[error("refused the request: {0}")]
    Rejected(String),
    #[error("had not answered at the deadline: {0}")]
    DeadlineExceeded(#[from] DeadlineExceeded),
}

impl From<SignedError> for ServiceError {
    fn from(error: SignedError) -> Self {
        match error {
            SignedError::Unavailable(why) => Self::Unavailable(why),
            SignedError::Denied(why) => Self::Denied(why),
            SignedError::NotBuilt(_) => Self::Rejected(error.to_string()),
            SignedError::DeadlineExceeded(exceeded) => Self::DeadlineExceeded(exceeded),
        }
    }
}

impl CallError for ServiceError {
    fn is_retryable(&self) -> bool {
        matches!(self, Self::Throttled | Self::Unavailable(_))
    }
}

/// The status and the name of an error response.
pub(crate) fn refusal(answer: &HttpAnswer) -> Option<(u16, &str)> {
    let name = answer.error_type.as_deref().unwrap_or_default();
    let name = name.split(':').next().unwrap_or_default();
    (!(200..300).contains(&answer.status)).then_some((answer.status, name))
}

/// The error that a response says.
pub(crate) fn failure(answer: &HttpAnswer) -> ServiceError {
    let (status, name) = refusal(answer).unwrap_or_default();
    let said = serde_json::from_slice(&answer.body).unwrap_or(Value::Null);
    let said = said["Message"].as_str().or_else(|| said["message"].as_str()).unwrap_or_default();
    let said: String = said.chars().take(QUOTED).collect();
    let why = format!("status {status}, {name}, {said}");
    match (status, name) {
        (429, _) | (_, "TooManyRequestsException" | "ThrottlingException" | "Throttling") => {
            ServiceError::Throttled
        }
        (500.., _) => ServiceError::Unavailable(why),
        (401 | 403, _) | (_, "AccessDeniedException" | "AccessDenied") => ServiceError::Denied(why),
        _ => ServiceError::Rejected(why),
    }
}

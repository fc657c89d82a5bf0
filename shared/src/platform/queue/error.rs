//! What can go wrong with sending, and whether a retry helps.

use aws_sdk_sqs::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::BatchResultErrorEntry;
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use crate::platform::runtime::deadline::DeadlineExceeded;

/// The prefix of some codes of SQS's older protocol.
const OLDER_PREFIX: &str = "AWS.SimpleQueueService.";

/// Some messages were not sent, or may not have been.
///
/// The message goes into logs, and quotes nothing of what was sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The queue, or its key, takes no more calls at the moment.
    #[error("the queue is throttled")]
    Throttled,
    /// No response, or one that says that the service fails. The call may have been applied.
    #[error("the queue did not answer: {0}")]
    Unavailable(String),
    #[error("the queue does not exist")]
    Missing,
    /// The caller lacks a permission for the queue or its key.
    #[error("access to the queue denied: {0}")]
    Denied(String),
    /// The queue says that the request, or a message of it, is wrong.
    #[error("the queue refused: {code}")]
    Refused {
        code: String,
        /// The message of SQS, which may quote the request.
        message: String,
    },
    #[error(transparent)]
    DeadlineExceeded(#[from] DeadlineExceeded),
}

impl SendError {
    /// True if the same call may succeed a moment later. Other failures need a repair or another invocation, so an immediate retry
    /// would only be a hot loop.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Throttled | Self::Unavailable(_))
    }

    /// The error with the message of SQS, which may quote what was sent: not for logs.
    pub fn unredacted(&self) -> String {
        match self {
            Self::Refused { message, .. } if !message.is_empty() => format!("{self}: {message}"),
            _ => self.to_string(),
        }
    }

    /// A short fixed word for metrics and dead letters.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Throttled | Self::Unavailable(_) => "queue-unavailable",
            Self::Missing => "queue-missing",
            Self::Denied(_) => "access-denied",
            Self::Refused { .. } => "queue-refused",
            Self::DeadlineExceeded(_) => "out-of-time",
        }
    }

    /// The error of a call with some entries that were not accepted: preferably one that no retry helps.
    pub(super) fn of_entries(failed: &[BatchResultErrorEntry]) -> Self {
        let errors = failed.iter().map(|entry| {
            let message = entry.message.as_deref().unwrap_or_default();
            Self::of_code(&entry.code, message, entry.sender_fault)
        });
        let worst = errors.min_by_key(Self::is_retryable);
        worst.unwrap_or_else(Self::nothing_said)
    }

    /// The response says neither that a message was accepted nor that it was not.
    pub(super) fn nothing_said() -> Self {
        Self::Unavailable("it did not say what it accepted".to_owned())
    }

    /// The error of a code. An unknown code is classified by whose fault it is.
    fn of_code(code: &str, message: &str, senders_fault: bool) -> Self {
        let code = code.strip_prefix(OLDER_PREFIX).unwrap_or(code);
        match code {
            "RequestThrottled"
            | "Throttling"
            | "ThrottlingException"
            | "ThrottledException"
            | "TooManyRequestsException"
            | "RequestLimitExceeded"
            | "KmsThrottled"
            | "KMS.ThrottlingException" => Self::Throttled,
            "QueueDoesNotExist" | "NonExistentQueue" => Self::Missing,
            "AccessDenied"
            | "AccessDeniedException"
            | "AuthFailure"
            | "InvalidClientTokenId"
            | "UnrecognizedClientException"
            | "MissingAuthenticationToken"
            | "MissingAuthenticationTokenException"
            | "InvalidSecurity"
            | "InvalidSignatureException"
            | "IncompleteSignature"
            | "IncompleteSignatureException"
            | "SignatureDoesNotMatch"
            | "ExpiredToken"
            | "ExpiredTokenException" => Self::Denied(message.to_owned()),
            _ if code.starts_with("Kms") || code.starts_with("KMS.") => {
                Self::Denied(message.to_owned())
            }
            _ if senders_fault => {
                Self::Refused { code: code.to_owned(), message: message.to_owned() }
            }
            _ => Self::Unavailable(code.to_owned()),
        }
    }

    fn answered(error: &impl ProvideErrorMetadata, status: u16) -> Self {
        match error.code() {
            _ if status == 429 => Self::Throttled,
            Some(code) => Self::of_code(code, error.message().unwrap_or_default(), status < 500),
            // An incomplete response: its meaning is unknown.
            None => Self::Unavailable(format!("status {status} without a reason")),
        }
    }
}

impl<E: ProvideErrorMetadata> From<SdkError<E, HttpResponse>> for SendError {
    fn from(error: SdkError<E, HttpResponse>) -> Self {
        match &error {
            SdkError::ServiceError(service) => {
                Self::answered(service.err(), service.raw().status().as_u16())
            }
            SdkError::ConstructionFailure(_) => {
                Self::not_built("a parameter is missing or invalid")
            }
            SdkError::TimeoutError(_) => Self::Unavailable("timed out".to_owned()),
            SdkError::DispatchFailure(_) => Self::Unavailable("not reached".to_owned()),
            _ => Self::Unavailable("the answer could not be read".to_owned()),
        }
    }
}

impl From<BuildError> for SendError {
    fn from(error: BuildError) -> Self {
        Self::not_built(&error.to_string())
    }
}

impl SendError {
    /// The request cannot be built.
    pub fn not_built(why: &str) -> Self {
        Self::Refused { code: "request not built".to_owned(), message: why.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(code: &str, sender_fault: bool) -> BatchResultErrorEntry {
        let entry = BatchResultErrorEntry::builder().id("0").code(code);
        entry.sender_fault(sender_fault).build().unwrap()
    }

    #[test]
    fn what_a_retry_helps() {
        for (code, sender_fault, retryable, reason) in [
            ("InternalError", false, true, "queue-unavailable"),
            ("ServiceUnavailable", false, true, "queue-unavailable"),
            // SQS calls these the sender's fault.
            ("RequestThrottled", true, true, "queue-unavailable"),
            ("KmsThrottled", true, true, "queue-unavailable"),
            ("KmsAccessDenied", true, false, "access-denied"),
            ("AccessDenied", true, false, "access-denied"),
            ("AWS.SimpleQueueService.NonExistentQueue", true, false, "queue-missing"),
            ("QueueDoesNotExist", true, false, "queue-missing"),
            ("InvalidMessageContents", true, false, "queue-refused"),
            ("BatchRequestTooLong", true, false, "queue-refused"),
        ] {
            let error = SendError::of_entries(&[failed(code, sender_fault)]);
            assert_eq!((error.is_retryable(), error.reason()), (retryable, reason), "{code}");
        }
    }

    #[test]
    fn one_entry_that_no_retry_helps_decides() {
        let (busy, wrong) =
            (failed("InternalError", false), failed("InvalidMessageContents", true));
        let error = SendError::of_entries(&[busy.clone(), wrong, busy]);
        assert!(!error.is_retryable(), "{error}");
    }
}

//! What can go wrong with a call of S3, and whether a retry helps.

use crate::platform::runtime::deadline::DeadlineExceeded;
use crate::platform::signed::{CallError, SignedError};

/// A call of S3 failed. Its sentence quotes no object.
#[derive(Debug, thiserror::Error)]
pub enum ObjectError {
    /// More was asked for than the bucket takes.
    #[error("the bucket is throttled")]
    Throttled,
    /// No answer, half of one, or one that says the service is unwell. The call may or may not have happened.
    #[error("the bucket did not answer: {0}")]
    Unavailable(String),
    #[error("the bucket does not exist")]
    BucketMissing,
    /// The caller may not do this, or nobody says who they are.
    #[error("access denied: {0}")]
    Denied(String),
    #[error("the bucket refused the request: {0}")]
    Rejected(String),
    #[error(transparent)]
    DeadlineExceeded(#[from] DeadlineExceeded),
}

impl ObjectError {
    /// True if the same call may succeed a moment later.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Throttled | Self::Unavailable(_))
    }

    /// A short fixed word for metrics.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Throttled => "throttled",
            Self::Unavailable(_) => "bucket-unavailable",
            Self::BucketMissing => "bucket-missing",
            Self::Denied(_) => "access-denied",
            Self::Rejected(_) => "bucket-rejected",
            Self::DeadlineExceeded(_) => "out-of-time",
        }
    }

    /// Reads an answer that is no success. Fine if it says that there is no such object.
    pub(super) fn answered(status: u16, body: &[u8]) -> Result<(), Self> {
        let text = String::from_utf8_lossy(body);
        let code = text.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>"));
        let code = code.map_or("", |(code, _)| code);
        match (status, code) {
            (404, "NoSuchBucket") => Err(Self::BucketMissing),
            // An answer to HEAD has no body.
            (404, "NoSuchKey" | "") => Ok(()),
            (503 | 429, _) | (_, "SlowDown" | "Throttling" | "ThrottlingException") => {
                Err(Self::Throttled)
            }
            (_, "RequestTimeout" | "OperationAborted" | "BadDigest" | "IncompleteBody")
            | (500.., _) => Err(Self::Unavailable(format!("status {status}, {code}"))),
            (401 | 403, _) => Err(Self::Denied(format!("status {status}, {code}"))),
            _ => Err(Self::Rejected(format!("status {status}, {code}"))),
        }
    }

    pub(super) fn unreadable() -> Self {
        SignedError::unreadable().into()
    }
}

impl From<SignedError> for ObjectError {
    fn from(error: SignedError) -> Self {
        match error {
            SignedError::Unavailable(why) => Self::Unavailable(why),
            SignedError::Denied(why) => Self::Denied(why),
            SignedError::NotBuilt(_) => Self::Rejected(error.to_string()),
            SignedError::DeadlineExceeded(exceeded) => Self::DeadlineExceeded(exceeded),
        }
    }
}

impl CallError for ObjectError {
    fn is_retryable(&self) -> bool {
        self.is_retryable()
    }
}

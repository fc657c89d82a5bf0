//! What can go wrong with a call of DynamoDB, and whether a retry helps.

use std::error::Error;
use std::iter;

use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use crate::runtime::deadline::DeadlineExceeded;

/// A call of DynamoDB failed.
///
/// Its sentence goes into logs and quotes nothing of what is stored.
#[derive(Debug, thiserror::Error)]
pub enum DynamoError {
    /// More was asked for than the table's capacity.
    #[error("the table is throttled")]
    Throttled,
    /// Another transaction has hold of the same keys.
    #[error("another transaction is at the same keys")]
    Contended,
    /// No answer, or one that says the service is unwell. The call may or may not have happened.
    #[error("the store did not answer: {0}")]
    Unavailable(String),
    /// The table does not exist.
    #[error("the table does not exist: {0}")]
    TableMissing(String),
    /// The caller may not do this.
    #[error("access denied: {0}")]
    Denied(String),
    /// The store says the request is wrong.
    #[error("the store refused the request: {code}")]
    Rejected {
        /// DynamoDB's error code.
        code: String,
        /// Its words, which may quote the request.
        message: String,
    },
    /// A stored attribute is not what it should be.
    #[error("{place}: expected {expected}")]
    Corrupt {
        /// The table, key and attribute.
        place: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// The invocation's time is up.
    #[error(transparent)]
    DeadlineExceeded(#[from] DeadlineExceeded),
}

impl DynamoError {
    /// True if the same call may succeed a moment later. The rest needs somebody to repair something
    /// (or another invocation), so trying at once would only make a hot loop.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Throttled | Self::Contended | Self::Unavailable(_))
    }

    /// True if the store, or what it holds, is against this one call: it is wrong, too large, or meets an item that cannot be
    /// read. Whatever nobody thought of is among them. Others go on; this one ends the same each time.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Rejected { .. } | Self::Corrupt { .. })
    }

    /// The error with the words of DynamoDB, which may quote what was sent: not for logs.
    #[must_use]
    pub fn unredacted(&self) -> String {
        match self {
            Self::Rejected { message, .. } => format!("{self}: {message}"),
            _ => self.to_string(),
        }
    }

    /// A short fixed word for metrics and dead letters.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Throttled => "throttled",
            Self::Contended => "contended",
            Self::Unavailable(_) => "store-unavailable",
            Self::TableMissing(_) => "table-missing",
            Self::Denied(_) => "access-denied",
            Self::Rejected { .. } => "store-rejected",
            Self::Corrupt { .. } => "corrupt-record",
            Self::DeadlineExceeded(_) => "out-of-time",
        }
    }

    /// The error that an answer of DynamoDB's stands for.
    pub(super) fn answered(error: &impl ProvideErrorMetadata, status: u16) -> Self {
        match error.code() {
            Some(code) => Self::of_code(code, error.message().unwrap_or_default(), status),
            // Half of an answer: what it meant to say nobody knows.
            None => Self::Unavailable(format!("status {status} without a reason")),
        }
    }

    fn of_code(code: &str, message: &str, status: u16) -> Self {
        match code {
            "ProvisionedThroughputExceededException"
            | "ThrottlingException"
            | "Throttling"
            | "ThrottlingError"
            | "ThrottledException"
            | "RequestThrottled"
            | "RequestThrottledException"
            | "TooManyRequestsException"
            | "SlowDown"
            | "BandwidthLimitExceeded"
            | "RequestLimitExceeded" => Self::Throttled,
            "TransactionConflictException"
            | "TransactionConflict"
            | "TransactionInProgressException"
            | "ReplicatedWriteConflictException" => Self::Contended,
            "ResourceNotFoundException" | "ResourceInUseException" => {
                Self::TableMissing(message.to_owned())
            }
            "AccessDeniedException"
            | "UnrecognizedClientException"
            | "MissingAuthenticationTokenException"
            | "InvalidSignatureException"
            | "IncompleteSignatureException"
            | "SignatureDoesNotMatch"
            | "InvalidClientTokenId"
            | "AccessDenied"
            | "NotAuthorized"
            | "OptInRequired"
            | "RequestExpired"
            | "ExpiredToken"
            | "ExpiredTokenException" => Self::Denied(message.to_owned()),
            // The table's key, and not this call.
            _ if code.starts_with("KMS") => Self::Denied(message.to_owned()),
            "RequestTimeout" | "RequestTimeoutException" | "PriorRequestNotComplete" => {
                Self::Unavailable(format!("status {status}, {code}"))
            }
            _ if status >= 500 => Self::Unavailable(format!("status {status}, {code}")),
            _ => Self::Rejected { code: code.to_owned(), message: message.to_owned() },
        }
    }

    /// The request cannot even be made.
    pub(super) fn not_built(why: &str) -> Self {
        Self::Rejected { code: "request not built".to_owned(), message: why.to_owned() }
    }

    /// The error that a cancelled transaction stands for, judged by the reasons of its parts; a
    /// failed condition is not an error and has to be looked for before.
    pub(super) fn of_cancellation<'a>(codes: impl Iterator<Item = &'a str>) -> Self {
        let worst = codes.filter(|code| !code.is_empty() && *code != "None").max();
        match worst {
            Some("ProvisionedThroughputExceeded") => Self::Throttled,
            Some(code) => Self::of_code(code, "the transaction was cancelled", 400),
            None => Self::Unavailable("a transaction was cancelled without a reason".to_owned()),
        }
    }
}

impl From<BuildError> for DynamoError {
    fn from(error: BuildError) -> Self {
        Self::not_built(&error.to_string())
    }
}

impl<E> From<SdkError<E, HttpResponse>> for DynamoError
where
    E: ProvideErrorMetadata,
{
    fn from(error: SdkError<E, HttpResponse>) -> Self {
        match &error {
            SdkError::ServiceError(service) => {
                Self::answered(service.err(), service.raw().status().as_u16())
            }
            SdkError::ConstructionFailure(_) => {
                Self::not_built("a parameter is missing or invalid")
            }
            SdkError::TimeoutError(_) => Self::Unavailable("timed out".to_owned()),
            SdkError::DispatchFailure(failure) => {
                let error = failure.as_connector_error();
                Self::Unavailable(error.map_or("not reached".to_owned(), |error| causes(error)))
            }
            _ => Self::Unavailable("the answer could not be read".to_owned()),
        }
    }
}

/// An error with all that led to it: a connector's own words are only of what kind it is.
fn causes(error: &dyn Error) -> String {
    let chain = iter::successors(Some(error), |&error| error.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

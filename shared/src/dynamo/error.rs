//! What can go wrong with a call of DynamoDB, and whether a retry helps.

use std::error::Error;
use std::iter;

use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use crate::runtime::deadline::DeadlineExceeded;

/// The status of an answer to a request that is too large to be read.
const TOO_LARGE: u16 = 413;

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
    #[error("{location}: expected {expected}")]
    Corrupt {
        /// The table, key and attribute.
        location: String,
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

    /// True if the same call is refused whenever it is made: what is asked for is wrong, or what is stored. Asking for
    /// something else is all that helps. So is everything of which nobody knows that it passes.
    ///
    /// Together with [`is_retryable`](Self::is_retryable) this is the one place that says what becomes of a failure.
    /// What is neither waits for somebody to mend the table or the role, or for another invocation.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        !self.is_retryable()
            && !matches!(self, Self::TableMissing(_) | Self::Denied(_) | Self::DeadlineExceeded(_))
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
            None if status == TOO_LARGE => Self::of_code("request too large", "", status),
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
        let of_code = |code| match code {
            "ProvisionedThroughputExceeded" => Self::Throttled,
            code => Self::of_code(code, "the transaction was cancelled", 400),
        };
        let given = codes.filter(|code| !code.is_empty() && *code != "None").map(of_code);
        // One part that is refused is refused again, whatever becomes of the others.
        given.max_by_key(Self::is_refusal).unwrap_or_else(|| {
            Self::Unavailable("a transaction was cancelled without a reason".to_owned())
        })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_knows_to_pass_is_a_refusal() {
        let of = |code: &str| DynamoError::of_code(code, "", 400);
        let refused =
            ["ValidationException", "ItemCollectionSizeLimitExceededException", "SomethingNew"];
        assert!(refused.iter().all(|code| of(code).is_refusal() && !of(code).is_retryable()));
        let passing = ["ThrottlingException", "TransactionConflictException"];
        assert!(passing.iter().all(|code| of(code).is_retryable() && !of(code).is_refusal()));
        let waiting = ["AccessDeniedException", "ResourceNotFoundException"];
        assert!(waiting.iter().all(|code| !of(code).is_retryable() && !of(code).is_refusal()));
        assert!(DynamoError::of_code("SomethingNew", "", 503).is_retryable());
    }

    #[test]
    fn a_transaction_is_refused_if_one_part_is() {
        let of = |codes: &[&'static str]| DynamoError::of_cancellation(codes.iter().copied());
        for refused in ["ValidationError", "ItemCollectionSizeLimitExceeded"] {
            assert!(of(&["None", refused, "TransactionConflict", "ThrottlingError"]).is_refusal());
        }
        assert!(matches!(of(&["None", "TransactionConflict"]), DynamoError::Contended));
        assert!(matches!(of(&["ProvisionedThroughputExceeded"]), DynamoError::Throttled));
        assert!(of(&["None", ""]).is_retryable());
    }
}

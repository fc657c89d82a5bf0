//! What can go wrong with a call of DynamoDB, and whether a retry helps.

use std::error::Error;
use std::iter;

use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;

use crate::platform::runtime::deadline::DeadlineExceeded;

/// The status of an answer to a request that is too large to be read.
const TOO_LARGE: u16 = 413;

/// A call of DynamoDB failed.
///
/// The message goes into logs, and quotes nothing of what is stored.
#[derive(Debug, thiserror::Error)]
pub enum DynamoError {
    /// The request exceeds the capacity of the table.
    #[error("the table is throttled")]
    Throttled,
    /// Another transaction uses the same keys.
    #[error("another transaction is at the same keys")]
    Contended,
    /// No response, or one that says that the service fails. The call may have been applied.
    #[error("the store did not answer: {0}")]
    Unavailable(String),
    #[error("the table does not exist: {0}")]
    TableMissing(String),
    #[error("access denied: {0}")]
    Denied(String),
    /// The store says that the request is wrong.
    #[error("the store refused the request: {code}")]
    Rejected {
        code: String,
        /// The message of the store, which may quote the request.
        message: String,
    },
    /// A stored attribute is malformed.
    #[error("{location}: expected {expected}")]
    Corrupt {
        location: String,
        /// What was expected there.
        expected: &'static str,
    },
    #[error(transparent)]
    DeadlineExceeded(#[from] DeadlineExceeded),
}

impl DynamoError {
    /// True if the same call may succeed a moment later. Other failures need a repair or another invocation, so an immediate
    /// retry would only be a hot loop.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Throttled | Self::Contended | Self::Unavailable(_))
    }

    /// True if the same call is always refused, because the request or the stored item is wrong. Only another request can
    /// succeed. Failures that are not known to pass count as refusals.
    ///
    /// Only this method and [`is_retryable`](Self::is_retryable) classify failures. What is neither waits for somebody to repair
    /// the table or the role, or for another invocation.
    pub fn is_refusal(&self) -> bool {
        !self.is_retryable()
            && !matches!(self, Self::TableMissing(_) | Self::Denied(_) | Self::DeadlineExceeded(_))
    }

    /// True if the only problem is time.
    pub fn is_slowness(&self) -> bool {
        matches!(self, Self::Throttled | Self::Contended | Self::DeadlineExceeded(_))
    }

    /// The error with the message of DynamoDB, which may quote the request: not for logs.
    pub fn unredacted(&self) -> String {
        match self {
            Self::Rejected { message, .. } => format!("{self}: {message}"),
            _ => self.to_string(),
        }
    }

    /// A short fixed word for metrics and dead letters.
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

    /// The error that a response of DynamoDB stands for.
    pub(super) fn answered(error: &impl ProvideErrorMetadata, status: u16) -> Self {
        match error.code() {
            Some(code) => Self::of_code(code, error.message().unwrap_or_default(), status),
            None if status == TOO_LARGE => Self::of_code("request too large", "", status),
            // An incomplete response: its meaning is unknown.
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
            // The key of the table is at fault, not this call.
            _ if code.starts_with("KMS") => Self::Denied(message.to_owned()),
            "RequestTimeout" | "RequestTimeoutException" | "PriorRequestNotComplete" => {
                Self::Unavailable(format!("status {status}, {code}"))
            }
            _ if status >= 500 => Self::Unavailable(format!("status {status}, {code}")),
            _ => Self::Rejected { code: code.to_owned(), message: message.to_owned() },
        }
    }

    /// The request cannot be built.
    pub(super) fn not_built(why: &str) -> Self {
        Self::Rejected { code: "request not built".to_owned(), message: why.to_owned() }
    }

    /// The error of a cancelled transaction, by the reasons of its parts. A failed condition is not an error; the caller
    /// checks for it before.
    pub(super) fn of_cancellation<'a>(codes: impl Iterator<Item = &'a str>) -> Self {
        let of_code = |code| match code {
            "ProvisionedThroughputExceeded" => Self::Throttled,
            code => Self::of_code(code, "the transaction was cancelled", 400),
        };
        let given = codes.filter(|code| !code.is_empty() && *code != "None").map(of_code);
        // A refused part is refused again, whatever becomes of the others.
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

/// An error with all its causes, because a connector's own message only says what kind it is.
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

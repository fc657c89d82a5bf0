//! Errors of the queue, the caller's and its own.

use std::path::{Path, PathBuf};

/// Why a queue refused or failed.
///
/// Every variant but the last four is a caller's mistake: sending the same again fails again.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages are the documentation")]
pub enum QueueError {
    #[error("The specified queue does not exist.")]
    QueueDoesNotExist,
    #[error("The request must contain the parameter {0}.")]
    MissingParameter(&'static str),
    #[error("{0}")]
    InvalidParameterValue(String),
    #[error("Unknown Attribute {0}.")]
    InvalidAttributeName(String),
    #[error(
        "Invalid characters found. Valid unicode characters are \
         #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF."
    )]
    InvalidMessageContents,
    #[error("There should be at least one entry in the request.")]
    EmptyBatchRequest,
    #[error("Maximum number of entries per request are 10. You have sent {0}.")]
    TooManyEntriesInBatchRequest(usize),
    #[error("Id {0} repeated.")]
    BatchEntryIdsNotDistinct(String),
    #[error(
        "A batch entry id can only contain alphanumeric characters, hyphens and underscores. \
         It can be at most 80 letters long."
    )]
    InvalidBatchEntryId,
    #[error("Batch requests cannot be longer than 1048576 bytes. You have sent {0} bytes.")]
    BatchRequestTooLong(usize),
    /// The queues cannot be started as they are described.
    #[error("invalid queue configuration: {0}")]
    Configuration(String),
    /// The storage failed; the call had no effect, and trying again may help.
    #[error("the queue's storage failed")]
    Storage {
        #[source]
        cause: rusqlite::Error,
        /// `None` in memory.
        file: Option<PathBuf>,
    },
    /// There is no room until messages are deleted; trying again later may help.
    #[error("the queues in memory are full")]
    Full,
    /// A stored message cannot be read back.
    #[error("a stored message cannot be read back: {0}")]
    Corrupt(String),
}

impl QueueError {
    /// The name AWS gives this error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::QueueDoesNotExist => "QueueDoesNotExist",
            Self::MissingParameter(_) => "MissingParameter",
            Self::InvalidParameterValue(_) => "InvalidParameterValue",
            Self::InvalidAttributeName(_) => "InvalidAttributeName",
            Self::InvalidMessageContents => "InvalidMessageContents",
            Self::EmptyBatchRequest => "EmptyBatchRequest",
            Self::TooManyEntriesInBatchRequest(_) => "TooManyEntriesInBatchRequest",
            Self::BatchEntryIdsNotDistinct(_) => "BatchEntryIdsNotDistinct",
            Self::InvalidBatchEntryId => "InvalidBatchEntryId",
            Self::BatchRequestTooLong(_) => "BatchRequestTooLong",
            Self::Configuration(_) | Self::Storage { .. } | Self::Full | Self::Corrupt(_) => {
                "InternalFailure"
            }
        }
    }

    /// The message with its cause and the file, for those who run the queue.
    pub fn unredacted(&self) -> String {
        let Self::Storage { cause, file } = self else { return self.to_string() };
        let file = file.as_deref().map_or_else(String::new, |file| format!("{}: ", file.display()));
        // SQLite's message alone does not distinguish a failed write from a failed sync.
        let code = cause.sqlite_error().map(|error| format!(" (SQLite {})", error.extended_code));
        format!("{self}: {file}{cause}{}", code.as_deref().unwrap_or(""))
    }

    /// Adds the file, if the storage failed.
    pub(super) fn in_file(self, path: Option<&Path>) -> Self {
        match self {
            Self::Storage { cause, .. } => Self::Storage { cause, file: path.map(Path::to_owned) },
            other => other,
        }
    }

    /// Whether the caller has to change something before trying again.
    pub fn is_callers_mistake(&self) -> bool {
        self.code() != "InternalFailure"
    }
}

impl From<rusqlite::Error> for QueueError {
    fn from(cause: rusqlite::Error) -> Self {
        Self::Storage { cause, file: None }
    }
}

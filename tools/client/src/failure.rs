//! How a command fails.

use nagare_gateway::ports::PortError;
use shared::platform::dynamo::DynamoError;
use shared::platform::runtime::env::EnvError;
use shared::platform::values::IdError;

/// What to tell the user. The variant decides the exit code.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command worked, and its answer is no.
    #[error("{0}")]
    No(String),
    /// The command was sent and applied, and has no effect.
    #[error("{0}")]
    WithoutEffect(String),
    /// Wrong usage or bad input; the message says how to correct it.
    #[error("{0}")]
    Usage(String),
    /// The stack could not be reached, or did not answer in time.
    #[error("{0}")]
    Unreachable(String),
    /// Standard output could not be written.
    #[error("standard output cannot be written: {error}{place}")]
    Output {
        /// The cause.
        error: std::io::Error,
        /// `: ` and its path, if it has one.
        place: String,
    },
    /// A temporary file could not be written.
    #[error("{0}")]
    Unwritable(String),
}

impl Failure {
    /// True if the reader of the output closed it, as `head` does after enough lines. That is no error.
    pub fn is_closed_output(&self) -> bool {
        matches!(self, Self::Output { error, .. } if error.kind() == std::io::ErrorKind::BrokenPipe)
    }

    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            _ if self.is_closed_output() => 0,
            Self::No(_) | Self::WithoutEffect(_) | Self::Output { .. } | Self::Unwritable(_) => 1,
            Self::Usage(_) => 2,
            Self::Unreachable(_) => 3,
        }
    }
}

impl From<EnvError> for Failure {
    fn from(error: EnvError) -> Self {
        Self::Usage(format!(
            "{error}; a stack that the environment names needs all of its variables: run all of its `export` \
             lines, or none, for the local stack that runs"
        ))
    }
}

impl From<DynamoError> for Failure {
    fn from(error: DynamoError) -> Self {
        match error {
            DynamoError::Corrupt { .. } => Self::No(error.unredacted()),
            _ => Self::Unreachable(format!(
                "the tables cannot be reached: {}; `nagare status` says which part of the stack does not answer",
                error.unredacted()
            )),
        }
    }
}

impl From<IdError> for Failure {
    fn from(error: IdError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<PortError> for Failure {
    fn from(error: PortError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<crate::running::DirectoryError> for Failure {
    fn from(error: crate::running::DirectoryError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::No(format!("it cannot be written as JSON: {error}"))
    }
}

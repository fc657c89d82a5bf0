//! Why a body is not a command.

use crate::platform::values::{
    EventNameError, IdError, KindError, OriginError, PayloadError, Timestamp, TimestampError,
};

/// Why a body is not a command. Sending it again cannot help.
///
/// Its sentence goes into logs and quotes nothing that was sent but instants and single characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// Not JSON, or not a JSON object.
    #[error("the body is not a JSON object ({0})")]
    NotAnObject(String),
    /// A `type` this version does not know.
    #[error("member `type`: expected {expected}")]
    UnknownType {
        /// What it is instead, or the beginning of it.
        found: String,
        /// The types that there are.
        expected: String,
    },
    /// A member that has to be there is not.
    #[error("member `{0}` is missing")]
    Missing(&'static str),
    /// A member has another type or another form than it should.
    #[error("member `{member}`: {problem}")]
    Malformed { member: &'static str, problem: MemberError },
}

/// What is wrong with one member.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemberError {
    #[error("expected a string")]
    NotAString,
    #[error("given twice")]
    Repeated,
    #[error(transparent)]
    Id(#[from] IdError),
    #[error(transparent)]
    Kind(#[from] KindError),
    #[error(transparent)]
    Payload(#[from] PayloadError),
    #[error(transparent)]
    Timestamp(#[from] TimestampError),
    #[error(transparent)]
    Origin(#[from] OriginError),
    #[error("expected {0}")]
    Expected(&'static str),
    #[error(transparent)]
    EventName(#[from] EventNameError),
    #[error("expected an instant from {earliest} on, got {found}")]
    TooEarly { found: Timestamp, earliest: Timestamp },
    #[error("expected an instant at most five minutes after now ({now}), got {found}")]
    TooLate { found: Timestamp, now: Timestamp },
    #[error("expected an instant at most a year after now ({now}), got {found}")]
    TooFarAhead { found: Timestamp, now: Timestamp },
}

impl CommandError {
    /// The error of a type that is none of those that are expected.
    pub fn unknown_type(found: &str, expected: String) -> Self {
        // Enough of it to recognise it by.
        let found = match found.char_indices().nth(80) {
            Some((end, _)) => format!("{}…", &found[..end]),
            None => found.to_owned(),
        };
        Self::UnknownType { found, expected }
    }

    /// The error with what was found where that may be anything: for who sent it, and not for logs.
    pub fn unredacted(&self) -> String {
        match self {
            Self::UnknownType { found, .. } => format!("{self}, got {found:?}"),
            _ => self.to_string(),
        }
    }

    /// The member that is wrong, if one is.
    pub fn member(&self) -> Option<&'static str> {
        match self {
            Self::NotAnObject(_) => None,
            Self::UnknownType { .. } => Some(super::TYPE),
            Self::Missing(member) | Self::Malformed { member, .. } => Some(member),
        }
    }

    /// A short fixed word for metrics and dead letters.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotAnObject(_) => "not-json",
            Self::UnknownType { .. } => "unknown-type",
            Self::Missing(_) | Self::Malformed { .. } => "malformed",
        }
    }
}

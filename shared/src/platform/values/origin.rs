//! The id of the message with which a command came first.

use std::fmt;

/// The id of the message with which a command came first. What is handed on keeps it, so that progress
/// which was noted under it is found again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin(String);

/// The text cannot be the id of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected the id of a message: 1 to 128 letters, digits and hyphens")]
pub struct OriginError;

impl Origin {
    /// Of a command that came without a message, or with one whose id is none.
    pub fn unknown() -> Self {
        Self("unknown".to_owned())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for Origin {
    type Err = OriginError;

    /// Reads what [can be the id of a message](is_message_id).
    fn from_str(text: &str) -> Result<Self, OriginError> {
        if is_message_id(text) { Ok(Self(text.to_owned())) } else { Err(OriginError) }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// True for a text that can be the id of a message: 1 to 128 characters of `A-Z a-z 0-9 -`.
pub fn is_message_id(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

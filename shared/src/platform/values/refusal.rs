//! The reasons of refusals: a producer has sent what cannot be applied. All other reasons are faults of Nagare or AWS.

use std::fmt;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefusalReason(&'static str);

/// The text is not the reason of a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected the reason of a refusal")]
pub struct RefusalReasonError;

impl RefusalReason {
    /// An event of a customer with so many names that there is no room for another. The event is recorded, and not summed up.
    pub const TOO_MANY_NAMES: Self = Self("too-many-names");

    /// All of them.
    pub const ALL: [Self; 10] = [
        Self("not-json"),
        Self("unknown-type"),
        Self("malformed"),
        Self("conflict"),
        Self("too-many-votes"),
        Self("too-many-definitions"),
        Self::TOO_MANY_NAMES,
        Self("event-too-late"),
        Self("event-conflict"),
        Self("history-off"),
    ];

    /// The refusal with this reason; `None` if the reason is a fault.
    pub fn parse(reason: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.0 == reason)
    }

    /// The word.
    pub fn as_str(self) -> &'static str {
        self.0
    }

    /// True if no later time, state or version changes the refusal. Another version may know a type or a form, an instant ahead
    /// comes nearer, definitions are deleted, and the event history is turned on.
    pub fn is_final(self) -> bool {
        matches!(self.0, "conflict" | "too-many-votes" | "event-too-late" | "event-conflict")
    }
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl FromStr for RefusalReason {
    type Err = RefusalReasonError;

    fn from_str(text: &str) -> Result<Self, RefusalReasonError> {
        Self::parse(text).ok_or(RefusalReasonError)
    }
}

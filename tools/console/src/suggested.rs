//! Names to begin with, as they were found.

use std::time::Instant;

use shared::history::events::Customer;

/// Some ids of each kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct Suggestions {
    /// Those that are followed, the most followed first, and then those that follow.
    pub(crate) people: Vec<String>,
    pub(crate) followers: Vec<String>,
    pub(crate) activities: Vec<String>,
    pub(crate) rooms: Vec<String>,
    /// The latest first.
    pub(crate) polls: Vec<String>,
    pub(crate) battles: Vec<String>,
    /// Customers of tenants of whom there are events.
    pub(crate) customers: Vec<Customer>,
    /// Those of these customers, and those who have said or defined something.
    pub(crate) tenants: Vec<String>,
}

/// Those of a moment ago.
pub(crate) type Remembered = Option<(Instant, Suggestions)>;

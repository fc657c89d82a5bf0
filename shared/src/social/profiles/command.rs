//! The command of profiles.

use crate::platform::message::command;
use crate::platform::values::{Payload, Timestamp, ViewerId};

/// Somebody changed their profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileUpdate {
    pub viewer_id: ViewerId,
    /// When it was changed. The latest wins, and on a tie the payload that is greater byte by byte, so that the order of arrival does not
    /// matter.
    pub at: Timestamp,
    pub payload: Payload,
}

command! {
    ProfileUpdate: ["profile.updated"] by viewer_id { viewer_id, at, payload }
}

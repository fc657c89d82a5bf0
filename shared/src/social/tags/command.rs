//! The commands of tags.

use crate::platform::message::command;
use crate::platform::register::Register;
use crate::platform::values::{ActivityId, ViewerId};

/// Somebody was tagged in an activity, or no longer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagChange {
    pub activity_id: ActivityId,
    pub tagged_id: ViewerId,
    /// Tagged or not, and since when. The latest wins, and on a tie the untag.
    pub state: Register,
}

command! {
    TagChange: ["tag.created", "tag.deleted"] by tagged_id, SHOWN { activity_id, tagged_id }
}

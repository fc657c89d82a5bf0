//! The commands of likes.

use crate::platform::message::command;
use crate::platform::register::Register;
use crate::platform::values::{ActivityId, ViewerId};

/// A viewer likes an activity, or no longer does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikeChange {
    pub viewer_id: ViewerId,
    pub activity_id: ActivityId,
    /// Liked or not, and since when. The latest wins, and on a tie the undo.
    pub state: Register,
}

command! {
    LikeChange: ["like.created", "like.deleted"] by viewer_id { viewer_id, activity_id }
}

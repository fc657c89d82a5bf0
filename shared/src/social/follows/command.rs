//! The commands on follows.

use crate::platform::message::command;
use crate::platform::register::Register;
use crate::platform::values::{ActorId, ViewerId};

/// A viewer began or ceased to follow an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowChange {
    pub follower_id: ViewerId,
    /// Whose activities come or go.
    pub followee_id: ActorId,
    /// Followed or unfollowed, and when.
    pub state: Register,
}

command! {
    FollowChange: ["follow.created", "follow.deleted"] by followee_id of follower_id, SHOWN { follower_id, followee_id }
}

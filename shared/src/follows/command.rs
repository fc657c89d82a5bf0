//! The commands on follows.

use crate::message::command;
use crate::register::Register;
use crate::values::{ActorId, ViewerId};

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
    FollowChange: ["follow.created", "follow.deleted"] by followee_id { follower_id, followee_id }
}

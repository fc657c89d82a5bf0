//! The commands on follows.

use super::FollowState;
use crate::message::{Body, CommandError, CommandPayload, Members, Subject};
use crate::values::{ActorId, ViewerId};

/// A viewer began or ceased to follow an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowChange {
    pub follower_id: ViewerId,
    /// Whose activities come or go.
    pub followee_id: ActorId,
    /// Followed or unfollowed, and when.
    pub state: FollowState,
}

impl CommandPayload for FollowChange {
    const TYPES: &'static [&'static str] = &["follow.created", "follow.deleted"];
    const MEMBERS: &'static [&'static str] = &["follower_id", "followee_id", "at"];

    fn type_name(&self) -> &'static str {
        Self::TYPES[usize::from(!self.state.following)]
    }

    fn read(type_name: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        let following = type_name == Self::TYPES[0];
        Ok(Self {
            follower_id: members.parsed("follower_id", ViewerId::new)?,
            followee_id: members.parsed("followee_id", ActorId::new)?,
            state: FollowState { following, changed_at: members.instant("at")? },
        })
    }

    fn write(&self, body: Body) -> Body {
        body.text("follower_id", &self.follower_id)
            .text("followee_id", &self.followee_id)
            .text("at", &self.state.changed_at)
    }

    fn subject(&self) -> Subject {
        let (follower, followee) = (&self.follower_id, &self.followee_id);
        let (follower_id, followee_id) = (Some(follower.to_string()), Some(followee.to_string()));
        Subject { follower_id, followee_id, ..Subject::default() }
    }

    fn group(&self) -> &str {
        self.followee_id.as_str()
    }
}

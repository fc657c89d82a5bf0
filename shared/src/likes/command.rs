//! The commands of likes.

use super::LikeState;
use crate::message::{Body, CommandError, CommandPayload, Members, Subject};
use crate::values::{ActivityId, ViewerId};

/// A viewer likes an activity, or no longer does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikeChange {
    pub viewer_id: ViewerId,
    pub activity_id: ActivityId,
    /// Liked or not, and since when. The latest wins, and on a tie the undo.
    pub state: LikeState,
}

impl CommandPayload for LikeChange {
    const TYPES: &'static [&'static str] = &["like.created", "like.deleted"];
    const MEMBERS: &'static [&'static str] = &["viewer_id", "activity_id", "at"];

    fn type_name(&self) -> &'static str {
        Self::TYPES[usize::from(!self.state.liked)]
    }

    fn read(type_name: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        let liked = type_name == Self::TYPES[0];
        Ok(Self {
            viewer_id: members.parsed("viewer_id", ViewerId::new)?,
            activity_id: members.parsed("activity_id", ActivityId::new)?,
            state: LikeState { liked, changed_at: members.instant("at")? },
        })
    }

    fn write(&self, body: Body) -> Body {
        body.text("viewer_id", &self.viewer_id)
            .text("activity_id", &self.activity_id)
            .text("at", &self.state.changed_at)
    }

    fn subject(&self) -> Subject {
        let (viewer, activity) = (&self.viewer_id, &self.activity_id);
        let (viewer_id, activity_id) = (Some(viewer.to_string()), Some(activity.to_string()));
        Subject { viewer_id, activity_id, ..Subject::default() }
    }

    fn group(&self) -> &str {
        self.viewer_id.as_str()
    }
}

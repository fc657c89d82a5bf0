//! The commands of tags.

use super::TagState;
use crate::message::{Body, CommandError, CommandPayload, Members, Subject};
use crate::values::{ActivityId, ViewerId};

/// Somebody was tagged in an activity, or no longer is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagChange {
    pub activity_id: ActivityId,
    pub tagged_id: ViewerId,
    /// Tagged or not, and since when. The latest wins, and on a tie the untag.
    pub state: TagState,
}

impl CommandPayload for TagChange {
    const TYPES: &'static [&'static str] = &["tag.created", "tag.deleted"];
    const MEMBERS: &'static [&'static str] = &["activity_id", "tagged_id", "at"];

    fn type_name(&self) -> &'static str {
        Self::TYPES[usize::from(!self.state.tagged)]
    }

    fn read(type_name: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        let tagged = type_name == Self::TYPES[0];
        Ok(Self {
            activity_id: members.parsed("activity_id", ActivityId::new)?,
            tagged_id: members.parsed("tagged_id", ViewerId::new)?,
            state: TagState { tagged, changed_at: members.instant("at")? },
        })
    }

    fn write(&self, body: Body) -> Body {
        body.text("activity_id", &self.activity_id)
            .text("tagged_id", &self.tagged_id)
            .text("at", &self.state.changed_at)
    }

    fn subject(&self) -> Subject {
        let (activity, tagged) = (&self.activity_id, &self.tagged_id);
        let (activity_id, tagged_id) = (Some(activity.to_string()), Some(tagged.to_string()));
        Subject { activity_id, tagged_id, ..Subject::default() }
    }

    fn group(&self) -> &str {
        self.tagged_id.as_str()
    }
}

//! One segment of a large fan-out, which the writer sends to itself.

use crate::activities::{ActivityKey, subject};
use crate::follows::{FollowerRange, FollowerRangeError};
use crate::message::{Body, CommandError, CommandPayload, MemberError, Members, Plain, Subject};
use crate::values::{ActivityId, ActorId, SortKey, Timestamp};

/// One segment of a large fan-out: make these followers' timelines agree with the activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FanOutSegment {
    pub activity_id: ActivityId,
    pub actor_id: ActorId,
    pub published_at: Timestamp,
    pub followers: FollowerRange,
}

impl FanOutSegment {
    /// The activity record that this command is about, and the activity's sort key in every timeline.
    #[must_use]
    pub fn target(&self) -> (ActivityKey, SortKey) {
        let (activity_id, published_at) = (self.activity_id.clone(), self.published_at);
        let sort_key = SortKey { published_at, activity_id: activity_id.clone() };
        (ActivityKey { activity_id, actor_id: self.actor_id.clone() }, sort_key)
    }
}

impl Plain for FollowerRange {}

impl From<FollowerRangeError> for MemberError {
    fn from(_: FollowerRangeError) -> Self {
        Self::Expected("a range of followers such as 0000-0fff")
    }
}

impl CommandPayload for FanOutSegment {
    const TYPES: &'static [&'static str] = &["fanout.part"];
    const MEMBERS: &'static [&'static str] =
        &["activity_id", "actor_id", "published_at", "followers"];

    fn read(_: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        let ActivityKey { activity_id, actor_id } = ActivityKey::read(members)?;
        Ok(Self {
            activity_id,
            actor_id,
            published_at: members.instant("published_at")?,
            followers: members.parsed("followers", |text| text.parse::<FollowerRange>())?,
        })
    }

    fn write(&self, body: Body) -> Body {
        body.text("activity_id", &self.activity_id)
            .text("actor_id", &self.actor_id)
            .text("published_at", &self.published_at)
            .text("followers", &self.followers)
    }

    fn subject(&self) -> Subject {
        subject(&self.activity_id, &self.actor_id)
    }

    fn group(&self) -> &str {
        self.actor_id.as_str()
    }
}

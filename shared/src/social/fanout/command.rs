//! One segment of a large fan-out, which the writer sends to itself.

#[cfg(test)]
use crate::platform::message::ValueSchema;
use crate::platform::message::{Body, CommandError, Member, MemberError, Members, Plain, command};
use crate::platform::values::{ActivityId, ActorId, SortKey, Timestamp};
use crate::social::activities::ActivityKey;
use crate::social::follows::{FollowerRange, FollowerRangeError};

command! {
    /// One segment of a large fan-out: make these followers' timelines agree with the activity.
    FanOutSegment by actor_id, SHOWN {
        activity_id: ActivityId,
        actor_id: ActorId,
        published_at: Timestamp,
        followers: FollowerRange,
    }
    "fanout.part"
}

impl FanOutSegment {
    /// The activity record that this command is about, and the activity's sort key in every timeline.
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

impl Member for FollowerRange {
    fn read(members: &Members<'_>, name: &'static str) -> Result<Self, CommandError> {
        members.parsed(name, |text| text.parse::<Self>())
    }

    fn write(&self, name: &'static str, body: Body) -> Body {
        body.text(name, self)
    }

    #[cfg(test)]
    fn schema() -> ValueSchema {
        ValueSchema::new(r#""type": "string""#)
    }
}

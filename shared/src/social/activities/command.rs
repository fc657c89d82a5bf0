//! The commands of activities.

use super::{ActivityChange, ActivityKey, Edit, Published};
use crate::platform::message::{CommandError, Members, command};
use crate::platform::values::{ActivityId, ActorId, Kind, Payload, SortKey, Timestamp};

/// An actor published an activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publish {
    /// Which activity; unique across actors.
    pub activity_id: ActivityId,
    pub actor_id: ActorId,
    /// When it was published: its position in every timeline.
    pub published_at: Timestamp,
    pub kind: Kind,
    /// What readers are given.
    pub payload: Payload,
}

/// An actor changed what an activity says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivityUpdate {
    pub activity_id: ActivityId,
    /// The actor of the activity; an update by anybody else has no effect.
    pub actor_id: ActorId,
    /// When it was changed: the latest wins.
    pub at: Timestamp,
    pub payload: Payload,
    /// The new kind, if it changes.
    pub kind: Option<Kind>,
}

/// An actor deleted an activity, which is final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    pub activity_id: ActivityId,
    /// The actor of the activity; a delete by anybody else has no effect.
    pub actor_id: ActorId,
}

command! {
    Publish: ["activity.published"] by actor_id, SHOWN {
        activity_id, actor_id, published_at, kind, payload
    }
}

command! {
    ActivityUpdate: ["activity.updated"] by actor_id, SHOWN {
        activity_id, actor_id, at, kind, payload = required_payload
    }
}

fn required_payload(members: &Members<'_>) -> Result<Payload, CommandError> {
    members.json("payload")?.ok_or(CommandError::Missing("payload"))
}

command! {
    Delete: ["activity.deleted"] by actor_id, SHOWN { activity_id, actor_id }
}

impl Publish {
    /// The key of the record of the activity.
    pub fn key(&self) -> ActivityKey {
        ActivityKey { activity_id: self.activity_id.clone(), actor_id: self.actor_id.clone() }
    }

    /// The activity's sort key in every timeline.
    pub fn sort_key(&self) -> SortKey {
        SortKey { published_at: self.published_at, activity_id: self.activity_id.clone() }
    }
}

impl From<Publish> for ActivityChange {
    fn from(publish: Publish) -> Self {
        let Publish { published_at: at, kind, payload, .. } = publish;
        Self::Publish(Published { at, kind, payload })
    }
}

impl From<ActivityUpdate> for (ActivityKey, ActivityChange) {
    fn from(update: ActivityUpdate) -> Self {
        let ActivityUpdate { activity_id, actor_id, at, payload, kind } = update;
        let payload = Edit { at, value: payload };
        let kind = kind.map(|value| Edit { at, value });
        (ActivityKey { activity_id, actor_id }, ActivityChange::Update { payload, kind })
    }
}

impl From<Delete> for (ActivityKey, ActivityChange) {
    fn from(delete: Delete) -> Self {
        let Delete { activity_id, actor_id } = delete;
        (ActivityKey { activity_id, actor_id }, ActivityChange::Delete)
    }
}

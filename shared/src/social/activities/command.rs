//! The commands of activities.

use super::{ActivityChange, ActivityKey, Edit, Published};
use crate::platform::message::{CommandError, Members, command};
use crate::platform::values::{ActivityId, ActorId, Kind, Payload, SortKey, Timestamp};

command! {
    /// An actor published an activity. Publishing the same again changes nothing. The same
    /// `activity_id` with another `actor_id` or another `published_at` is a dead letter. An
    /// activity that is older than retention when it is processed is acknowledged and reaches no
    /// timeline.
    Publish by actor_id creates activity_id, SHOWN {
        /// The activity's id, unique across actors.
        activity_id: ActivityId,
        /// The actor who published it.
        actor_id: ActorId,
        /// The instant of the publish: the activity's position in every timeline.
        published_at: Timestamp,
        kind: Kind,
        payload: Payload,
    }
    "activity.published": r#"{ "activity_id": "live-8391", "actor_id": "anna", "published_at": "2026-11-20T12:00:00.000Z", "kind": "live", "payload": { "title": "Speedrun" } }"#
}

command! {
    /// An actor changed the content of an activity. The latest `at` wins, whatever the order of
    /// arrival, and the publish counts as the earliest. An update that arrives before its publish
    /// is kept for it. An update that names another actor than the publish has no effect.
    ActivityUpdate by actor_id, SHOWN {
        /// The activity's id.
        activity_id: ActivityId,
        /// The actor who published it.
        actor_id: ActorId,
        /// The instant of the change.
        at: Timestamp,
        /// The new kind. Without it the kind does not change.
        kind: Option<Kind>,
        /// The whole new payload. It is required, if only as null.
        payload: Payload = required_payload [Payload::schema().required()],
    }
    "activity.updated": r#"{ "activity_id": "live-8391", "actor_id": "anna", "at": "2026-11-20T12:01:00.000Z", "payload": { "title": "Speedrun, part 2" } }"#
}

fn required_payload(members: &Members<'_>) -> Result<Payload, CommandError> {
    members.json("payload")?.ok_or(CommandError::Missing("payload"))
}

command! {
    /// An actor deleted an activity. A delete is final, even if it arrives before the publish. A
    /// delete that names another actor than the publish has no effect.
    Delete by actor_id, SHOWN {
        /// The activity's id.
        activity_id: ActivityId,
        /// The actor who published it.
        actor_id: ActorId,
    }
    "activity.deleted": r#"{ "activity_id": "live-8391", "actor_id": "anna" }"#
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

//! The commands of activities.

use super::{ActivityKey, Change, Edit, Published};
use crate::message::{Body, CommandError, CommandPayload, Members, Subject};
use crate::values::{ActivityId, ActorId, Kind, Payload, SortKey, Timestamp};

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
pub struct Update {
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

impl ActivityKey {
    /// Reads the members with an activity and its actor.
    ///
    /// # Errors
    /// [`CommandError`] names the one that is missing or malformed.
    pub fn read(members: &Members<'_>) -> Result<Self, CommandError> {
        Ok(Self {
            activity_id: members.parsed("activity_id", ActivityId::new)?,
            actor_id: members.parsed("actor_id", ActorId::new)?,
        })
    }
}

/// What a log line about an activity is searched by.
pub(crate) fn subject(activity: &ActivityId, actor: &ActorId) -> Subject {
    let (activity_id, actor_id) = (Some(activity.to_string()), Some(actor.to_string()));
    Subject { activity_id, actor_id, ..Subject::default() }
}

impl CommandPayload for Publish {
    const TYPES: &'static [&'static str] = &["activity.published"];
    const MEMBERS: &'static [&'static str] =
        &["activity_id", "actor_id", "published_at", "kind", "payload"];

    fn read(_: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        let ActivityKey { activity_id, actor_id } = ActivityKey::read(members)?;
        Ok(Self {
            activity_id,
            actor_id,
            published_at: members.instant("published_at")?,
            kind: members.kind()?.unwrap_or_default(),
            payload: members.payload()?.unwrap_or_default(),
        })
    }

    fn write(&self, body: Body) -> Body {
        body.text("activity_id", &self.activity_id)
            .text("actor_id", &self.actor_id)
            .text("published_at", &self.published_at)
            .text("kind", &self.kind)
            .json("payload", self.payload.as_json())
    }

    fn subject(&self) -> Subject {
        subject(&self.activity_id, &self.actor_id)
    }

    fn group(&self) -> &str {
        self.actor_id.as_str()
    }
}

impl CommandPayload for Update {
    const TYPES: &'static [&'static str] = &["activity.updated"];
    const MEMBERS: &'static [&'static str] = &["activity_id", "actor_id", "at", "kind", "payload"];

    fn read(_: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        let ActivityKey { activity_id, actor_id } = ActivityKey::read(members)?;
        Ok(Self {
            activity_id,
            actor_id,
            at: members.instant("at")?,
            payload: members.payload()?.ok_or(CommandError::Missing("payload"))?,
            kind: members.kind()?,
        })
    }

    fn write(&self, body: Body) -> Body {
        let body = body
            .text("activity_id", &self.activity_id)
            .text("actor_id", &self.actor_id)
            .text("at", &self.at);
        let body = match &self.kind {
            Some(kind) => body.text("kind", kind),
            None => body,
        };
        body.json("payload", self.payload.as_json())
    }

    fn subject(&self) -> Subject {
        subject(&self.activity_id, &self.actor_id)
    }

    fn group(&self) -> &str {
        self.actor_id.as_str()
    }
}

impl CommandPayload for Delete {
    const TYPES: &'static [&'static str] = &["activity.deleted"];
    const MEMBERS: &'static [&'static str] = &["activity_id", "actor_id"];

    fn read(_: &str, members: &Members<'_>) -> Result<Self, CommandError> {
        let ActivityKey { activity_id, actor_id } = ActivityKey::read(members)?;
        Ok(Self { activity_id, actor_id })
    }

    fn write(&self, body: Body) -> Body {
        body.text("activity_id", &self.activity_id).text("actor_id", &self.actor_id)
    }

    fn subject(&self) -> Subject {
        subject(&self.activity_id, &self.actor_id)
    }

    fn group(&self) -> &str {
        self.actor_id.as_str()
    }
}

impl Publish {
    /// The key of the record of the activity.
    #[must_use]
    pub fn key(&self) -> ActivityKey {
        ActivityKey { activity_id: self.activity_id.clone(), actor_id: self.actor_id.clone() }
    }

    /// The activity's sort key in every timeline.
    #[must_use]
    pub fn sort_key(&self) -> SortKey {
        SortKey { published_at: self.published_at, activity_id: self.activity_id.clone() }
    }
}

impl From<Publish> for Change {
    fn from(publish: Publish) -> Self {
        let Publish { published_at: at, kind, payload, .. } = publish;
        Self::Publish(Published { at, kind, payload })
    }
}

impl From<Update> for (ActivityKey, Change) {
    fn from(update: Update) -> Self {
        let Update { activity_id, actor_id, at, payload, kind } = update;
        let payload = Edit { at, value: payload };
        let kind = kind.map(|value| Edit { at, value });
        (ActivityKey { activity_id, actor_id }, Change::Update { payload, kind })
    }
}

impl From<Delete> for (ActivityKey, Change) {
    fn from(delete: Delete) -> Self {
        let Delete { activity_id, actor_id } = delete;
        (ActivityKey { activity_id, actor_id }, Change::Delete)
    }
}

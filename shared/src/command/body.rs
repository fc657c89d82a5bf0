//! Bodies of messages. They are read in two steps: the envelope says which command it is, then the
//! members of that command are read one by one, so that an error can name the member. Members nobody
//! asked for are ignored.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::value::RawValue;

use super::{
    Command, CommandError, Delete, EARLIEST_MILLIS, FollowChange, MAX_FUTURE_MILLIS, MemberError,
    Part, Publish, Update,
};
use crate::follow::FollowState;
use crate::id::{ActivityId, ActorId, ViewerId};
use crate::keys::FollowerRange;
use crate::payload::{Kind, Payload};
use crate::timestamp::Timestamp;

impl Command {
    /// Reads one message body at the instant `now`.
    ///
    /// # Errors
    /// [`CommandError`] names the member and what was expected; it is permanent.
    pub fn parse(body: &str, now: Timestamp) -> Result<Self, CommandError> {
        let members = Members::read(body, now)?;
        match members.string("type")?.as_str() {
            "activity.published" => Ok(Self::Publish(Publish {
                activity_id: members.parsed("activity_id", ActivityId::new)?,
                actor_id: members.parsed("actor_id", ActorId::new)?,
                published_at: members.instant("published_at")?,
                kind: members.kind()?.unwrap_or_default(),
                payload: members.payload()?.unwrap_or_default(),
            })),
            "activity.updated" => Ok(Self::Update(Update {
                activity_id: members.parsed("activity_id", ActivityId::new)?,
                actor_id: members.parsed("actor_id", ActorId::new)?,
                at: members.instant("at")?,
                payload: members.payload()?.ok_or(CommandError::Missing("payload"))?,
                kind: members.kind()?,
            })),
            "activity.deleted" => Ok(Self::Delete(Delete {
                activity_id: members.parsed("activity_id", ActivityId::new)?,
                actor_id: members.parsed("actor_id", ActorId::new)?,
            })),
            "follow.created" => members.follow(true),
            "follow.deleted" => members.follow(false),
            "fanout.part" => Ok(Self::Part(Part {
                activity_id: members.parsed("activity_id", ActivityId::new)?,
                actor_id: members.parsed("actor_id", ActorId::new)?,
                published_at: members.instant("published_at")?,
                followers: members.parsed("followers", |text| text.parse::<FollowerRange>())?,
                redelivered: members.values.get("redelivered").is_some_and(|v| v.get() == "true"),
            })),
            other => Err(CommandError::UnknownType(shortened(other))),
        }
    }

    /// The message body that [`parse`](Self::parse) reads back.
    #[must_use]
    pub fn to_body(&self) -> String {
        let kind = self.type_name();
        let wire = match self {
            Self::Publish(publish) => Wire {
                activity_id: Some(&publish.activity_id),
                actor_id: Some(&publish.actor_id),
                published_at: Some(publish.published_at),
                kind: Some(&publish.kind),
                payload: Some(&publish.payload),
                ..Wire::new(kind)
            },
            Self::Update(update) => Wire {
                activity_id: Some(&update.activity_id),
                actor_id: Some(&update.actor_id),
                at: Some(update.at),
                kind: update.kind.as_ref(),
                payload: Some(&update.payload),
                ..Wire::new(kind)
            },
            Self::Delete(delete) => Wire {
                activity_id: Some(&delete.activity_id),
                actor_id: Some(&delete.actor_id),
                ..Wire::new(kind)
            },
            Self::Follow(change) => Wire {
                follower_id: Some(&change.follower_id),
                followee_id: Some(&change.followee_id),
                at: Some(change.state.changed_at),
                ..Wire::new(kind)
            },
            Self::Part(part) => Wire {
                activity_id: Some(&part.activity_id),
                actor_id: Some(&part.actor_id),
                published_at: Some(part.published_at),
                followers: Some(part.followers.to_string()),
                redelivered: part.redelivered.then_some(true),
                ..Wire::new(kind)
            },
        };
        // A structure of strings cannot fail to serialise.
        serde_json::to_string(&wire).unwrap_or_default()
    }
}

/// The members of every command, in the order they are written.
#[derive(Serialize)]
struct Wire<'a> {
    #[serde(rename = "type")]
    kind_of_command: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    activity_id: Option<&'a ActivityId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    actor_id: Option<&'a ActorId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    follower_id: Option<&'a ViewerId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    followee_id: Option<&'a ActorId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    published_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a Kind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<&'a Payload>,
    #[serde(skip_serializing_if = "Option::is_none")]
    followers: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    redelivered: Option<bool>,
}

impl Wire<'_> {
    fn new(kind_of_command: &'static str) -> Self {
        Self {
            kind_of_command,
            activity_id: None,
            actor_id: None,
            follower_id: None,
            followee_id: None,
            published_at: None,
            at: None,
            kind: None,
            payload: None,
            followers: None,
            redelivered: None,
        }
    }
}

/// The members of a body that any command asks for, unread.
struct Members<'a> {
    values: HashMap<&'static str, &'a RawValue>,
    now: Timestamp,
}

const KNOWN: [&str; 11] = [
    "type",
    "activity_id",
    "actor_id",
    "follower_id",
    "followee_id",
    "published_at",
    "at",
    "kind",
    "payload",
    "followers",
    "redelivered",
];

impl<'a> Members<'a> {
    fn read(body: &'a str, now: Timestamp) -> Result<Self, CommandError> {
        let mut values = HashMap::with_capacity(KNOWN.len());
        let mut repeated = None;
        let visitor = ObjectVisitor { values: &mut values, repeated: &mut repeated };
        let mut json = serde_json::Deserializer::from_str(body);
        serde::Deserializer::deserialize_map(&mut json, visitor)
            .and_then(|()| json.end())
            .map_err(|e| CommandError::NotAnObject(where_it_broke(&e)))?;
        match repeated {
            Some(member) => Err(CommandError::Malformed { member, problem: MemberError::Repeated }),
            None => Ok(Self { values, now }),
        }
    }

    fn string(&self, member: &'static str) -> Result<String, CommandError> {
        let value = self.values.get(member).ok_or(CommandError::Missing(member))?;
        serde_json::from_str(value.get())
            .map_err(|_| CommandError::Malformed { member, problem: MemberError::NotAString })
    }

    fn parsed<T, E: Into<MemberError>>(
        &self,
        member: &'static str,
        parse: impl FnOnce(String) -> Result<T, E>,
    ) -> Result<T, CommandError> {
        parse(self.string(member)?)
            .map_err(|e| CommandError::Malformed { member, problem: e.into() })
    }

    fn instant(&self, member: &'static str) -> Result<Timestamp, CommandError> {
        let now = self.now;
        self.parsed(member, |text| {
            let found = Timestamp::parse(&text)?;
            if found.unix_millis() < EARLIEST_MILLIS {
                Err(MemberError::TooEarly(found))
            } else if found > now.plus_millis(MAX_FUTURE_MILLIS) {
                Err(MemberError::TooLate { found, now })
            } else {
                Ok(found)
            }
        })
    }

    /// `kind`, where it is given; `null` stands for not given.
    fn kind(&self) -> Result<Option<Kind>, CommandError> {
        match self.values.get("kind") {
            Some(value) if value.get() != "null" => self.parsed("kind", Kind::new).map(Some),
            _ => Ok(None),
        }
    }

    fn payload(&self) -> Result<Option<Payload>, CommandError> {
        let payload = self.values.get("payload").map(|value| Payload::from_raw(value));
        payload
            .transpose()
            .map_err(|e| CommandError::Malformed { member: "payload", problem: e.into() })
    }

    fn follow(&self, following: bool) -> Result<Command, CommandError> {
        Ok(Command::Follow(FollowChange {
            follower_id: self.parsed("follower_id", ViewerId::new)?,
            followee_id: self.parsed("followee_id", ActorId::new)?,
            state: FollowState { following, changed_at: self.instant("at")? },
        }))
    }
}

/// Collects the known members of one object without reading their values.
struct ObjectVisitor<'m, 'a> {
    values: &'m mut HashMap<&'static str, &'a RawValue>,
    repeated: &'m mut Option<&'static str>,
}

impl<'a> serde::de::Visitor<'a> for ObjectVisitor<'_, 'a> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: serde::de::MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let Some(member) = KNOWN.into_iter().find(|known| *known == name) else {
                map.next_value::<serde::de::IgnoredAny>()?;
                continue;
            };
            if self.values.insert(member, map.next_value()?).is_some() {
                *self.repeated = Some(member);
            }
        }
        Ok(())
    }
}

/// What the parser met, without its words: those would quote the body, which stays out of logs.
fn where_it_broke(error: &serde_json::Error) -> String {
    match error.classify() {
        serde_json::error::Category::Data => "it is JSON of another type".to_owned(),
        serde_json::error::Category::Eof => "it ends too early".to_owned(),
        _ => format!("it breaks at line {}, column {}", error.line(), error.column()),
    }
}

/// Enough of a text to recognise it by.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

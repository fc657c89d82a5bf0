//! Bodies of messages. They are read in two steps: the envelope says which command it is, then the
//! members of that command are read one by one, so that an error can name the member. Members nobody
//! asked for are ignored.

use std::collections::HashMap;
use std::fmt::{self, Write};

use serde_json::value::RawValue;

use super::internal::{INTERNAL, MAX_LENGTH};
use super::{
    Command, CommandError, Continued, Delete, EARLIEST_MILLIS, FollowChange, MAX_FUTURE_MILLIS,
    MemberError, Origin, Part, Publish, Update,
};
use crate::follow::FollowState;
use crate::id::{ActivityId, ActorId, ViewerId};
use crate::keys::FollowerRange;
use crate::payload::{Kind, Payload};
use crate::timestamp::Timestamp;

/// The types of internal commands, inside their envelope.
pub(super) const PART: &str = "fanout.part";
pub(super) const CONTINUED: &str = "command.continued";

impl Command {
    /// Reads one message body of a producer at the instant `now`. An internal command is none.
    ///
    /// # Errors
    /// [`CommandError`] names the member and what was expected; it is permanent.
    pub fn parse(body: &str, now: Timestamp) -> Result<Self, CommandError> {
        read(body, now, |_, _| false)
    }

    /// The same for those who look at bodies and apply none: internal commands are read too, whoever
    /// sealed them.
    ///
    /// # Errors
    /// [`CommandError`] names the member and what was expected; it is permanent.
    pub fn parse_unverified(body: &str, now: Timestamp) -> Result<Self, CommandError> {
        read(body, now, |_, _| true)
    }

    /// The message body that [`parse`](Self::parse) reads back, if the command is a producer's. That of
    /// an internal command goes into an envelope ([`InternalSeal`](super::InternalSeal)).
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
                followers: Some(part.followers),
                ..Wire::new(kind)
            },
            Self::Continued(continued) => Wire {
                origin: Some(&continued.origin),
                redelivered: continued.redelivered.then_some(true),
                command: Some(continued.command.to_body()),
                ..Wire::new(kind)
            },
        };
        wire.into_json()
    }
}

/// Reads a body, and an envelope for whose seal and command `is_sealed` vouches.
pub(super) fn read(
    body: &str,
    now: Timestamp,
    is_sealed: impl FnOnce(&str, &str) -> bool,
) -> Result<Command, CommandError> {
    let members = Members::read(body, now)?;
    let kind = members.string("type")?;
    if kind != INTERNAL {
        return members.command(&kind);
    }
    match (members.string("seal"), members.values.get("command")) {
        (Ok(seal), Some(command))
            if body.len() <= MAX_LENGTH && is_sealed(&seal, command.get()) =>
        {
            Members::read(command.get(), now)?.internal()
        }
        _ => Err(CommandError::UnknownType(kind)),
    }
}

/// The members of every command, in the order they are written.
struct Wire<'a> {
    kind_of_command: &'static str,
    activity_id: Option<&'a ActivityId>,
    actor_id: Option<&'a ActorId>,
    follower_id: Option<&'a ViewerId>,
    followee_id: Option<&'a ActorId>,
    published_at: Option<Timestamp>,
    at: Option<Timestamp>,
    kind: Option<&'a Kind>,
    payload: Option<&'a Payload>,
    followers: Option<FollowerRange>,
    origin: Option<&'a Origin>,
    redelivered: Option<bool>,
    command: Option<String>,
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
            origin: None,
            redelivered: None,
            command: None,
        }
    }

    /// Taken apart, so that no member is forgotten.
    fn into_json(self) -> String {
        let Self {
            kind_of_command,
            activity_id,
            actor_id,
            follower_id,
            followee_id,
            published_at,
            at,
            kind,
            payload,
            followers,
            origin,
            redelivered,
            command,
        } = self;
        let mut body = Body::new(kind_of_command);
        body.text("activity_id", activity_id);
        body.text("actor_id", actor_id);
        body.text("follower_id", follower_id);
        body.text("followee_id", followee_id);
        body.text("published_at", published_at.as_ref());
        body.text("at", at.as_ref());
        body.text("kind", kind);
        body.json("payload", payload.map(Payload::as_json));
        body.text("followers", followers.as_ref());
        body.text("origin", origin);
        body.json("redelivered", redelivered.map(|yes| if yes { "true" } else { "false" }));
        body.json("command", command.as_deref());
        body.end()
    }
}

/// What is written as JSON by putting quotes around it: nothing in it needs an escape. So a body can
/// always be written, and there is no error that somebody could take for an empty one.
trait Plain: fmt::Display {}

impl Plain for ActivityId {}
impl Plain for ActorId {}
impl Plain for ViewerId {}
impl Plain for Timestamp {}
impl Plain for Kind {}
impl Plain for FollowerRange {}
impl Plain for Origin {}

/// An object on its way to be a text. Writing to a string cannot fail.
struct Body(String);

impl Body {
    fn new(kind_of_command: &'static str) -> Self {
        Self(format!("{{\"type\":\"{kind_of_command}\""))
    }

    fn text(&mut self, member: &'static str, value: Option<&impl Plain>) {
        if let Some(value) = value {
            let _ = write!(self.0, ",\"{member}\":\"{value}\"");
        }
    }

    /// A member whose value is JSON already.
    fn json(&mut self, member: &'static str, value: Option<&str>) {
        if let Some(value) = value {
            let _ = write!(self.0, ",\"{member}\":{value}");
        }
    }

    fn end(mut self) -> String {
        self.0.push('}');
        self.0
    }
}

/// The members of a body that any command asks for, unread.
struct Members<'a> {
    values: HashMap<&'static str, &'a RawValue>,
    now: Timestamp,
}

/// The members of producers' commands. None of them may be given twice.
const KNOWN: [&str; 9] = [
    "type",
    "activity_id",
    "actor_id",
    "follower_id",
    "followee_id",
    "published_at",
    "at",
    "kind",
    "payload",
];
/// Those of internal commands, which are ignored in a producer's.
const KNOWN_INTERNALLY: [&str; 5] = ["followers", "origin", "redelivered", "seal", "command"];

impl<'a> Members<'a> {
    fn read(body: &'a str, now: Timestamp) -> Result<Self, CommandError> {
        let mut values = HashMap::with_capacity(KNOWN.len() + KNOWN_INTERNALLY.len());
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

    /// A producer's command.
    fn command(&self, kind: &str) -> Result<Command, CommandError> {
        match kind {
            "activity.published" => Ok(Command::Publish(Publish {
                activity_id: self.parsed("activity_id", ActivityId::new)?,
                actor_id: self.parsed("actor_id", ActorId::new)?,
                published_at: self.instant("published_at")?,
                kind: self.kind()?.unwrap_or_default(),
                payload: self.payload()?.unwrap_or_default(),
            })),
            "activity.updated" => Ok(Command::Update(Update {
                activity_id: self.parsed("activity_id", ActivityId::new)?,
                actor_id: self.parsed("actor_id", ActorId::new)?,
                at: self.instant("at")?,
                payload: self.payload()?.ok_or(CommandError::Missing("payload"))?,
                kind: self.kind()?,
            })),
            "activity.deleted" => Ok(Command::Delete(Delete {
                activity_id: self.parsed("activity_id", ActivityId::new)?,
                actor_id: self.parsed("actor_id", ActorId::new)?,
            })),
            "follow.created" => self.follow(true),
            "follow.deleted" => self.follow(false),
            other => Err(CommandError::UnknownType(shortened(other))),
        }
    }

    /// An internal command: a part, or the rest of a command.
    fn internal(&self) -> Result<Command, CommandError> {
        let kind = self.string("type")?;
        match kind.as_str() {
            CONTINUED => self.continued().map(Command::Continued),
            PART => self.part().map(Command::Part),
            _ => Err(CommandError::UnknownType(shortened(&kind))),
        }
    }

    fn part(&self) -> Result<Part, CommandError> {
        Ok(Part {
            activity_id: self.parsed("activity_id", ActivityId::new)?,
            actor_id: self.parsed("actor_id", ActorId::new)?,
            published_at: self.instant("published_at")?,
            followers: self.parsed("followers", |text| text.parse::<FollowerRange>())?,
        })
    }

    fn continued(&self) -> Result<Continued, CommandError> {
        let origin =
            self.parsed("origin", |text| Origin::new(text).ok_or(MemberError::MessageId))?;
        let command = self.values.get("command").ok_or(CommandError::Missing("command"))?;
        let redelivered = self.values.get("redelivered").is_some_and(|v| v.get() == "true");
        let command = Box::new(Members::read(command.get(), self.now)?.rest()?);
        Ok(Continued { origin, redelivered, command })
    }

    /// What a command that is continued is the rest of, which is not itself continued: a body nested in
    /// itself a thousand times is not followed down.
    fn rest(&self) -> Result<Command, CommandError> {
        match self.string("type")?.as_str() {
            PART => self.part().map(Command::Part),
            kind => self.command(kind),
        }
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

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: serde::de::MapAccess<'a>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let known = |members: &[&'static str]| members.iter().copied().find(|m| *m == name);
            if let Some(member) = known(&KNOWN) {
                if self.values.insert(member, map.next_value()?).is_some() {
                    *self.repeated = Some(member);
                }
            } else if let Some(member) = known(&KNOWN_INTERNALLY) {
                self.values.insert(member, map.next_value()?);
            } else {
                map.next_value::<serde::de::IgnoredAny>()?;
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

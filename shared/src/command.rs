//! The commands producers send, one JSON object a message (CONTRACT section 2).
//!
//! A body is parsed in two steps: the envelope says which command it is, then the members of that
//! command are read one by one, so that an error can name the member. Members nobody asked for are
//! ignored.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::follow::FollowState;
use crate::id::{ActivityId, ActorId, IdError, ViewerId};
use crate::keys::{FollowerRange, FollowerRangeError};
use crate::payload::{Kind, KindError, Payload, PayloadError};
use crate::timestamp::{Timestamp, TimestampError};

/// How far in the future an instant may lie, in milliseconds: clocks of producers differ.
pub const MAX_FUTURE_MILLIS: i64 = 5 * 60 * 1000;
/// 2015-01-01T00:00:00Z: nothing was published before.
const EARLIEST_MILLIS: i64 = 1_420_070_400_000;

/// One change that a producer asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// `activity.published`
    Publish(Publish),
    /// `activity.updated`
    Update(Update),
    /// `activity.deleted`
    Delete(Delete),
    /// `follow.created` and `follow.deleted`
    Follow(FollowChange),
    /// `fanout.part`. Not for producers: the writer sends it to itself.
    Part(Part),
}

/// An actor published an activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Publish {
    /// Which activity; unique across actors.
    pub activity_id: ActivityId,
    /// Who published it.
    pub actor_id: ActorId,
    /// When; the place in every timeline.
    pub published_at: Timestamp,
    /// What sort of activity it is.
    pub kind: Kind,
    /// What readers are given.
    pub payload: Payload,
}

/// An actor changed what an activity says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// Which activity.
    pub activity_id: ActivityId,
    /// Whose; an update by anybody else has no effect.
    pub actor_id: ActorId,
    /// When it was changed: the latest wins.
    pub at: Timestamp,
    /// The new payload.
    pub payload: Payload,
    /// The new kind, if it changes.
    pub kind: Option<Kind>,
}

/// An actor took an activity back. Final.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delete {
    /// Which activity.
    pub activity_id: ActivityId,
    /// Whose; a delete by anybody else has no effect.
    pub actor_id: ActorId,
}

/// A viewer began or ceased to follow an actor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FollowChange {
    /// Whose timeline changes.
    pub follower_id: ViewerId,
    /// Whose activities come or go.
    pub followee_id: ActorId,
    /// Followed or unfollowed, and when.
    pub state: FollowState,
}

/// One part of a large fan-out: bring these followers' timelines in line with the activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Which activity.
    pub activity_id: ActivityId,
    /// Whose.
    pub actor_id: ActorId,
    /// When it was published.
    pub published_at: Timestamp,
    /// Which followers.
    pub followers: FollowerRange,
    /// Whether an earlier delivery of the command that this is a part of may have died half-way.
    pub redelivered: bool,
}

/// The ids that a command is about, each under the name of the member that holds it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the contract")]
pub struct Subject<'a> {
    pub activity_id: Option<&'a str>,
    pub actor_id: Option<&'a str>,
    pub follower_id: Option<&'a str>,
    pub followee_id: Option<&'a str>,
}

impl<'a> Subject<'a> {
    fn of(activity: &'a ActivityId, actor: &'a ActorId) -> Self {
        let (activity_id, actor_id) = (Some(activity.as_str()), Some(actor.as_str()));
        Self { activity_id, actor_id, ..Self::default() }
    }
}

/// Why a body is not a command. Sending it again cannot help.
///
/// Its sentence goes into logs and quotes nothing that was sent but instants and single characters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// Not JSON, or not a JSON object.
    #[error("the body is not a JSON object ({0})")]
    NotAnObject(String),
    /// A `type` this version does not know.
    #[error(
        "member `type`: expected activity.published, activity.updated, activity.deleted, \
         follow.created or follow.deleted"
    )]
    UnknownType(String),
    /// A member that has to be there is not.
    #[error("member `{0}` is missing")]
    Missing(&'static str),
    /// A member has another type or another form than it should.
    #[error("member `{member}`: {problem}")]
    Malformed {
        /// Its name.
        member: &'static str,
        /// What was expected.
        problem: MemberError,
    },
}

/// What is wrong with one member.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each variant says it by its message")]
pub enum MemberError {
    #[error("expected a string")]
    NotAString,
    #[error("given twice")]
    Repeated,
    #[error(transparent)]
    Id(#[from] IdError),
    #[error(transparent)]
    Kind(#[from] KindError),
    #[error(transparent)]
    Payload(#[from] PayloadError),
    #[error(transparent)]
    Timestamp(#[from] TimestampError),
    #[error(transparent)]
    FollowerRange(#[from] FollowerRangeError),
    #[error("expected an instant from 2015-01-01T00:00:00Z on, got {0}")]
    TooEarly(Timestamp),
    #[error("expected an instant at most five minutes after now ({now}), got {found}")]
    TooLate { found: Timestamp, now: Timestamp },
}

impl CommandError {
    /// The error with what was found where that may be anything: for who sent it, and not for logs.
    #[must_use]
    pub fn in_full(&self) -> String {
        match self {
            Self::UnknownType(found) => format!("{self}, got {found:?}"),
            _ => self.to_string(),
        }
    }

    /// A short fixed word for metrics and dead letters.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NotAnObject(_) => "not-json",
            Self::UnknownType(_) => "unknown-type",
            Self::Missing(_) | Self::Malformed { .. } => "malformed",
        }
    }
}

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

    /// The `type` member of this command.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Publish(_) => "activity.published",
            Self::Update(_) => "activity.updated",
            Self::Delete(_) => "activity.deleted",
            Self::Follow(change) if change.state.following => "follow.created",
            Self::Follow(_) => "follow.deleted",
            Self::Part(_) => "fanout.part",
        }
    }

    /// The ids that it is about: what a log line is searched by.
    #[must_use]
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::Publish(publish) => Subject::of(&publish.activity_id, &publish.actor_id),
            Self::Update(update) => Subject::of(&update.activity_id, &update.actor_id),
            Self::Delete(delete) => Subject::of(&delete.activity_id, &delete.actor_id),
            Self::Part(part) => Subject::of(&part.activity_id, &part.actor_id),
            Self::Follow(change) => Subject {
                follower_id: Some(change.follower_id.as_str()),
                followee_id: Some(change.followee_id.as_str()),
                ..Subject::default()
            },
        }
    }

    /// The actor or followee: what fair queues group messages by.
    #[must_use]
    pub fn group(&self) -> &ActorId {
        match self {
            Self::Publish(Publish { actor_id, .. })
            | Self::Update(Update { actor_id, .. })
            | Self::Delete(Delete { actor_id, .. })
            | Self::Part(Part { actor_id, .. }) => actor_id,
            Self::Follow(change) => &change.followee_id,
        }
    }

    /// The message body that [`parse`](Self::parse) reads back.
    #[must_use]
    pub fn to_body(&self) -> String {
        let kind = self.type_name();
        let json = match self {
            Self::Publish(publish) => serde_json::to_string(&Wire {
                activity_id: Some(&publish.activity_id),
                actor_id: Some(&publish.actor_id),
                published_at: Some(publish.published_at),
                kind: Some(&publish.kind),
                payload: Some(&publish.payload),
                ..Wire::new(kind)
            }),
            Self::Update(update) => serde_json::to_string(&Wire {
                activity_id: Some(&update.activity_id),
                actor_id: Some(&update.actor_id),
                at: Some(update.at),
                kind: update.kind.as_ref(),
                payload: Some(&update.payload),
                ..Wire::new(kind)
            }),
            Self::Delete(delete) => serde_json::to_string(&Wire {
                activity_id: Some(&delete.activity_id),
                actor_id: Some(&delete.actor_id),
                ..Wire::new(kind)
            }),
            Self::Follow(change) => serde_json::to_string(&Wire {
                follower_id: Some(&change.follower_id),
                followee_id: Some(&change.followee_id),
                at: Some(change.state.changed_at),
                ..Wire::new(kind)
            }),
            Self::Part(part) => serde_json::to_string(&Wire {
                activity_id: Some(&part.activity_id),
                actor_id: Some(&part.actor_id),
                published_at: Some(part.published_at),
                followers: Some(part.followers.to_string()),
                redelivered: part.redelivered.then_some(true),
                ..Wire::new(kind)
            }),
        };
        // A structure of strings cannot fail to serialise.
        json.unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: &str = "2026-11-20T12:00:00.000Z";

    fn parse(body: &str) -> Result<Command, CommandError> {
        Command::parse(body, NOW.parse().expect("a fixed instant"))
    }

    /// A publish with one member replaced (or added).
    fn publish_with(member: &str, value: &str) -> String {
        let mut members = vec![
            ("type", r#""activity.published""#),
            ("activity_id", r#""live-1""#),
            ("actor_id", r#""anna""#),
            ("published_at", r#""2026-11-20T12:00:00Z""#),
        ];
        members.retain(|(name, _)| *name != member);
        if !value.is_empty() {
            members.push((member, value));
        }
        let body: Vec<_> = members.iter().map(|(n, v)| format!("\"{n}\":{v}")).collect();
        format!("{{{}}}", body.join(","))
    }

    #[test]
    fn reads_the_contract_s_examples() {
        let bodies = [
            r#"{"type":"activity.published","activity_id":"live-8391","actor_id":"anna","published_at":"2026-11-20T12:00:00.000Z","kind":"live","payload":{"title":"Speedrun"}}"#,
            r#"{"type":"activity.updated","activity_id":"live-8391","actor_id":"anna","at":"2026-11-20T12:01:00.000Z","payload":{"title":"Speedrun, part 2"}}"#,
            r#"{"type":"activity.deleted","activity_id":"live-8391","actor_id":"anna"}"#,
            r#"{"type":"follow.created","follower_id":"bob","followee_id":"anna","at":"2026-11-20T12:00:01.000Z"}"#,
            r#"{"type":"follow.deleted","follower_id":"bob","followee_id":"anna","at":"2026-11-20T12:05:00.000Z"}"#,
        ];
        for body in bodies {
            let command = parse(body).unwrap_or_else(|e| panic!("{body}: {e}"));
            assert_eq!(parse(&command.to_body()), Ok(command));
        }
    }

    #[test]
    fn refuses_and_says_what_was_expected() {
        let id129 = format!("\"{}\"", "x".repeat(129));
        let big = format!("\"{}\"", "x".repeat(4095));
        let cases: Vec<(String, &str, &str)> = vec![
            ("hello".into(), "not-json", "not a JSON object"),
            (String::new(), "not-json", "not a JSON object"),
            ("[]".into(), "not-json", "not a JSON object"),
            (r#"["activity.deleted","a","b"]"#.into(), "not-json", "not a JSON object"),
            ("{} {}".into(), "not-json", "column 4"),
            ("\"secret\"".into(), "not-json", "another type"),
            ("{".into(), "not-json", "too early"),
            ("{}".into(), "malformed", "`type` is missing"),
            (r#"{"type":5}"#.into(), "malformed", "`type`: expected a string"),
            (r#"{"type":"activity.exploded"}"#.into(), "unknown-type", "activity.exploded"),
            (publish_with("actor_id", ""), "malformed", "`actor_id` is missing"),
            (publish_with("actor_id", "7"), "malformed", "`actor_id`: expected a string"),
            (publish_with("actor_id", r#""""#), "malformed", "got 0"),
            (publish_with("actor_id", &id129), "malformed", "got 129"),
            (publish_with("actor_id", r#""a#b""#), "malformed", "'#' as character 2"),
            (publish_with("actor_id", r#""a\nb""#), "malformed", "'\\n' as character 2"),
            (publish_with("published_at", r#""2026-11-20T12:00:00""#), "malformed", "RFC 3339"),
            (publish_with("published_at", r#""2014-12-31T23:59:59.999Z""#), "malformed", "2015"),
            (publish_with("published_at", r#""2026-11-20T12:05:00.001Z""#), "malformed", "five minutes"),
            (publish_with("kind", r#""a b""#), "malformed", "`kind`"),
            (publish_with("payload", &big), "malformed", "4096 bytes of JSON, got 4097"),
            (r#"{"type":"activity.deleted","actor_id":"a","actor_id":"b","activity_id":"c"}"#.into(), "malformed", "given twice"),
            (r#"{"type":"activity.updated","activity_id":"a","actor_id":"b","at":"2026-11-20T12:00:00Z"}"#.into(), "malformed", "`payload` is missing"),
        ];
        for (body, reason, words) in cases {
            let error = parse(&body).expect_err(&body);
            assert_eq!(error.reason(), reason, "{body}: {error}");
            assert!(error.in_full().contains(words), "{body}: {error}");
        }
    }

    #[test]
    fn accepts_the_borders() {
        let big = format!("\"{}\"", "x".repeat(4094));
        for body in [
            publish_with("published_at", r#""2015-01-01T00:00:00Z""#),
            publish_with("published_at", r#""2026-11-20T12:05:00.000Z""#),
            publish_with("published_at", r#""2016-12-31T23:59:60Z""#),
            publish_with("payload", &big),
            publish_with("payload", "1.000000000000000000000000000000001"),
            publish_with("kind", "null"),
            publish_with("surplus", r#"{"deep":[1,2,{}]}"#),
        ] {
            assert!(parse(&body).is_ok(), "{body}: {:?}", parse(&body));
        }
    }

    proptest! {
        #[test]
        fn never_panics(body in "\\PC*") {
            let _ = parse(&body);
        }

        #[test]
        fn what_is_accepted_round_trips(
            id in "[A-Za-z0-9._:@-]{1,128}",
            millis in EARLIEST_MILLIS..1_795_000_000_000,
            payload in proptest::option::of("[a-z0-9 ]{0,40}"),
            following in any::<bool>(),
        ) {
            let at = Timestamp::from_unix_millis(millis);
            let payload = payload.map_or_else(Payload::default, |text| {
                Payload::parse(&format!("\"{text}\"")).expect("a short string")
            });
            let commands = [
                Command::Publish(Publish {
                    activity_id: ActivityId::new(id.clone()).expect("an id"),
                    actor_id: ActorId::new(id.clone()).expect("an id"),
                    published_at: at, kind: Kind::default(), payload,
                }),
                Command::Follow(FollowChange {
                    follower_id: ViewerId::new(id.clone()).expect("an id"),
                    followee_id: ActorId::new(id.clone()).expect("an id"),
                    state: FollowState { following, changed_at: at },
                }),
                Command::Part(Part {
                    activity_id: ActivityId::new(id.clone()).expect("an id"),
                    actor_id: ActorId::new(id).expect("an id"),
                    published_at: at,
                    followers: FollowerRange::split(7)[3],
                    redelivered: following,
                }),
            ];
            for command in commands {
                let body = command.to_body();
                prop_assert_eq!(Command::parse(&body, Timestamp::LAST.plus_millis(-MAX_FUTURE_MILLIS)), Ok(command));
            }
        }
    }
}

//! The commands producers send, one JSON object a message (docs/PRODUCERS.md).
//!
//! What they say is here; how they are read and written is in `command/body.rs`, and how the writer's own
//! are sealed in `command/internal.rs`.

mod body;
mod internal;

use std::fmt;

use crate::dead_letter::is_id;
use crate::follow::FollowState;
use crate::id::{ActivityId, ActorId, IdError, ViewerId};
use crate::keys::{FollowerRange, FollowerRangeError};
use crate::payload::{Kind, KindError, Payload, PayloadError};
use crate::timestamp::{Timestamp, TimestampError};

pub use internal::InternalSeal;

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
    /// `fanout.part`. Not for producers: the writer sends it to itself, sealed.
    Part(Part),
    /// `command.continued`. Not for producers: the writer sends it to itself, sealed.
    Continued(Continued),
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
}

/// The id of the message with which a command came first. What is handed on keeps it, so that progress
/// which was noted under it is found again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin(String);

impl Origin {
    /// Nothing, if the text cannot be the id of a message ([`is_id`]).
    #[must_use]
    pub fn new(text: String) -> Option<Self> {
        is_id(&text).then_some(Self(text))
    }

    /// Of a command that came without a message, or with one whose id is none.
    #[must_use]
    pub fn unknown() -> Self {
        Self("unknown".to_owned())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The rest of a command that an earlier delivery acknowledged before all of it was done, because
/// it takes longer than one invocation. How far it has come is noted in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continued {
    /// The id of the message with which the command came first: its progress is noted under it.
    pub origin: Origin,
    /// Whether an earlier delivery may have died half-way.
    pub redelivered: bool,
    /// The command, which is not itself continued.
    pub command: Box<Command>,
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
    #[error("expected the id of a message: 1 to 128 letters, digits and hyphens")]
    MessageId,
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
    /// The `type` member of this command.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Publish(_) => "activity.published",
            Self::Update(_) => "activity.updated",
            Self::Delete(_) => "activity.deleted",
            Self::Follow(change) if change.state.following => "follow.created",
            Self::Follow(_) => "follow.deleted",
            Self::Part(_) => body::PART,
            Self::Continued(_) => body::CONTINUED,
        }
    }

    /// True for what only the writer sends, to itself.
    #[must_use]
    pub fn is_internal(&self) -> bool {
        matches!(self, Self::Part(_) | Self::Continued(_))
    }

    /// The ids that it is about: what a log line is searched by.
    #[must_use]
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::Publish(publish) => Subject::of(&publish.activity_id, &publish.actor_id),
            Self::Update(update) => Subject::of(&update.activity_id, &update.actor_id),
            Self::Delete(delete) => Subject::of(&delete.activity_id, &delete.actor_id),
            Self::Part(part) => Subject::of(&part.activity_id, &part.actor_id),
            Self::Continued(continued) => continued.command.subject(),
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
            Self::Continued(continued) => continued.command.group(),
        }
    }
}

#[cfg(test)]
mod tests;

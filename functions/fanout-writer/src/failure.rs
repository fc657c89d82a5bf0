//! Why a command was not applied, and whether another delivery helps.

use shared::dynamo::DynamoError;
use shared::message::CommandError;
use shared::queue::SendError;
use shared::values::{ActivityId, PollId, ViewerId};

const NOT_HANDED_ON: &str = "the command queue did not take what was handed on";

/// Why a command was not applied. Its sentence goes into logs.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It is not a command.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The activity's id belongs to another publish.
    #[error("activity_id {0} was published before by another actor or at another published_at")]
    Conflict(ActivityId),
    /// The id of a poll, a battle, a hit or a message belongs to another one.
    #[error("{member} {id} was used before with another content")]
    Taken {
        /// The member with the id.
        member: &'static str,
        /// The id.
        id: String,
    },
    /// All votes of a viewer in one poll are kept, and there are too many.
    #[error(
        "viewer {viewer_id} has changed their mind in poll {poll_id} so often that no vote fits any more: \
         all of them together have room for {most} bytes"
    )]
    Full {
        /// Who votes.
        viewer_id: ViewerId,
        /// The poll.
        poll_id: PollId,
        /// How many bytes of votes there is room for.
        most: usize,
    },
    /// DynamoDB failed.
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// The queue did not take what was handed on.
    #[error("{NOT_HANDED_ON}: {0}")]
    Queue(#[from] SendError),
}

impl Failure {
    /// True if no delivery of the same message can end better, as far as anybody can tell.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Command(_) | Self::Conflict(_) | Self::Taken { .. } | Self::Full { .. } => true,
            // The others are repaired sooner or later; the message waits for it.
            Self::Dynamo(_) | Self::Queue(_) => self.is_refusal(),
        }
    }

    /// True if the store or the queue is against this command and no other: its dead letter waits until somebody has
    /// looked, and nothing else does.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Dynamo(error) => error.is_refusal(),
            Self::Queue(error) => matches!(error, SendError::Refused { .. }),
            Self::Command(_) | Self::Conflict(_) | Self::Taken { .. } | Self::Full { .. } => false,
        }
    }

    /// True if nothing is wrong but that it takes longer than there was time. The command is handed on
    /// then: receives count failures, and this is none. (A store that does not answer is told from one
    /// that is slow by the next delivery at the latest, which has all of its time.)
    #[must_use]
    pub fn is_slowness(&self) -> bool {
        use DynamoError::{Contended, DeadlineExceeded, Throttled};
        matches!(self, Self::Dynamo(Throttled | Contended | DeadlineExceeded(_)))
    }

    /// The failure with what may quote the message: for its dead letter, and not for logs.
    #[must_use]
    pub fn unredacted(&self) -> String {
        match self {
            Self::Command(error) => error.unredacted(),
            Self::Dynamo(error) => error.unredacted(),
            Self::Queue(error) => format!("{NOT_HANDED_ON}: {}", error.unredacted()),
            Self::Conflict(_) | Self::Taken { .. } | Self::Full { .. } => self.to_string(),
        }
    }

    /// A short fixed word for metrics and dead letters.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Command(error) => error.reason(),
            Self::Conflict(_) | Self::Taken { .. } => "conflict",
            Self::Full { .. } => "too-many-votes",
            Self::Dynamo(error) => error.reason(),
            Self::Queue(error) => error.reason(),
        }
    }
}

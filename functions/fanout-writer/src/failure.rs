//! Why a command was not applied, and whether another delivery helps.

use shared::history::events::Period;
use shared::history::tenants::{DecideError, TooManyDefinitions};
use shared::platform::dynamo::DynamoError;
use shared::platform::message::CommandError;
use shared::platform::outbound::BusError;
use shared::platform::queue::SendError;
use shared::platform::values::{ActivityId, EventId, PollId, Timestamp, ViewerId};

/// Seconds until a missing table is looked for again. The keeper runs every quarter of an hour.
const NOT_MADE_SECONDS: u16 = 60;
const NOT_HANDED_ON: &str = "the command queue did not take what was handed on";

/// Why a command was not applied. The message goes into logs.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The activity's id belongs to another publish.
    #[error("activity_id {0} was published before by another actor or at another published_at")]
    Conflict(ActivityId),
    /// The id already belongs to another poll, battle, hit or message.
    #[error("{member} {id} was used before with another content")]
    Taken { member: &'static str, id: String },
    /// A viewer has too many votes in one poll; all of them are kept.
    #[error(
        "viewer {viewer_id} has changed their mind in poll {poll_id} so often that this vote does not fit: \
         all of them together have room for {most} bytes"
    )]
    Full {
        viewer_id: ViewerId,
        poll_id: PollId,
        /// How many bytes of votes there is room for.
        most: usize,
    },
    /// The event is of a period that is closed.
    #[error("event {event_id} is of {at}, and events of {period} were taken until {until}")]
    EventTooLate {
        event_id: EventId,
        at: Timestamp,
        period: Period,
        /// When that closed.
        until: Timestamp,
    },
    /// The table of an event's period is not there yet.
    #[error("the table of {0} is not made yet")]
    NotMade(Period),
    /// Another event of the customer has the same id and the same instant.
    #[error("event {event_id} of {at} was recorded before with another name or other properties")]
    EventConflict { event_id: EventId, at: Timestamp },
    /// The command is of the event history, which this stack does not have.
    #[error(
        "the event history is off in this stack: deploy it with History=on, and send this again"
    )]
    HistoryOff,
    /// A tenant has as many definitions as it may have.
    #[error("{0}")]
    TooManyDefinitions(#[from] TooManyDefinitions),
    #[error(transparent)]
    Dynamo(#[from] DynamoError),
    /// The queue did not take what was handed on.
    #[error("{NOT_HANDED_ON}: {0}")]
    Queue(#[from] SendError),
    /// It is in effect, and the bus was not told.
    #[error("the event bus was not told: {0}")]
    Bus(#[from] BusError),
}

impl From<DecideError> for Failure {
    fn from(error: DecideError) -> Self {
        match error {
            DecideError::Dynamo(error) => error.into(),
            DecideError::Bus(error) => error.into(),
        }
    }
}

impl Failure {
    /// True if no delivery of the same message can succeed, as far as is known.
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Command(_)
            | Self::Conflict(_)
            | Self::Taken { .. }
            | Self::Full { .. }
            | Self::EventTooLate { .. }
            | Self::EventConflict { .. }
            | Self::HistoryOff
            | Self::TooManyDefinitions(_) => true,
            // Others are repaired sooner or later; the message waits for that.
            Self::Dynamo(_) | Self::Queue(_) | Self::Bus(_) | Self::NotMade(_) => self.is_refusal(),
        }
    }

    /// True if the store or the queue refuses this command and no other. Its dead letter waits for an operator; nothing else
    /// waits.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Dynamo(error) => error.is_refusal(),
            Self::Queue(error) => matches!(error, SendError::Refused { .. }),
            _ => false,
        }
    }

    /// True if the only problem is time. The command is then handed on: receives count failures, and this is none. (The next
    /// delivery, which has all of its time, tells a store that does not answer from a slow one.)
    pub fn is_slowness(&self) -> bool {
        match self {
            Self::Dynamo(error) => error.is_slowness(),
            Self::Bus(error) => {
                matches!(error, BusError::Throttled | BusError::DeadlineExceeded(_))
            }
            _ => false,
        }
    }

    /// How long to wait for something that is about to be made. The command is handed on, so no receives are used up. This ends
    /// when the period closes, because the event is then too late.
    pub(crate) fn waits(&self) -> Option<u16> {
        matches!(self, Self::NotMade(_)).then_some(NOT_MADE_SECONDS)
    }

    /// The failure with details that may quote the message: for its dead letter, not for logs.
    pub fn unredacted(&self) -> String {
        match self {
            Self::Command(error) => error.unredacted(),
            Self::Dynamo(error) => error.unredacted(),
            Self::Queue(error) => format!("{NOT_HANDED_ON}: {}", error.unredacted()),
            Self::Bus(_)
            | Self::Conflict(_)
            | Self::Taken { .. }
            | Self::Full { .. }
            | Self::EventTooLate { .. }
            | Self::NotMade(_)
            | Self::EventConflict { .. }
            | Self::HistoryOff
            | Self::TooManyDefinitions(_) => self.to_string(),
        }
    }

    /// A short fixed word for metrics and dead letters.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Command(error) => error.reason(),
            Self::Conflict(_) | Self::Taken { .. } => "conflict",
            Self::Full { .. } => "too-many-votes",
            Self::EventTooLate { .. } => "event-too-late",
            Self::EventConflict { .. } => "event-conflict",
            Self::NotMade(_) => "table-missing",
            Self::HistoryOff => "history-off",
            Self::TooManyDefinitions(_) => "too-many-definitions",
            Self::Dynamo(error) => error.reason(),
            Self::Queue(error) => error.reason(),
            Self::Bus(error) => error.reason(),
        }
    }
}

//! The delivery of a command: its deadlines, and what may have happened before.

use std::time::Duration;

use aws_lambda_events::event::sqs::SqsMessage;
use shared::command::{Command, Continued};
use shared::platform::dead_letters::ORIGIN;
use shared::platform::runtime::deadline::Deadline;
use shared::platform::values::{Origin, Timestamp};

/// The time between two notes of progress: a delivery that dies loses at most this much.
pub(crate) const SLICE: Duration = Duration::from_secs(5);
/// The time that is reserved for handing on unfinished work, or giving it up.
const RESERVE: Duration = Duration::from_secs(5);

/// One delivery of a command.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The deadline of its work.
    pub deadline: Deadline,
    /// The deadline for handing unfinished work on, or giving it up.
    pub hard_deadline: Deadline,
    /// From here on it begins nothing more, notes its progress and hands on the rest. This is half of its time, so that
    /// what has begun can end. Work on a slow table is handed on here, so it never uses up receives.
    pub checkpoint_at: Deadline,
    /// The id of the first message with the command. Progress is noted under it.
    pub origin: Origin,
    /// An earlier delivery may have died half-way.
    pub redelivered: bool,
    /// An operator has sent it again: if it is refused, it comes back as the letter that it was.
    pub redriven: bool,
    /// This is work that an earlier delivery has handed on.
    pub continued: bool,
    /// How often the message was received, including this time.
    pub receives: u32,
    /// When it was sent, in unix milliseconds; `0` if unknown.
    pub sent_millis: String,
}

impl Delivery {
    /// The only delivery of a command that came without a message.
    pub fn only(hard_deadline: Deadline) -> Self {
        let time = hard_deadline.remaining();
        let deadline = hard_deadline.within(time - RESERVE.min(time / 4));
        let (checkpoint_at, origin) = (hard_deadline.within(time / 2), Origin::unknown());
        Self {
            deadline,
            hard_deadline,
            checkpoint_at,
            origin,
            redelivered: false,
            redriven: false,
            continued: false,
            receives: 1,
            sent_millis: "0".to_owned(),
        }
    }

    /// True if a message has been delivered before. The receives of a redriven message begin at one again.
    pub(crate) fn is_again(message: &SqsMessage) -> bool {
        receive_count(message) > 1 || message.message_attributes.contains_key(ORIGIN)
    }

    /// The delivery of a message. `first` is its origin, if it went back as it came.
    pub(crate) fn new(
        message: &SqsMessage,
        first: Option<Origin>,
        hard_deadline: Deadline,
    ) -> Self {
        let (receives, redelivered) = (receive_count(message), Self::is_again(message));
        let former = message.message_attributes.get(ORIGIN);
        let redriven = former.is_some();
        // Producers can send that attribute too.
        let former = former.and_then(|value| value.string_value.as_deref()?.parse().ok());
        let origin = former.or(first).or_else(|| message.message_id.as_deref()?.parse().ok());
        let origin = origin.unwrap_or_else(Origin::unknown);
        let sent_millis = sent_millis(message).to_owned();
        Self { origin, redelivered, redriven, receives, sent_millis, ..Self::only(hard_deadline) }
    }

    /// Unwraps a command that is the rest of another one, with its delivery.
    pub(crate) fn open(self, command: Command) -> (Command, Self) {
        match command {
            Command::Continued(Continued { origin, redelivered, command }) => {
                let redelivered = self.redelivered || redelivered;
                (*command, Self { origin, redelivered, continued: true, ..self })
            }
            command => (command, self),
        }
    }

    /// The rest of a command, to be delivered after this.
    pub(crate) fn rest(&self, command: Command) -> Command {
        let (origin, redelivered) = (self.origin.clone(), self.redelivered);
        Command::Continued(Continued { origin, redelivered, command: Box::new(command) })
    }

    pub(crate) fn sent_at(&self) -> Option<Timestamp> {
        let millis = self.sent_millis.parse().ok().filter(|millis| *millis > 0);
        millis.map(Timestamp::from_unix_millis)
    }

    /// True if an earlier delivery may have noted its progress.
    pub(crate) fn may_have_progress(&self) -> bool {
        self.redelivered || self.continued
    }

    /// The time of the next note of progress.
    pub(crate) fn slice(&self) -> Deadline {
        self.checkpoint_at.within(SLICE)
    }
}

/// How often a message was received, including this time.
fn receive_count(message: &SqsMessage) -> u32 {
    let count = message.attributes.get("ApproximateReceiveCount");
    count.and_then(|digits| digits.parse().ok()).unwrap_or(1)
}

/// When a message was sent, in unix milliseconds; `0` if unknown.
pub(crate) fn sent_millis(message: &SqsMessage) -> &str {
    message.attributes.get("SentTimestamp").map_or("0", String::as_str)
}

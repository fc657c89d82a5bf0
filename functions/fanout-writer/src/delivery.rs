//! What a command is delivered with: how long there is for it, and what may have happened before.

use std::time::Duration;

use aws_lambda_events::event::sqs::SqsMessage;
use shared::command::{Command, Continued};
use shared::dead_letters::ORIGIN;
use shared::runtime::deadline::Deadline;
use shared::values::{Origin, Timestamp};

/// How long work goes on before it notes how far it has come: a delivery that dies loses at most this
/// much.
pub(crate) const SLICE: Duration = Duration::from_secs(5);
/// What is kept back for handing on what did not come to its end, or giving it up.
const RESERVE: Duration = Duration::from_secs(5);

/// One delivery of a command.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// By when its work has to end.
    pub deadline: Deadline,
    /// By when it has to be handed on, or given up, if it did not come to its end.
    pub hard_deadline: Deadline,
    /// From when on it begins nothing more, notes how far it has come and hands on the rest: half of
    /// its time, so that what has begun can end. Time is what a slow table takes, so being slow never
    /// uses up receives.
    pub checkpoint_at: Deadline,
    /// The id of the message with which the command came first. Progress is noted under it.
    pub origin: Origin,
    /// An earlier delivery may have died half-way.
    pub redelivered: bool,
    /// An earlier delivery has handed this on.
    pub continued: bool,
    /// How often the message was received, this time included.
    pub receives: u32,
    /// When it was sent, in unix milliseconds; `0` if nobody says.
    pub sent_millis: String,
}

impl Delivery {
    /// The first and only delivery of a command, which came without a message.
    #[must_use]
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
            continued: false,
            receives: 1,
            sent_millis: "0".to_owned(),
        }
    }

    /// The delivery of a message that was received this often.
    pub(crate) fn of(message: &SqsMessage, receives: u32, hard_deadline: Deadline) -> Self {
        // One that was redriven begins to count again, but it has been delivered before.
        let redriven = message.message_attributes.get(ORIGIN);
        let redelivered = receives > 1 || redriven.is_some();
        let first = redriven.and_then(|value| value.string_value.as_deref());
        let origin = first.or(message.message_id.as_deref()).unwrap_or_default();
        let origin = Origin::new(origin.to_owned()).unwrap_or_else(|_| Origin::unknown());
        let sent_millis = sent_millis(message).to_owned();
        Self { origin, redelivered, receives, sent_millis, ..Self::only(hard_deadline) }
    }

    /// The command itself, if it is the rest of one, and the delivery of that.
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

    /// When it was sent, if somebody says.
    pub(crate) fn sent_at(&self) -> Option<Timestamp> {
        let millis = self.sent_millis.parse().ok().filter(|millis| *millis > 0);
        millis.map(Timestamp::from_unix_millis)
    }

    /// True if an earlier delivery may have noted how far it came.
    pub(crate) fn may_have_progress(&self) -> bool {
        self.redelivered || self.continued
    }

    /// Until when to work before noting how far it has come.
    pub(crate) fn slice(&self) -> Deadline {
        self.checkpoint_at.within(SLICE)
    }
}

/// When a message was sent, in unix milliseconds; `0` if nobody says.
pub(crate) fn sent_millis(message: &SqsMessage) -> &str {
    message.attributes.get("SentTimestamp").map_or("0", String::as_str)
}

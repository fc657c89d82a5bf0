//! One message: parse it, apply it, decide what becomes of it, and tell of that in one line.

use aws_lambda_events::event::sqs::SqsMessage;
use shared::command::{Command, CommandError};
use shared::dead_letter::{MAX_RECEIVES, ORIGIN};
use shared::store::StoreError;
use shared::{ActivityId, Deadline};
use tokio::time::Instant;

use crate::Writer;
use crate::dead_letters::SendError;
use crate::ended::{Ended, Ending, Processed};
use crate::fan_out::FanOutEnd;
use crate::line::About;

/// What became of a command that was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// In effect, and with it a fan-out came to its end, unless it had none, or there are other parts.
    Applied(Option<FanOutEnd>),
    /// On record, and its fan-out was handed out in so many parts.
    Split(usize),
    /// A part that has used its time, and sent its rest on.
    Continued,
    /// Older than retention: counted, and written nowhere.
    Expired,
}

/// Why a command was not applied. Its sentence goes into logs.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// It is not a command.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The activity's id belongs to another publish.
    #[error("activity_id {0} was published before by another actor or at another published_at")]
    Conflict(ActivityId),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The queue did not take the parts of a fan-out.
    #[error("the command queue did not take the parts of the fan-out: {0}")]
    Queue(#[from] SendError),
}

impl Failure {
    /// True if no delivery of the same message can end better.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Command(_) | Self::Conflict(_) => true,
            // Whatever is wrong with them is mended sooner or later; the message waits for it.
            Self::Store(_) | Self::Queue(_) => false,
        }
    }

    /// The failure with what may quote the message: for its dead letter, and not for logs.
    #[must_use]
    pub fn in_full(&self) -> String {
        match self {
            Self::Command(error) => error.in_full(),
            Self::Store(error) => error.in_full(),
            Self::Conflict(_) | Self::Queue(_) => self.to_string(),
        }
    }

    /// A short fixed word for metrics and dead letters.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Command(error) => error.reason(),
            Self::Conflict(_) => "conflict",
            Self::Store(error) => error.reason(),
            Self::Queue(_) => "queue-unavailable",
        }
    }
}

impl Writer {
    /// Applies one message and logs, in one line, what became of it.
    pub(crate) async fn process(
        &self,
        id: &str,
        message: &SqsMessage,
        deadline: Deadline,
    ) -> Processed {
        let begun = Instant::now();
        // What this message costs, and none of the others beside it.
        let writer = Self { store: self.store.metered(), ..self.clone() };
        let receives = receive_count(message);
        let body = message.body.as_deref().unwrap_or_default();
        let command = Command::parse(body, self.clock.now());
        let about = About::new(id, receives, command.as_ref().ok());
        // One that was redriven begins to count again, but it has been delivered before.
        let redelivered = receives > 1 || message.message_attributes.contains_key(ORIGIN);
        let outcome = match command {
            Ok(command) => writer.apply(command, redelivered, deadline).await,
            Err(error) => Err(error.into()),
        };
        let ended = match outcome {
            Ok(outcome) => outcome.into(),
            Err(failure) => self.give_up(id, message, receives, &failure, deadline).await,
        };
        let cost = writer.store.tally();
        about.log(&ended, cost, begun.elapsed());
        Processed { command: about.command, ended, cost }
    }

    /// Makes a message that has failed a dead letter, if it is time for that.
    async fn give_up(
        &self,
        id: &str,
        message: &SqsMessage,
        receives: u32,
        failure: &Failure,
        deadline: Deadline,
    ) -> Ended {
        if !failure.is_permanent() && receives < MAX_RECEIVES {
            return Ended::badly(Ending::Failed, "retry later", failure);
        }
        match self.dead_letters.send(id, message, receives, failure, deadline).await {
            Ok(()) if failure.is_permanent() => Ended::badly(Ending::Refused, "refused", failure),
            Ok(()) => Ended::badly(Ending::GivenUp, "gave up", failure),
            // The queue itself will move it, after as many receives as it takes.
            Err(error) => {
                Ended::badly(Ending::Failed, &format!("could not give up: {error}"), failure)
            }
        }
    }

    /// Applies one command. Applying it again, or late, or in another order, ends the same.
    ///
    /// # Errors
    /// [`Failure`]; parts of the command may be in effect even so, and applying it again completes
    /// them.
    pub async fn apply(
        &self,
        command: Command,
        redelivered: bool,
        deadline: Deadline,
    ) -> Result<Outcome, Failure> {
        // In boxes: what the largest of them keeps while it waits is not copied along for all.
        match command {
            Command::Publish(publish) => {
                Box::pin(self.publish(publish, redelivered, deadline)).await
            }
            Command::Update(update) => Box::pin(self.update(update, deadline)).await,
            Command::Delete(delete) => Box::pin(self.delete(delete, redelivered, deadline)).await,
            Command::Follow(change) => Box::pin(self.follow(change, deadline)).await,
            Command::Part(part) => Box::pin(self.part(part, redelivered, deadline)).await,
        }
    }
}

/// How often the message was received, this time included.
fn receive_count(message: &SqsMessage) -> u32 {
    let count = message.attributes.get("ApproximateReceiveCount");
    count.and_then(|digits| digits.parse().ok()).unwrap_or(1)
}

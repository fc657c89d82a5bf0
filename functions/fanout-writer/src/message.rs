//! One message: parse it, apply it, decide what becomes of it, and tell of that in one line.

use aws_lambda_events::event::sqs::SqsMessage;
use shared::command::{Command, CommandError};
use shared::dead_letter::MAX_RECEIVES;
use shared::queue::SendError;
use shared::store::StoreError;
use shared::{ActivityId, Deadline};
use tokio::time::Instant;

use crate::ended::{Ended, Ending, Processed};
use crate::fan_out::FanOutEnd;
use crate::line::About;
use crate::{DeadLetterQueue, Delivery, Writer};

const NOT_HANDED_ON: &str = "the command queue did not take what was handed on";

/// What became of a command that was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// In effect, and with it a fan-out came to its end, unless it had none, or there are other parts.
    Applied(Option<FanOutEnd>),
    /// On record, and its fan-out was handed out in so many parts.
    Split(usize),
    /// Half of the time is gone: how far it has come is noted, and the rest is handed on.
    Continued,
    /// Older than retention: counted, and written nowhere.
    Expired,
    /// A publish that its delete has overtaken: nobody is ever shown it. Counted, because whoever may send
    /// commands can delete ids ahead that others are going to use.
    Suppressed,
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
    /// The queue did not take what was handed on.
    #[error("{NOT_HANDED_ON}: {0}")]
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

    /// True if nothing is wrong but that it takes longer than there was time. The command is handed on
    /// then: receives count failures, and this is none. (A store that does not answer is told from one
    /// that is slow by the next delivery at the latest, which has all of its time.)
    #[must_use]
    pub fn is_slowness(&self) -> bool {
        matches!(self, Self::Store(StoreError::Throttled | StoreError::DeadlineExceeded(_)))
    }

    /// The failure with what may quote the message: for its dead letter, and not for logs.
    #[must_use]
    pub fn in_full(&self) -> String {
        match self {
            Self::Command(error) => error.in_full(),
            Self::Store(error) => error.in_full(),
            Self::Queue(error) => format!("{NOT_HANDED_ON}: {}", error.in_full()),
            Self::Conflict(_) => self.to_string(),
        }
    }

    /// A short fixed word for metrics and dead letters.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Command(error) => error.reason(),
            Self::Conflict(_) => "conflict",
            Self::Store(error) => error.reason(),
            Self::Queue(error) => error.reason(),
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
        let writer = Self {
            store: self.store.metered(),
            commands: self.commands.metered(),
            dead_letters: DeadLetterQueue(self.dead_letters.0.metered()),
            ..self.clone()
        };
        let receives = receive_count(message);
        // One without a body is no command, and cannot be a dead letter either: the queue moves it.
        let body = message.body.as_deref().unwrap_or("");
        let delivery = Delivery::of(message, receives, deadline);
        let opened = self.commands.parse(body, self.clock.now());
        let opened = opened.map(|command| delivery.open(command));
        let about = About::new(id, receives, opened.as_ref().ok().map(|(command, _)| command));
        let outcome = match opened {
            Ok((command, delivery)) => writer.apply_or_hand_on(command, delivery).await,
            Err(error) => Err(error.into()),
        };
        let ended = match outcome {
            Ok(outcome) => outcome.into(),
            Err(failure) => writer.give_up(id, message, receives, &failure, deadline).await,
        };
        let mut cost = writer.store.tally();
        cost.retries += writer.commands.retries() + writer.dead_letters.0.retries();
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

    /// Applies a command. What nothing is wrong with but that the table was too slow for it is handed
    /// on as a whole; this delivery may have stopped anywhere, so the next looks behind it.
    async fn apply_or_hand_on(
        &self,
        command: Command,
        delivery: Delivery,
    ) -> Result<Outcome, Failure> {
        match self.apply(command.clone(), &delivery).await {
            Err(failure) if failure.is_slowness() => {
                let end = delivery.end;
                let rest = Delivery { redelivered: true, ..delivery }.rest(command);
                self.commands.send(&[rest], end).await.map_err(|_| failure)?;
                Ok(Outcome::Continued)
            }
            outcome => outcome,
        }
    }

    /// Applies one command. Applying it again, or late, or in another order, ends the same.
    ///
    /// # Errors
    /// [`Failure`]; parts of the command may be in effect, and applying it again completes them.
    pub async fn apply(&self, command: Command, delivery: &Delivery) -> Result<Outcome, Failure> {
        // In boxes: what the largest of them keeps while it waits is not copied along for all.
        match command {
            Command::Publish(publish) => Box::pin(self.publish(publish, delivery)).await,
            Command::Update(update) => Box::pin(self.update(update, delivery)).await,
            Command::Delete(delete) => Box::pin(self.delete(delete, delivery)).await,
            Command::Follow(change) => Box::pin(self.follow(change, delivery)).await,
            Command::Part(part) => Box::pin(self.part(part, delivery)).await,
            Command::Continued(_) => {
                let (command, delivery) = delivery.clone().open(command);
                Box::pin(self.apply(command, &delivery)).await
            }
        }
    }
}

/// How often the message was received, this time included.
fn receive_count(message: &SqsMessage) -> u32 {
    let count = message.attributes.get("ApproximateReceiveCount");
    count.and_then(|digits| digits.parse().ok()).unwrap_or(1)
}

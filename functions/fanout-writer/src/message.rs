//! One message: parse it, apply it, decide what becomes of it.

use aws_lambda_events::event::sqs::SqsMessage;
use shared::command::{Command, CommandError};
use shared::dead_letter::{MAX_RECEIVES, ORIGIN};
use shared::store::{StoreError, Tally};
use shared::{ActivityId, Deadline};
use tracing::{info, warn};

use crate::Writer;
use crate::dead_letters::SendError;

/// What became of a command that was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// In effect; this much was written to timelines.
    Applied(Tally),
    /// On record, and its fan-out was handed out in so many parts.
    Split(usize),
    /// Older than retention: counted, and written nowhere.
    Expired,
}

/// Why a command was not applied.
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

/// What the queue is told of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Done with: it may be deleted.
    Acknowledged,
    /// Not done: it has to come again.
    Retry,
}

impl Verdict {
    pub(crate) fn is_retry(self) -> bool {
        self == Self::Retry
    }
}

impl Writer {
    /// Applies one message and logs, in one line, what became of it.
    pub(crate) async fn process(
        &self,
        id: &str,
        message: &SqsMessage,
        deadline: Deadline,
    ) -> Verdict {
        let receives = receive_count(message);
        let body = message.body.as_deref().unwrap_or_default();
        // One that was redriven begins to count again, but it has been delivered before.
        let redelivered = receives > 1 || message.message_attributes.contains_key(ORIGIN);
        let failure = match self.apply_body(id, body, redelivered, deadline).await {
            Ok(()) => return Verdict::Acknowledged,
            Err(failure) => failure,
        };
        let (reason, detail) = (failure.reason(), failure.to_string());
        if !failure.is_permanent() && receives < MAX_RECEIVES {
            warn!(message_id = id, reason, receives, "retry later: {detail}");
            return Verdict::Retry;
        }
        match self.dead_letters.send(id, message, receives, &failure, deadline).await {
            Ok(()) => {
                warn!(message_id = id, reason, receives, "gave up: {detail}");
                Verdict::Acknowledged
            }
            // The queue itself will move it, after as many receives as it takes.
            Err(error) => {
                warn!(message_id = id, reason, receives, "could not give up: {error}: {detail}");
                Verdict::Retry
            }
        }
    }

    async fn apply_body(
        &self,
        id: &str,
        body: &str,
        redelivered: bool,
        deadline: Deadline,
    ) -> Result<(), Failure> {
        let command = Command::parse(body, self.clock.now())?;
        let (kind, subject) = (command.type_name(), subject(&command));
        match self.apply(command, redelivered, deadline).await? {
            Outcome::Applied(Tally { entries, sends, .. }) => {
                info!(message_id = id, command = kind, subject, entries, sends, "applied");
            }
            Outcome::Split(parts) => {
                info!(message_id = id, command = kind, subject, parts, "split");
            }
            Outcome::Expired => {
                info!(message_id = id, command = kind, subject, "older than retention");
            }
        }
        Ok(())
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

/// What a log line is searched by.
fn subject(command: &Command) -> String {
    match command {
        Command::Publish(publish) => publish.activity_id.to_string(),
        Command::Update(update) => update.activity_id.to_string(),
        Command::Delete(delete) => delete.activity_id.to_string(),
        Command::Follow(change) => format!("{}>{}", change.follower_id, change.followee_id),
        Command::Part(part) => format!("{} {}", part.activity_id, part.followers),
    }
}

/// How often the message was received, this time included.
fn receive_count(message: &SqsMessage) -> u32 {
    let count = message.attributes.get("ApproximateReceiveCount");
    count.and_then(|digits| digits.parse().ok()).unwrap_or(1)
}

//! Commands onto the queue, ten a call, several calls at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws_sdk_sqs::Client;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use shared::command::Command;
use shared::platform::queue;
use shared::platform::queue::{BATCH, Message, SendError};
use shared::platform::runtime::deadline::Deadline;

use crate::call_timeout::{call_timeout, late};
use crate::failure::Failure;

/// Calls in flight at once.
const IN_FLIGHT: usize = 8;
/// How long to retry once the queue has answered: long enough to restart a stack.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends commands to one queue. Once the queue has accepted a command, it is not sent again. If the answer is lost, it is: that is
/// safe, because a repeated command changes nothing.
#[derive(Debug, Clone)]
pub struct Sender {
    queue: queue::Sender,
    answered: Arc<AtomicBool>,
}

impl Sender {
    /// A sender to the queue with this URL.
    pub fn new(client: Client, url: String) -> Self {
        Self { queue: queue::Sender::new(client, url), answered: Arc::default() }
    }

    /// Sends one command, and returns the id of its message.
    pub async fn send_one(&self, command: &Command) -> Result<String, Failure> {
        self.send_message(&Message::from(command)).await
    }

    /// Sends one message, whatever its body.
    pub async fn send_message(&self, message: &Message) -> Result<String, Failure> {
        let sent = self.queue.send_one(message, self.deadline()).await;
        let id = sent.map_err(|error| self.failure(&error))?;
        self.answered.store(true, Ordering::Relaxed);
        Ok(id)
    }

    /// Sends a few commands.
    pub async fn send(&self, commands: Vec<Command>) -> Result<(), Failure> {
        let messages: Vec<_> = commands.iter().map(Message::from).collect();
        for batch in messages.chunks(BATCH) {
            self.send_batch(batch).await?;
        }
        Ok(())
    }

    /// Sends a stream of commands, in order as far as a standard queue keeps it. Calls `sent` with the number of commands accepted so
    /// far.
    pub async fn send_all(
        &self,
        commands: impl Stream<Item = Result<Command, Failure>>,
        sent: impl Fn(u64),
    ) -> Result<u64, Failure> {
        let messages = commands.map_ok(|command| Message::from(&command));
        let batches = messages.try_ready_chunks(BATCH).map_err(|e| e.1);
        batches
            .map(|batch| async {
                let batch = batch?;
                self.send_batch(&batch).await?;
                Ok(batch.len() as u64)
            })
            .buffered(IN_FLIGHT)
            .try_fold(0, async |total, accepted| {
                sent(accepted);
                Ok(total + accepted)
            })
            .await
    }

    /// Sends messages, and retries as long as the queue is worth waiting for. Returns their ids, in
    /// their order.
    pub async fn send_batch(&self, messages: &[Message]) -> Result<Vec<String>, Failure> {
        let sent = self.queue.send_each(messages, self.deadline()).await;
        let ids = sent.map_err(|error| self.failure(&error))?;
        self.answered.store(true, Ordering::Relaxed);
        Ok(ids)
    }

    /// The deadline of a call and its retries: that of any call until the queue has answered once,
    /// because there may be no stack.
    fn deadline(&self) -> Deadline {
        let answered = self.answered.load(Ordering::Relaxed);
        Deadline::after(if answered { PATIENCE } else { call_timeout() })
    }

    fn failure(&self, error: &SendError) -> Failure {
        let (url, problem) = (self.queue.url(), error.unredacted());
        match error {
            SendError::DeadlineExceeded(_) => {
                Failure::Unreachable(format!("the queue {url} does not answer: {}", late()))
            }
            error if error.is_retryable() => Failure::Unreachable(format!("{url}: {problem}")),
            _ => Failure::Usage(format!("{url}: {problem}")),
        }
    }
}

/// An iterator as the stream that [`Sender::send_all`] takes.
pub fn commands<I>(source: I) -> impl Stream<Item = Result<Command, Failure>>
where
    I: IntoIterator<Item = Result<Command, Failure>>,
{
    stream::iter(source)
}

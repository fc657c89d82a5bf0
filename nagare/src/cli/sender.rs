//! Commands onto the queue, ten a call, several calls at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::operation::send_message_batch::SendMessageBatchError;
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use shared::Deadline;
use shared::command::Command;
use shared::retry::Backoff;

use super::Failure;

/// Messages SQS takes in one call.
const BATCH: usize = 10;
/// Calls under way at once.
const IN_FLIGHT: usize = 8;
/// One call: a queue answers within milliseconds, or something is wrong with this connection.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a queue is waited for that has not answered yet: nobody may be there.
const FIRST_PATIENCE: Duration = Duration::from_secs(5);
/// How long a queue is waited for that has answered before: long enough to restart a stack.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends commands to one queue. A command that was accepted is sent once; one whose answer was lost
/// is sent again, which every command survives.
#[derive(Debug, Clone)]
pub struct Sender {
    client: Client,
    url: String,
    answered: Arc<AtomicBool>,
}

/// A message as it is sent.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub(crate) body: String,
    pub(crate) group: Option<String>,
    pub(crate) attributes: Vec<(&'static str, String)>,
}

impl From<Command> for Outgoing {
    fn from(command: Command) -> Self {
        let group = Some(command.group().to_string());
        Self { body: command.to_body(), group, attributes: Vec::new() }
    }
}

impl Sender {
    /// A sender to the queue with this URL.
    #[must_use]
    pub fn new(client: Client, url: String) -> Self {
        Self { client, url, answered: Arc::default() }
    }

    /// Sends a few commands.
    pub(crate) async fn send(&self, commands: Vec<Command>) -> Result<(), Failure> {
        let messages: Vec<_> = commands.into_iter().map(Outgoing::from).collect();
        for batch in messages.chunks(BATCH) {
            self.send_batch(batch).await?;
        }
        Ok(())
    }

    /// Sends a stream of commands in order, as far as a queue without order keeps it, and tells
    /// `sent` how many have been accepted as it goes.
    pub(crate) async fn send_all(
        &self,
        commands: impl Stream<Item = Result<Command, Failure>>,
        sent: impl Fn(u64),
    ) -> Result<u64, Failure> {
        let batches = commands.map_ok(Outgoing::from).try_ready_chunks(BATCH);
        let batches = batches.map_err(|e| e.1);
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

    /// Sends at most ten messages, and those that were not accepted again.
    pub(crate) async fn send_batch(&self, messages: &[Outgoing]) -> Result<(), Failure> {
        let answered = self.answered.load(Ordering::Relaxed);
        let deadline = Deadline::after(if answered { PATIENCE } else { FIRST_PATIENCE });
        let mut backoff = Backoff::default();
        let mut left: Vec<usize> = (0..messages.len()).collect();
        loop {
            let attempt =
                deadline.within(ATTEMPT_TIMEOUT).bound(self.attempt(messages, &left)).await;
            let problem = match attempt.unwrap_or_else(|_| Err(SendError::no_answer())) {
                Ok(refused) if refused.is_empty() => return Ok(()),
                Ok(refused) => {
                    left = refused;
                    "the queue is busy".to_owned()
                }
                Err(SendError::Refused(why)) => return Err(Failure::Usage(why)),
                Err(SendError::Unreachable(why)) => why,
            };
            let waited = backoff.wait(deadline).await;
            waited
                .map_err(|_| Failure::Unreachable(format!("the queue {}: {problem}", self.url)))?;
        }
    }

    /// One call. Returns the messages that may be sent again.
    async fn attempt(
        &self,
        messages: &[Outgoing],
        which: &[usize],
    ) -> Result<Vec<usize>, SendError> {
        let entries = which.iter().map(|&index| entry(index, &messages[index]));
        let entries = entries.collect::<Result<Vec<_>, _>>()?;
        let call = self.client.send_message_batch().queue_url(&self.url);
        let answer = call.set_entries(Some(entries)).send().await?;
        self.answered.store(true, Ordering::Relaxed);
        if let Some(refused) = answer.failed.iter().find(|failed| failed.sender_fault) {
            let why = refused.message.as_deref().unwrap_or(&refused.code);
            return Err(SendError::Refused(format!("the queue refused a message: {why}")));
        }
        Ok(answer.failed.iter().filter_map(|failed| failed.id.parse().ok()).collect())
    }
}

enum SendError {
    /// Sending it again cannot help.
    Refused(String),
    /// It may or may not have been accepted.
    Unreachable(String),
}

impl From<SdkError<SendMessageBatchError, HttpResponse>> for SendError {
    fn from(error: SdkError<SendMessageBatchError, HttpResponse>) -> Self {
        let SdkError::ServiceError(service) = &error else { return Self::no_answer() };
        let (code, status) = (service.err().code(), service.raw().status().as_u16());
        let said = service.err().message().or(code).unwrap_or("no reason given");
        let busy =
            status >= 500 || status == 429 || code.is_some_and(|code| code.contains("Thrott"));
        match busy {
            true => Self::Unreachable(format!("it is unwell: {said}")),
            false => Self::Refused(format!("the queue refused: {said}")),
        }
    }
}

impl SendError {
    fn no_answer() -> Self {
        Self::Unreachable("it does not answer".to_owned())
    }
}

impl From<aws_sdk_sqs::error::BuildError> for SendError {
    fn from(error: aws_sdk_sqs::error::BuildError) -> Self {
        Self::Refused(error.to_string())
    }
}

fn entry(index: usize, message: &Outgoing) -> Result<SendMessageBatchRequestEntry, SendError> {
    let mut entry = SendMessageBatchRequestEntry::builder()
        .id(index.to_string())
        .message_body(&message.body)
        .set_message_group_id(message.group.clone());
    for (name, value) in &message.attributes {
        let value = MessageAttributeValue::builder().data_type("String").string_value(value);
        entry = entry.message_attributes(*name, value.build()?);
    }
    Ok(entry.build()?)
}

/// An iterator as the stream that [`Sender::send_all`] takes.
pub(crate) fn commands<I>(source: I) -> impl Stream<Item = Result<Command, Failure>>
where
    I: IntoIterator<Item = Result<Command, Failure>>,
{
    stream::iter(source)
}

//! Sending to a queue, over `aws-sdk-sqs`: the one sender of the functions and the command line.
//!
//! A [`Sender`] takes any number of [`Message`]s, cuts them into calls as large as SQS takes, and
//! makes each call again, by the one retry policy ([`crate::platform::runtime::retry`]) and until the [`Deadline`],
//! as long as that can help ([`SendError::is_retryable`]). Of a call that was accepted in part only
//! the rest is sent again. Inside a function the deadline is the invocation's.
//!
//! # Why sending twice is harmless
//!
//! After a reset, a timeout or an incomplete response it is unknown whether a message was accepted. So it is sent again, and may
//! be on the queue twice. SQS itself delivers messages more than once, so everything that is sent here has to tolerate that:
//!
//! * A command of a producer, or of the writer itself, states a fact and makes timelines agree with all facts on record. A second
//!   delivery finds them in agreement ([`crate::social::fanout`] argues why, also for concurrent deliveries).
//! * A dead letter has the id of its message ([`ORIGIN`](crate::platform::dead_letters::ORIGIN)) and is kept under that id, so two copies are
//!   one letter. A body of the greatest length has no room for the id, and is then kept twice.
//!
//! The opposite must not happen: a message is acknowledged only after everything that was made from it has been accepted. An error
//! here leaves it on its queue.

mod batch;
mod batches;
mod error;

use std::collections::HashMap;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use aws_sdk_sqs::Client;
use aws_sdk_sqs::operation::send_message_batch::SendMessageBatchOutput;
use aws_sdk_sqs::types::{MessageAttributeValue, SendMessageBatchRequestEntry};
use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt, stream};

use crate::platform::runtime::deadline::Deadline;
use crate::platform::runtime::retry::Backoff;

pub use batch::{BatchError, message_ids};
pub use error::SendError;

/// Messages that SQS takes in one call.
pub const BATCH: usize = 10;
/// The longest time that a command is in flight: four days on its queue, fourteen on the dead-letter queue.
pub const LONGEST_IN_FLIGHT: Duration = Duration::from_secs(18 * 86_400);
/// Bytes that SQS takes in one call, be it one message or ten: bodies, and names, types and values
/// of attributes.
pub const MAX_BYTES: usize = 1_048_576;
/// The timeout of one attempt. SQS answers within milliseconds, or the connection is broken.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);
/// Calls of one [`Sender::send`] in flight at once.
const IN_FLIGHT: usize = 4;
/// The only type of attribute that is sent.
const TEXT: &str = "String";

/// What is sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    pub body: String,
    pub group: Option<String>,
    /// Names and texts that travel beside the body; no text may be empty.
    pub attributes: Vec<(&'static str, String)>,
    /// The delay in seconds, at most 900; `None` for no delay.
    pub delay_seconds: Option<u16>,
}

/// Sends to one queue. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Sender {
    client: Client,
    url: String,
    retries: Arc<AtomicU64>,
}

impl Message {
    /// A message with only a body.
    pub fn new(body: impl Into<String>) -> Self {
        Self { body: body.into(), ..Self::default() }
    }

    /// Its size for [`MAX_BYTES`].
    pub fn bytes(&self) -> usize {
        bytes(&self.body, &self.attributes)
    }

    fn entry(&self, id: usize) -> Result<SendMessageBatchRequestEntry, SendError> {
        let mut entry = SendMessageBatchRequestEntry::builder()
            .id(id.to_string())
            .message_body(&self.body)
            .set_message_group_id(self.group.clone())
            .set_delay_seconds(self.delay_seconds.map(i32::from));
        for (name, text) in &self.attributes {
            let value = MessageAttributeValue::builder().data_type(TEXT).string_value(text);
            entry = entry.message_attributes(*name, value.build()?);
        }
        Ok(entry.build()?)
    }
}

/// The size of a body with these attributes for [`MAX_BYTES`].
pub(crate) fn bytes(body: &str, attributes: &[(&str, String)]) -> usize {
    let attribute = |(name, text): &(&str, String)| name.len() + TEXT.len() + text.len();
    body.len() + attributes.iter().map(attribute).sum::<usize>()
}

impl Sender {
    /// A sender to the queue with this URL, over a client made from [`crate::platform::dynamo::sdk_config`] (or
    /// a test's).
    pub fn new(client: Client, url: impl Into<String>) -> Self {
        Self { client, url: url.into(), retries: Arc::default() }
    }

    /// The same sender, with a retry count of its own.
    #[must_use]
    pub fn metered(&self) -> Self {
        Self { retries: Arc::default(), ..self.clone() }
    }

    /// The number of calls of this sender and its clones that failed with a retryable error since it was [metered](Self::metered).
    /// They were retried if there was time.
    pub fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends messages, in no particular order, and returns once all of them are accepted.
    ///
    /// # Errors
    /// [`SendError`]: the last error of a call that could not be retried. It does not say which messages were accepted; sending all of
    /// them again is right.
    pub async fn send(&self, messages: &[Message], deadline: Deadline) -> Result<(), SendError> {
        self.send_each(messages, deadline).await.map(|_| ())
    }

    /// The same. Returns the ids of the messages, in their order.
    ///
    /// # Errors
    /// As those of [`Self::send`].
    pub async fn send_each(
        &self,
        messages: &[Message],
        deadline: Deadline,
    ) -> Result<Vec<String>, SendError> {
        let calls = batches::batches(messages).map(|batch| self.send_batch(batch, deadline));
        let calls: Vec<_> = calls.collect();
        stream::iter(calls).buffered(IN_FLIGHT).try_concat().await
    }

    /// Sends one message, and returns its id. If a response was lost, it may be on the queue under other ids, too.
    ///
    /// # Errors
    /// [`SendError`]; the message may have been accepted.
    pub async fn send_one(
        &self,
        message: &Message,
        deadline: Deadline,
    ) -> Result<String, SendError> {
        let ids = self.send_batch(slice::from_ref(message), deadline).await?;
        ids.into_iter().next().ok_or_else(SendError::nothing_said)
    }

    /// Sends the messages of one call, and again those that were not accepted. Returns the ids of
    /// the messages, in their order. Boxed, like calls of tables
    /// ([`Calling`](crate::platform::dynamo::Calling)).
    fn send_batch<'a>(
        &'a self,
        batch: &'a [Message],
        deadline: Deadline,
    ) -> BoxFuture<'a, Result<Vec<String>, SendError>> {
        Box::pin(async move {
            let (mut left, mut backoff) = (batch.iter().enumerate().collect(), Backoff::default());
            let mut ids = vec![String::new(); batch.len()];
            loop {
                let attempted = self.attempt(&mut left, &mut ids, deadline).await;
                let Err(error) = attempted else { return Ok(ids) };
                if !error.is_retryable() {
                    return Err(error);
                }
                self.retries.fetch_add(1, Ordering::Relaxed);
                if backoff.wait(deadline).await.is_err() {
                    return Err(error);
                }
            }
        })
    }

    /// Calls once. Keeps the messages that were not accepted, and sets the ids of the others.
    async fn attempt(
        &self,
        left: &mut Vec<(usize, &Message)>,
        ids: &mut [String],
        deadline: Deadline,
    ) -> Result<(), SendError> {
        let answer = self.call(left, deadline).await?;
        // An entry that is missing in the response counts as not accepted.
        let accepted = answer.successful.into_iter().map(|one| (one.id, one.message_id));
        let mut accepted: HashMap<_, _> = accepted.collect();
        left.retain(|(place, _)| match accepted.remove(&place.to_string()) {
            Some(id) => {
                ids[*place] = id;
                false
            }
            None => true,
        });
        match left.is_empty() {
            true => Ok(()),
            false => Err(SendError::of_entries(&answer.failed)),
        }
    }

    async fn call(
        &self,
        messages: &[(usize, &Message)],
        deadline: Deadline,
    ) -> Result<SendMessageBatchOutput, SendError> {
        let entries = messages.iter().map(|(place, message)| message.entry(*place));
        let entries = entries.collect::<Result<_, _>>()?;
        let call = self.client.send_message_batch().queue_url(&self.url).set_entries(Some(entries));
        // Boxed: the state of an SDK call is kilobytes, and would be copied at every layer.
        match deadline.within(ATTEMPT_TIMEOUT).bound(Box::pin(call.send())).await {
            Ok(answer) => Ok(answer?),
            Err(exceeded) if deadline.remaining().is_zero() => Err(exceeded.into()),
            Err(_) => Err(SendError::Unavailable("no answer in time".to_owned())),
        }
    }
}

//! Lambda's side of a queue: it polls the queue, invokes the handler with batches, and deletes what the handler acknowledged.
//!
//! It is as strict as Lambda. An empty answer acknowledges the whole batch; an empty or unknown id fails the whole batch, and so does
//! an error or a handler that runs out of time. There is one difference: a message that was not acknowledged comes back after a
//! short, growing wait, so that one can watch it, and not after the queue's visibility timeout. `keeps_visibility` restores the
//! timeout.

use std::collections::HashSet;
use std::time::Duration;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent};
use futures::future::join_all;
use shared::platform::runtime::deadline::Deadline;
use tokio::sync::watch;
use tracing::{error, warn};

use super::faults::Deliveries;
use crate::sqs::{Queue, QueueError, ReceivedMessage};

/// The most messages in a batch, as the template sets it.
pub const BATCH: usize = 10;
/// How long one receive waits for a message.
const WAIT: Duration = Duration::from_secs(20);
/// How long a failed message stays hidden at first; it doubles with each receive, up to [`LONGEST`].
const SHORTEST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(30);

/// How a queue is polled.
#[derive(Debug, Clone)]
pub struct EventSource {
    /// The most invocations at the same time.
    pub concurrency: usize,
    /// How long one invocation may take.
    pub timeout: Duration,
    /// True if a message that was not acknowledged stays hidden for the queue's visibility timeout.
    pub keeps_visibility: bool,
    /// What goes wrong on purpose.
    pub faults: Deliveries,
}

impl EventSource {
    /// Polls until `stop` is set, then waits for the invocations in flight.
    pub async fn run<H, F, E>(self, queue: Queue, handler: H, stop: watch::Receiver<bool>)
    where
        H: Fn(SqsEvent, Deadline) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Result<SqsBatchResponse, E>> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        let pollers = (0..self.concurrency).map(|_| async {
            let poller = || self.clone().poll(queue.clone(), handler.clone(), stop.clone());
            while let Err(panic) = tokio::spawn(poller()).await {
                error!("a poller died, and another takes its place: {panic}");
                tokio::time::sleep(SHORTEST).await;
            }
        });
        join_all(pollers).await;
    }

    async fn poll<H, F, E>(self, queue: Queue, handler: H, mut stop: watch::Receiver<bool>)
    where
        H: Fn(SqsEvent, Deadline) -> F + Send + Sync + 'static,
        F: Future<Output = Result<SqsBatchResponse, E>> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        loop {
            let received = tokio::select! {
                biased;
                _ = stop.wait_for(|stopping| *stopping) => return,
                received = queue.receive(BATCH, None, WAIT) => received,
            };
            let outcome = match received {
                Ok(messages) if messages.is_empty() => continue,
                Ok(messages) => self.invoke(&queue, messages, &handler).await,
                Err(failure) => Err(failure),
            };
            if let Err(failure) = outcome {
                error!("the queue failed: {}", failure.unredacted());
                tokio::time::sleep(SHORTEST).await;
            }
        }
    }

    async fn invoke<H, F, E>(
        &self,
        queue: &Queue,
        messages: Vec<ReceivedMessage>,
        handler: &H,
    ) -> Result<(), QueueError>
    where
        H: Fn(SqsEvent, Deadline) -> F,
        F: Future<Output = Result<SqsBatchResponse, E>> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        self.disturb(queue, &messages).await?;
        let event = super::sqs_event::event(queue, &messages);
        if self.faults.duplicates() {
            tokio::spawn(handler(event.clone(), Deadline::after(self.timeout)));
        }
        let work = handler(event, Deadline::after(self.timeout));
        // A task of its own, so that a handler that panics fails its batch and nothing else.
        let answer = tokio::time::timeout(self.timeout, tokio::spawn(work)).await;
        let unfinished = match answer {
            Ok(Ok(Ok(response))) => unfinished(&messages, &response),
            Ok(Ok(Err(failure))) => whole_batch(&messages, &failure),
            Ok(Err(panic)) => whole_batch(&messages, &panic),
            Err(_) => whole_batch(&messages, &"the function timed out"),
        };
        self.acknowledge(queue, &messages, &unfinished)
    }

    /// Injects faults: delays the batch, and lets others receive its messages too.
    async fn disturb(&self, queue: &Queue, messages: &[ReceivedMessage]) -> Result<(), QueueError> {
        if let Some(delay) = self.faults.delay() {
            tokio::time::sleep(delay).await;
        }
        let mut expired = messages.iter().filter(|_| self.faults.expires());
        expired.try_for_each(|message| {
            queue.change_visibility(&message.receipt_handle, Duration::ZERO)
        })
    }

    /// Deletes what was acknowledged, and hides the rest for a while or leaves it hidden.
    fn acknowledge(
        &self,
        queue: &Queue,
        messages: &[ReceivedMessage],
        unfinished: &HashSet<String>,
    ) -> Result<(), QueueError> {
        let (left, done): (Vec<_>, Vec<_>) = messages.iter().partition(|message| {
            unfinished.contains(&message.message_id.to_string()) || self.faults.loses_delete()
        });
        let handles: Vec<_> = done.iter().map(|message| message.receipt_handle).collect();
        queue.delete_batch(&handles)?;
        if self.keeps_visibility {
            return Ok(());
        }
        left.into_iter().try_for_each(|message| {
            let wait = SHORTEST.saturating_mul(1 << message.receive_count.min(10)).min(LONGEST);
            queue.change_visibility(&message.receipt_handle, wait)
        })
    }
}

/// The ids that the answer leaves on the queue.
fn unfinished(messages: &[ReceivedMessage], response: &SqsBatchResponse) -> HashSet<String> {
    let known: HashSet<_> = messages.iter().map(|message| message.message_id.to_string()).collect();
    let reported = response.batch_item_failures.iter().map(|item| item.item_identifier.clone());
    let reported: HashSet<_> = reported.collect();
    if reported.is_subset(&known) {
        return reported;
    }
    whole_batch(messages, &"the answer names a message that is not in the batch")
}

fn whole_batch(messages: &[ReceivedMessage], why: &dyn std::fmt::Display) -> HashSet<String> {
    warn!(messages = messages.len(), "the whole batch failed: {why}");
    messages.iter().map(|message| message.message_id.to_string()).collect()
}

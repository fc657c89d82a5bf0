//! The fan-out writer: takes commands from the queue and makes the timelines agree with them.
//!
//! ```text
//! handle            a batch of messages in, the ids of the unfinished ones out
//!   message         one message: parse, apply, and decide between acknowledged, retry, dead letter
//!     activity      publish, update, delete
//!       fan_out     a page of followers' timelines: spread an entry, or erase it
//!       split       every follower of a large actor, in parts that many invocations work on
//!     follow        follow, unfollow: one actor's outbox in one timeline
//!     dead_letters  what cannot be applied goes to the dead-letter queue with its reason
//!     ended         how it ended
//!     line          what is logged of that
//!   metrics         what is counted of a batch
//! ```
//!
//! Each command first states its fact in the ledger and then makes the timelines agree with what the
//! ledger says by then. Why that ends right whatever happens at the same time is argued in
//! [`shared::store`].

mod activity;
mod dead_letters;
mod ended;
mod fan_out;
mod follow;
mod line;
mod message;
mod metrics;
mod split;

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures::future::join_all;
use shared::store::Store;
use shared::{Clock, Deadline, Metrics, Retention};

pub use dead_letters::{DeadLetterQueue, SendError};
use ended::{Ending, Processed};
pub use fan_out::FanOutEnd;
pub use message::{Failure, Outcome};
pub use split::{CommandQueue, Sizes};

/// What the writer works with. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Writer {
    /// The tables.
    pub store: Store,
    /// Where parts of large fan-outs go.
    pub commands: CommandQueue,
    /// Where commands go that cannot be applied.
    pub dead_letters: DeadLetterQueue,
    /// When a fan-out is cut into parts, and into how large ones.
    pub sizes: Sizes,
    /// How long activities are shown.
    pub retention: Retention,
    /// Where what becomes of commands is counted.
    pub metrics: Metrics,
    /// What time it is.
    pub clock: Clock,
}

/// The event cannot be answered message by message, so the whole batch has to come again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// Without its id a message could not be reported, and not reporting it would lose it.
    #[error("record {0} of the batch has no messageId")]
    MessageWithoutId(usize),
}

impl Writer {
    /// Applies a batch of messages, each on its own. The answer names those that have to be
    /// delivered again; all others are done, or kept as dead letters.
    ///
    /// # Errors
    /// [`BatchError`]: nothing was applied.
    pub async fn handle(
        &self,
        event: SqsEvent,
        deadline: Deadline,
    ) -> Result<SqsBatchResponse, BatchError> {
        let ids = message_ids(&event.records)?;
        let messages = ids.iter().zip(&event.records);
        let processed = join_all(messages.map(|(id, m)| self.process(id, m, deadline))).await;
        metrics::count(&self.metrics, &processed, self.clock.now());
        let mut response = SqsBatchResponse::default();
        let failed = |processed: &Processed| processed.ended.ending == Ending::Failed;
        for (id, _) in ids.iter().zip(&processed).filter(|(_, processed)| failed(processed)) {
            let mut failure = BatchItemFailure::default();
            failure.item_identifier.clone_from(id);
            response.batch_item_failures.push(failure);
        }
        Ok(response)
    }
}

fn message_ids(messages: &[SqsMessage]) -> Result<Vec<String>, BatchError> {
    let ids = messages.iter().enumerate().map(|(index, message)| {
        let id = message.message_id.clone().filter(|id| !id.is_empty());
        id.ok_or(BatchError::MessageWithoutId(index))
    });
    ids.collect()
}

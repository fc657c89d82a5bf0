//! The fan-out writer: takes commands from the queue and makes the timelines agree with them.
//!
//! ```text
//! handle            a batch of messages in, the ids of the unfinished ones out
//!   message         one message: parse, apply, and decide between acknowledged, retry, dead letter
//!     delivery      how long there is for it, and what may have happened before
//!     activity      publish, update, delete
//!       split       every follower: few on the spot, many in parts that many invocations work on
//!       segment     a range of followers, page after page, handed on when time is up
//!       fan_out     some followers' timelines: spread an entry, or erase it, and look again
//!       recheck     what deliveries that died may have left in a range
//!     follow        follow, unfollow: one actor's outbox in one timeline
//!     command_queue the rest of what is long goes back to the queue that commands come from
//!     dead_letters  what cannot be applied goes to the dead-letter queue with its reason
//!     ended         how it ended
//!     line          what is logged of that
//!   metrics         what is counted of a batch
//! ```
//!
//! Nothing that is long ends in failure by being long: half of an invocation's time is for beginning
//! work, the other half for ending what has begun, and what is left goes back to the queue as a message of
//! its own. Receives count failures and nothing else.
//!
//! Each command first states its fact in the ledger and then makes the timelines agree with what the
//! ledger says by then. Why that ends right whatever happens at the same time is argued in
//! [`shared::store`].

mod activity;
mod command_queue;
mod dead_letters;
mod delivery;
mod ended;
mod fan_out;
mod follow;
mod line;
mod message;
mod metrics;
mod recheck;
mod segment;
mod split;

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures::future::join_all;
use shared::store::Store;
use shared::{Clock, Deadline, Metrics, Retention};

pub use command_queue::CommandQueue;
pub use dead_letters::DeadLetterQueue;
pub use delivery::Delivery;
use ended::{Ending, Processed};
pub use fan_out::FanOutEnd;
pub use message::{Failure, Outcome};
pub use split::Sizes;

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

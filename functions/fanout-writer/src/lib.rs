//! The fan-out writer: takes commands from the queue and makes the timelines agree with them.
//!
//! ```text
//! handle            a batch of messages in, the ids of the unfinished ones out
//!   message         one message: parse, apply, and decide between acknowledged, retry, dead letter
//!     delivery      how long there is for it, and what may have happened before
//!     context       what a command is applied with
//!     apply/        one file for each feature, and what dispatches to them
//!     fanout/
//!       start       every follower: few at once, many in segments that many invocations work on
//!       segment     a range of followers, page after page, handed on when time is up
//!       page        some followers' timelines: insert an entry or remove it, and check again
//!       recheck     what deliveries that died may have left in a range
//!     reconcile     one actor's outbox in one timeline
//!     command_queue the rest of what is long goes back to the queue that commands come from
//!     dead_letters  what cannot be applied goes to the dead-letter queue with its reason
//!     disposition   what became of it
//!     log           what is logged of that
//!   metrics         what is counted of a batch
//! ```
//!
//! Nothing that is long ends in failure by being long: half of an invocation's time is for beginning
//! work, the other half for ending what has begun, and what is left goes back to the queue as a message of
//! its own. Receives count failures and nothing else.
//!
//! Each command first states its fact in the ledger and then makes the timelines agree with what the
//! ledger says by then. Why that ends right whatever happens at the same time is argued in
//! [`shared::fanout`].

mod apply;
mod command_queue;
mod context;
mod dead_letters;
mod delivery;
mod disposition;
pub mod env;
mod failure;
mod fanout;
mod log;
mod message;
mod metrics;
mod reconcile;

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent};
use futures::future::{BoxFuture, join_all};
use shared::activities::ChangeLog;
use shared::events::Events;
use shared::facts::Facts;
use shared::ledger::Ledger;
use shared::outbound::Bus;
use shared::projection::Views;
use shared::queue::{BatchError, message_ids};
use shared::rooms::RoomQueues;
use shared::runtime::clock::Clock;
use shared::runtime::deadline::Deadline;
use shared::runtime::hold::Hold;
use shared::runtime::metrics::Metrics;
use shared::timelines::Timelines;
use shared::values::Retention;

pub use command_queue::CommandQueue;
pub(crate) use context::Context;
pub use dead_letters::DeadLetterQueue;
pub use delivery::Delivery;
pub use disposition::{Disposition, FanOutEnd};
pub use failure::Failure;
pub use fanout::Sizes;
pub use metrics::metric_names;
pub use reconcile::Reconciler;

/// What the writer works with. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Writer {
    /// What must not be lost.
    pub ledger: Ledger,
    /// The facts that views are folded from.
    pub facts: Facts,
    /// The views: what was notified of, so that it can be marked.
    pub views: Views,
    /// The timelines.
    pub timelines: Timelines,
    /// Where segments of large fan-outs go.
    pub commands: CommandQueue,
    /// Where commands go that cannot be applied.
    pub dead_letters: DeadLetterQueue,
    /// When a fan-out is cut into segments, and into how large ones.
    pub sizes: Sizes,
    /// How long activities are shown.
    pub retention: Retention,
    /// Where what becomes of commands is counted.
    pub metrics: Metrics,
    /// What time it is.
    pub clock: Clock,
    /// What readers are told of edits by. All that work in one process share it.
    pub change_log: ChangeLog,
    /// The messages that wait for their place in the order of arrival.
    pub room_queues: RoomQueues,
    /// What customers of tenants did.
    pub events: Events,
    /// How long a batch waits before it is acknowledged: that of the readers.
    pub hold: Hold,
    /// What other systems are told by.
    pub bus: Bus,
}

impl Writer {
    /// Applies a batch of messages, each on its own. The answer names those that have to be
    /// delivered again; all others are done, or kept as dead letters. It comes a [hold](shared::runtime::hold)
    /// after the last write that timelines show, so that pages are of one moment.
    ///
    /// In a box, so that all of it is compiled here and not again in every program that awaits it.
    ///
    /// # Errors
    /// [`BatchError`]: nothing was applied.
    pub fn handle(
        &self,
        event: SqsEvent,
        deadline: Deadline,
    ) -> BoxFuture<'_, Result<SqsBatchResponse, BatchError>> {
        Box::pin(async move {
            let ids =
                message_ids(event.records.iter().map(|message| message.message_id.as_deref()))?;
            let messages = ids.iter().zip(&event.records);
            let handled = join_all(messages.map(|(id, m)| self.message(id, m, deadline))).await;
            if handled.iter().any(|handled| handled.shows) {
                self.hold.wait().await;
            }
            let refused = self.bus.take_refused();
            metrics::count(&self.metrics, &handled, refused, self.clock.now());
            let mut response = SqsBatchResponse::default();
            for (id, _) in ids.into_iter().zip(&handled).filter(|(_, h)| h.disposition.is_retry()) {
                let mut failure = BatchItemFailure::default();
                failure.item_identifier = id;
                response.batch_item_failures.push(failure);
            }
            Ok(response)
        })
    }
}

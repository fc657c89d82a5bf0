//! The fan-out writer: takes commands from the queue and makes timelines agree with them.
//!
//! ```text
//! handle            a batch of messages in, the ids of the unfinished ones out
//!   copies          the same command several times in a batch
//!   message         one message: parse, apply, and decide between acknowledged, retry, dead letter
//!     delivery      its deadlines, and what may have happened before
//!     context       the handles that it may use
//!     apply/        one file for each feature, and the dispatch to them
//!     fanout/
//!       start       every follower: few at once, many in segments that many invocations work on
//!       segment     a range of followers, page after page, handed on when time is up
//!       page        some followers' timelines: insert an entry or remove it, and check again
//!       recheck     what crashed deliveries may have left in a range
//!     command_queue the rest of long work goes back to the queue of commands
//!     dead_letters  what cannot be applied goes to the dead-letter queue with its reason
//!     disposition   the outcome of the message
//!     log           the log line about it
//!   metrics         the metrics of a batch
//! ```
//!
//! Long work never fails for being long. Half of an invocation's time is for beginning work, the other half for ending what
//! has begun, and the rest of the work goes back to the queue as a message of its own. Receives count failures only.
//!
//! Each command first states its fact in the ledger, and then makes timelines agree with what the ledger says now.
//! [`shared::fanout`] argues why that ends right whatever happens at the same time.

mod apply;
mod command_queue;
mod context;
mod copies;
mod dead_letters;
mod delivery;
mod disposition;
pub mod env;
mod failure;
mod fanout;
mod log;
mod message;
mod metrics;

use aws_lambda_events::event::sqs::{BatchItemFailure, SqsBatchResponse, SqsEvent, SqsMessage};
use futures::future::{BoxFuture, join_all};
use shared::activities::ChangeLog;
use shared::events::Events;
use shared::facts::Facts;
use shared::follows::Parking;
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
use copies::{copies, shared};
pub use dead_letters::DeadLetterQueue;
pub use delivery::Delivery;
pub use disposition::{Disposition, FanOutEnd};
pub use failure::Failure;
pub use fanout::FanOutLimits;
use message::Handled;
pub use metrics::metric_names;

/// The writer. Made once; every invocation borrows it.
#[derive(Debug, Clone)]
pub struct Writer {
    /// What must not be lost.
    pub ledger: Ledger,
    /// The facts that views are folded from.
    pub facts: Facts,
    /// The views, which say what viewers were notified of when they mark it as read.
    pub views: Views,
    pub timelines: Timelines,
    /// Where segments of large fan-outs go.
    pub commands: CommandQueue,
    /// The queue for commands that cannot be applied.
    pub dead_letters: DeadLetterQueue,
    pub limits: FanOutLimits,
    pub retention: Retention,
    /// Whether viewers are parked. Clones share what they remember of who is not.
    pub parking: Parking,
    pub metrics: Metrics,
    pub clock: Clock,
    /// The change log that tells readers of edits. Shared by all deliveries of a process.
    pub change_log: ChangeLog,
    /// The messages that wait to be appended to the arrivals of their room.
    pub room_queues: RoomQueues,
    pub events: Events,
    /// How long a batch waits before it is acknowledged; the same as the readers' hold.
    pub hold: Hold,
    pub bus: Bus,
}

impl Writer {
    /// Applies a batch of messages, each on its own. The response names those that have to be delivered again; all others are
    /// done, or kept as dead letters. It is returned a [hold](shared::runtime::hold) after the last write that timelines show, so
    /// that pages are of one moment.
    ///
    /// Boxed, so that it is compiled here once and not in every program that awaits it.
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
            let handled = self.messages(&ids, &event.records, deadline).await;
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

    /// Handles messages side by side, and then those that are copies of one of them.
    async fn messages(
        &self,
        ids: &[String],
        messages: &[SqsMessage],
        deadline: Deadline,
    ) -> Vec<Handled> {
        let copies = copies(messages);
        let first =
            join_all(ids.iter().zip(messages).zip(&copies).map(async |((id, m), of)| match of {
                None => Some(self.message(id, m, deadline).await),
                Some(_) => None,
            }));
        let first = first.await;
        let shared = |of: &Option<usize>| shared(&first[(*of)?].as_ref()?.disposition);
        let shared: Vec<_> = copies.iter().map(shared).collect();
        let all = ids.iter().zip(messages).zip(first.into_iter().zip(shared));
        join_all(all.map(async |((id, m), handled)| match handled {
            (Some(handled), _) => handled,
            (None, Some(disposition)) => self.copy(id, m, disposition),
            (None, None) => self.message(id, m, deadline).await,
        }))
        .await
    }
}

//! The fan-out writer: takes commands from the queue and makes timelines agree with them.
//!
//! ```text
//! writer            the state that every invocation borrows
//! batch             a batch of messages in, the ids of the unfinished ones out
//!   merging         commands of a batch that make no difference next to others of it
//!   shares          how much of a process's time one person has
//!   receipts        messages whose producers wait for them
//!   message         one message: parse, apply, and decide between acknowledged, retry, dead letter
//!     delivery      its deadlines, and what may have happened before
//!     context       the handles that it may use
//!     apply/        one file for each feature, and the dispatch to them
//!     fanout/
//!       start       every follower: few at once, many in segments that many invocations work on
//!       segment     a range of followers, page after page, handed on when time is up
//!       page        some followers' timelines: insert an entry or remove it, and check again
//!       turn        a repetition waits for the delivery before it
//!       recheck     what crashed deliveries may have left in a range
//!     command_queue the rest of long work goes back to the queue of commands
//!     dead_letters  what cannot be applied goes to the dead-letter queue with its reason
//!     refusal       a command that can never be applied: is it a letter, or only counted?
//!     disposition   the outcome of the message
//!     log           the log line about it
//!   metrics         the metrics of a batch
//! ```
//!
//! Long work never fails for being long. Half of an invocation's time is for beginning work, the other half for ending what
//! has begun, and the rest of the work goes back to the queue as a message of its own. Receives count failures only.
//!
//! Each command first states its fact in the ledger, and then makes timelines agree with what the ledger says now.
//! [`shared::social::fanout`] argues why that ends right whatever happens at the same time.

mod apply;
mod batch;
mod command_queue;
mod context;
mod dead_letters;
mod delivery;
mod disposition;
pub mod env;
mod failure;
mod fanout;
mod log;
mod merging;
mod message;
mod metrics;
mod receipts;
mod refusal;
mod shares;
mod writer;

pub use command_queue::CommandQueue;
pub use dead_letters::DeadLetterQueue;
pub use delivery::Delivery;
pub use disposition::{Disposition, FanOutEnd, NotGivenUp};
pub use failure::Failure;
pub use fanout::Turns;
pub use fanout::limits::FanOutLimits;
pub use metrics::metric_names;
pub use shares::Shares;
pub use writer::Writer;

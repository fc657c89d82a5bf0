//! The common part of the projectors: a batch of one shard in, the first record to be delivered again out.
//!
//! ```text
//! projection     the tables and queues of a projector, and the response to a batch
//! stream_record  what Lambda hands over
//! outcome        the outcome of the changes of one subject
//! dead_letters   what a view cannot fold goes to the dead-letter queue
//! failure        why changes have to be delivered again
//! metrics        the metrics of a batch
//! ```
//!
//! A projector groups the changes of a batch by [`Subject`] and folds them. Everything after that is here: [`Projection::answer`] sends
//! the dead letters, notes the checkpoint, counts, and answers Lambda. Why a change is folded exactly once, however often it comes, is
//! argued in [`shared::platform::projection`].

mod dead_letters;
mod failure;
mod metrics;
mod outcome;
mod projection;
mod stream_record;

pub use dead_letters::{DeadLetterQueue, LetterOf};
pub use failure::Failure;
pub use metrics::metric_names;
pub use outcome::{Outcome, Subject};
pub use projection::{Projection, first_failed};
pub use stream_record::{EventError, Failed, Record, StreamEvent, StreamResponse};

/// For [`log_outcome!`], wherever it is used.
#[doc(hidden)]
pub use tracing;

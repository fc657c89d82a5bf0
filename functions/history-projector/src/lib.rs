//! The history projector: folds the streams of tenants' events into summaries, and decides on customers by rules.
//!
//! ```text
//! projector       the state that every invocation borrows
//! batch           a batch of one shard in, the first record to be delivered again out
//!   tenant_events   folds events into the views of their customers, names and periods
//!   counted         the views of a batch
//!   rules           decides on the counts of customers that were folded
//!   metrics         decisions that could not be made
//! ```
//!
//! The period keeper maps the streams of the tables of events to it. It also receives the rows of the facts' stream that
//! [bring back](shared::platform::projection::redriven) a change that a view could not fold, and folds those of its own views.
//!
//! The library `function-stream` has the part that it shares with the projector of the facts: records of a batch, dead letters, the answer. Both read the stream of the facts. This one is given a part of it, so it knows the shards there by other names than
//! the projector, and neither takes marks or checkpoints of the other for its own.
//!
//! An event that its customer has no room for is refused: it is counted with the write of its view, and the first of a day become
//! dead letters.

mod batch;
mod counted;
pub mod env;
mod metrics;
mod projector;
mod rules;
mod tenant_events;

pub use metrics::metric_names;
pub use projector::Projector;

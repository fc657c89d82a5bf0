//! The projector: folds the stream of facts into views.
//!
//! ```text
//! projector   the state that every invocation borrows
//! batch       a batch of one shard in, the first record to be delivered again out
//!   fold_target   what a change is about
//!   likes         folds changes of activities
//!   blocks        folds into views with blocks: polls, battles
//!   battles       tells the bus of battles that are over
//!   single        folds into views without anything beside them
//! ```
//!
//! The library `function-stream` has the part that it shares with the projector of history: records of a batch, dead letters, the answer.
//! Redriven changes of a view of history belong to that projector, and are skipped here.
//!
//! Why a change is folded exactly once, however often it comes, is argued in [`shared::platform::projection`].
//!
//! The changes of a batch are grouped by subject, and each view is read and written once, whatever the number of
//! its changes. If a view cannot be written, the batch comes again from its first change on, and folded changes are
//! skipped. A change that no delivery can fold is set aside as a dead letter, and blocks nothing.

mod batch;
mod battles;
mod blocks;
pub mod env;
mod fold_target;
mod likes;
mod projector;
mod single;

pub use projector::Projector;

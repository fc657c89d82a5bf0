//! Projections: views that are folded from facts.
//!
//! ```text
//! facts    one row for what a command states, in a table with a stream     facts, and what became of each
//! fold     (a view, a change of one fact) -> the view after it             pure, one for each projection
//! views    what readers are shown, and how far each view has come          this module
//! ```
//!
//! A command writes one row and is done. The stream of that table carries each change of a row, before and after,
//! to the projector, which folds it into the views that depend on it.
//!
//! # Exactly once
//!
//! A change is in the stream once. It reaches the projector once or more: a batch is delivered again after a
//! failure, cut in half, or by a mapping that was made again and starts at the horizon of the stream, a day
//! back. So each view stores its [high-water marks](HighWaterMarks) in the same write: for each shard of the
//! stream, the sequence number of the last change that it has folded.
//!
//! * Within a shard, changes come in the order of their sequence numbers, one batch at a time. So a change is folded
//!   already if and only if its number is not above the mark of its shard.
//! * A view is written under the condition that nobody has written it since it was read. Two invocations may fold
//!   into one view: from two shards, or from one shard if an attempt was given up and goes on anyway. One of them is
//!   refused, reads the view again, and folds what is still above the marks.
//! * All changes of one row are in one shard, or in a shard and its children, which begin when it has ended. So
//!   they are folded in the order in which they happened, and a fold needs no more than the row before and after.
//! * A change that cannot be folded, because a row is not what its feature writes or the view itself cannot be read,
//!   is [set aside](SetAside): the view notes it in the write that raises its mark above it, and the batch is
//!   acknowledged only once its dead letter was sent. So a change is either folded, or a dead letter that can be
//!   [redriven], never both.
//! * A mark and a checkpoint record the progress of one function, so each function knows a shard by a name of its own. The projector is
//!   given all of the facts' stream, and knows its shards by their ids. The history projector is given the streams of events, and
//!   of that of the facts only [rows that bring changes back](redriven): it knows shards by their stream and id.
//! * A mark is kept for [two days](high_water::KEPT), twice as long as the stream keeps changes, whatever
//!   became of the shard. A mark outlives its shard, because a shard that has ended may be read again from the horizon.
//!
//! A view has a mark for each shard from which it took a change within two days, of thirty bytes. A shard lives
//! for four hours or so, so a table of four partitions has 48 shards in that time, and a view that changes all
//! the time would have 1.5 KB of marks. One that changes now and then has a few. Where there would be more than 8, those are
//! dropped that a [checkpoint](checkpoints) says as well.
//!
//! # What is refused
//!
//! A change can be [refused](Fold::refuses), because its producer has sent too much. The transaction that raises the mark above it
//! counts it, so it counts once ([`crate::history::refusals`]). If it has a letter, the view notes so until that is sent.
//!
//! Whatever is folded is weighed before it is written, so DynamoDB has nothing to refuse. If it refuses
//! permanently anyway, the write is halved, down to one change. That change is set aside with the reason. If even
//! that cannot be written, because the view itself is refused, the change becomes a dead letter that the view does
//! not know of. Everything else continues.
//!
//! # Versions
//!
//! A view is written whole. Attributes that a version does not know are of a later one that runs beside it, and are
//! carried along ([`State::ATTRIBUTES`]).

pub(crate) mod barrier;
mod blocks;
pub mod caller_part;
mod change;
pub mod checkpoints;
mod command;
mod high_water;
pub mod redriven;
mod set_aside;
mod totals;
mod view;
mod views;
pub mod waiting;

pub use barrier::{Barrier, BarrierProgress, Raised};
pub use blocks::{BlockRange, Blocks, DerivedItem, PendingItems, SideWrites};
pub use caller_part::{CountedValue, Late, Note, Own, Recent};
pub use change::{Change, Sequence, SequenceError, Shard, ShardError};
pub use command::UnfoldedChange;
pub use high_water::{HighWaterMarks, KEPT};
pub use redriven::Redriven;
pub use set_aside::SetAside;
pub use view::{Fold, Folded, Reader, Refused, State, Unfolded, View};
pub use views::{Views, Write};
pub use waiting::{Waiting, weight};

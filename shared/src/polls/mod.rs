//! Polls: a question, its choices, and exact sums of the votes.
//!
//! ```text
//! commands   poll.opened, poll.closed, vote.cast, vote.withdrawn
//! facts      what was opened; when each actor ended it; one row for a viewer and a poll
//! view       one item for a poll: how many votes each choice has
//! ```
//!
//! # Votes
//!
//! One vote a viewer counts: the latest within the poll's time. When that time is over is not known for good as long
//! as somebody may close the poll: what was the latest vote may turn out to lie behind the end, and an earlier one counts
//! again. So the row of a viewer keeps each vote with its instant ([`History`]), and a vote is one write
//! that means the same however often it is repeated and in whatever order votes come. The rows are under the
//! viewers: votes of one poll are spread over as many partitions as the table has.
//!
//! A row has room for some four thousand changes of mind (`history.rs`). A vote beyond becomes a dead letter that says
//! so, and those that are recorded count.
//!
//! # Sums
//!
//! A view cannot ask the rows again, five million of them, when the end comes forward. It keeps instead at which
//! instants sums have changed (`events.rs`), so it takes back what lies behind the new end without any row. Events add
//! up in any order, so the sums are those of some set of votes at every moment, and of all of them once all are folded.
//!
//! Votes that come before their poll wait in blocks beside its view ([`crate::projection::Waiting`]).

mod command;
mod counting_vote;
mod definition;
mod element;
pub mod erasure;
mod events;
mod history;
pub mod keys;
mod recording;
mod recount;
mod store;
mod tally;

pub use command::{PollClosed, PollOpened, Vote};
pub use definition::{Definition, Rules};
pub use history::{BYTES, Cast, ERASED_AT, History, VOTES};
pub use keys::PollRow;
pub use recording::Recorded;
pub use recount::{EventDigest, Recount, Sums};
pub use store::{Poll, Polls};
pub use tally::PollTally;

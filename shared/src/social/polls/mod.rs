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
//! One vote of a viewer counts: the latest within the poll's time. The end is not final while the poll may be closed early: the
//! latest vote may then lie after the end, and an earlier one counts again. So the row of a viewer keeps each vote with its instant
//! ([`VoteHistory`]), and a vote is one write, or part of one with others of the same row, that is idempotent and order-independent. The partition key of a row is the viewer, so the
//! votes of one poll are spread over all partitions of the table.
//!
//! A row has room for about four thousand votes (`history.rs`). A further vote becomes a dead letter that says so, and the recorded
//! ones count.
//!
//! # Sums
//!
//! When a poll is closed early, a view cannot read five million rows again. Instead it stores at which instants sums have changed
//! (`sum_changes.rs`), and reverts what lies after the new end without reading any row. Events add up in any order, so at every moment the
//! sums are those of some set of votes, and of all votes once all are folded.
//!
//! Votes that come before their poll wait in blocks beside its view ([`crate::platform::projection::Waiting`]).

mod ballot;
mod command;
mod counting_vote;
mod definition;
pub mod erasure;
pub mod keys;
mod recording;
mod recount;
mod store;
mod sum_changes;
mod tally;
mod vote_encoding;

pub use ballot::{BYTES, Cast, ERASED_AT, RECORDED_AT, VOTES, VoteHistory};
pub use command::{PollClosed, PollOpened, Vote};
pub use definition::{PollDefinition, PollRules};
pub use keys::PollRow;
pub use recording::{RecordedVote, VoteQueues};
pub use recount::{EventDigest, Recount, Sums};
pub use store::{Poll, Polls};
pub use tally::PollTally;

//! The social backend: timelines, likes, notifications, polls, battles, tags, rooms and profiles. Each feature has its commands, its
//! rules, its keys and its part of the tables.
//!
//! ```text
//! activities     posts and live streams, with their edits and deletes
//! follows        follow edges, and the actors hidden from each viewer
//! timelines      entries, written and read
//! fanout         progress of long fan-outs, and the proof that every race ends right
//! profiles       one profile for each person
//! likes          likes, each viewer's list of them, and counts
//! notifications  unread and read notifications of likes
//! polls          polls, votes and sums
//! battles        battles, hits and the last hit
//! tags           tagged people, and each person's list of activities
//! rooms          messages, members and arrivals
//! ```
//!
//! Only `timelines`, `fanout` and `notifications` see other features, and no two see each other in a circle.

pub mod activities;
pub mod battles;
pub mod fanout;
pub mod follows;
pub mod likes;
pub mod notifications;
pub mod polls;
pub mod profiles;
pub mod rooms;
pub mod tags;
pub mod timelines;

/// The work of a process that waits for a group commit. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct WriteQueues {
    /// Messages, by room.
    pub rooms: rooms::RoomQueues,
    /// Votes, by row.
    pub votes: polls::VoteQueues,
}

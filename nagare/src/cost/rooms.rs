//! What a message in a room needs of the tables, the queue and the functions, and a page of them.

use super::sizes;
use super::work::{Work, command, read_units};

/// The lengths of ids where nobody gives them.
const ID: f64 = 24.0;

/// The lengths of a message's members.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Message {
    /// Of the room's id.
    pub room: f64,
    /// Of its own.
    pub id: f64,
    /// Of its author's.
    pub author: f64,
    /// Of its payload.
    pub payload: f64,
}

impl Message {
    /// One with ids of ordinary length.
    #[must_use]
    pub fn ordinary(author: f64, payload: f64) -> Self {
        Self { room: ID, id: ID, author, payload }
    }
}

/// A message: its id is claimed, the marker of its delete is looked for, and its two rows are put. What the writer knows
/// of the room it does not ask for again.
#[must_use]
pub fn message(message: &Message) -> Work {
    let stored = [
        sizes::message_claim(message),
        sizes::message_row(message),
        sizes::message_of_author(message),
    ];
    command(&stored, 3.0)
}

/// A page of N messages of a quiet room, and the one beyond it: its query, and beside that what is known of the room.
#[must_use]
pub fn page(messages: f64, each: &Message) -> Work {
    let reads = read_units(messages * sizes::message_row(each)) + 1.0;
    Work { reads, rounds: 1.0, ..Work::default() }
}

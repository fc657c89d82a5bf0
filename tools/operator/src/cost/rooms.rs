//! What a message in a room needs of the tables, the queue and the functions, and a page of them.

use super::sizes::{self, Message};
use super::work::{Work, command, read_units};

/// What a message reads: the room, what is there of it and the marker of its delete, the last row of arrivals and what
/// became of its message.
const READS: f64 = 7.0;

/// A message: its id is claimed, it is put into the order of arrival, and its two rows are put. Of those that come at
/// once several are put together, which is not counted on.
pub fn message(message: &Message) -> Work {
    let stored = [
        sizes::message_claim(message),
        sizes::message_arrival(message),
        sizes::message_row(message),
        sizes::message_of_author(message),
    ];
    Work { reads: READS, ..command(&stored, 8.0) }
}

/// A page of N messages of a quiet room, and the one beyond it: its query, twice what is known of the room, the last
/// arrival and what became of it.
pub fn page(messages: f64, each: &Message) -> Work {
    let reads = read_units(messages * sizes::message_row(each)) + 4.0;
    Work { reads, rounds: 2.0, ..Work::default() }
}

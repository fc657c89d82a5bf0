//! Rooms: what people say to each other, in the order of `at`.
//!
//! ```text
//! command      message.posted, message.deleted, room.joined, room.left
//! keys         the keys of rooms in the ledger
//! shards       the number of partitions that a room is spread over
//! arrivals     the order in which messages arrive
//! appending    appends messages to it
//! posting      writes claims and rows, and deletes
//! membership   who is in a room
//! reading      messages in order, of a room or of one author in it
//! record       everything on record of a message, and what of it is wrong
//! repair       repairs rooms for audits
//! ```
//!
//! # What is written
//!
//! A message has four items. The *claim* says whose its id is. The *arrival* is its entry in the order of arrival. The *row* is the
//! message in the room, with everything that readers are shown. The *author's row* is the same under its author, so that the
//! messages of one author in a room are one query. A delete leaves a *marker* with the name of its sender, turns both rows into
//! tombstones, and removes the message from its arrival.
//!
//! # No order of arrival loses a message, or brings one back
//!
//! ```text
//! post     1 claim, if nobody has    2 read the marker    3 add the arrival    4 put both rows, where nothing is
//! delete   1 put the marker          2 read the claim     3 if it is the same author's: tombstones over both rows, then
//!                                                           take it out of its arrival
//! ```
//!
//! Reads are strongly consistent. Every step may be done twice, and a delivery may end between any two.
//!
//! * **The first stays.** Only one post can put the claim. A post with another author or another instant is refused. A post
//!   that only differs in its payload has no effect, by the digest in the claim. So all deliveries that reach step 4 write the
//!   same rows.
//! * **Nothing is lost.** A post is acknowledged after step 4, or because a marker of its own author is there.
//! * **Nothing comes back.** Suppose that a delivery of the post has found no marker in step 2. Then the marker was put after
//!   that, and the claim before it. So the delete finds the claim, and puts tombstones, which no step 4 replaces. A delivery that
//!   comes after the marker does not reach step 3. A delivery whose row is refused by a tombstone removes its arrival itself; if
//!   it dies before that, its redelivery or the writer of the next arrival does.
//! * **Tombstones expire.** They are for deliveries that have passed step 2 and are about to write, and no invocation lives as
//!   long as [`TOMBSTONES_KEPT`]. Marker and claim stay permanently: an id stays taken after its delete.
//! * **Only the author can delete.** A marker has its sender in its key, and only the marker of the author is read.
//!
//! # A busy room
//!
//! A partition takes a thousand small writes a second, and DynamoDB does not split one whose sort keys only grow. So a
//! room has *shards*, partitions over which messages are spread by a hash of their ids: one at first, and twice as
//! many whenever the put of a row is refused because its partition is hot, up to [`Shards::MOST`]. The number is in the item of
//! the room. It only grows, and it is increased before any message is written to the new shards. A reader reads it strongly
//! consistently together with its query of the first shard, which is all that a quiet room costs. A writer reads it with each
//! message and does not cache it, so it uses the table as it is, even after a restore. A writer that has read a smaller number
//! just before it grew writes to shards that every reader reads. So no reader misses a message. The claim has the number of shards
//! that a message was spread over, so that all its deliveries and its delete find the same row.
//!
//! A message that was refused is retried in its claimed shard; later messages are spread.
//!
//! *Why shards never become fewer.* A reader could skip a shard only if it cannot contain what the reader asks for. The `at` of a
//! message is set by its sender: a message from before the room grew may be posted long after, and is spread like all others by
//! then. So the instant of the growth does not bound what a shard contains. Spreading a message by the number of shards at its
//! `at` would block a backlog: in a room that was not busy then, all of it would go to one partition. And to use fewer shards from
//! some instant on, all writers would have to know it before anybody posts a message with a later `at`, so their caches would
//! have to expire and their clocks to agree. That costs more than it saves: fifteen queries of a unit or two for a page of a room
//! that was once very busy.
//!
//! # Private rooms
//!
//! A room becomes private, permanently, when somebody joins it or posts a private message: even if a leave has overtaken the join,
//! if the message was refused or deleted, and after the last member has left. Only its present members can then read it. They can
//! read all of it, including messages from before they joined. Producers decide who may *write*, as everywhere.
//!
//! A private message first makes the room private, before anything of it is written. A reader fixes the bound of a page by an
//! arrival, and checks who may read after that, so if it finds the room open, the page has nothing private.
//!
//! A join first makes the room private, and then makes the viewer a member. Of the commands about one viewer and room the latest
//! wins, and on a tie the leave.

mod appending;
mod arrivals;
mod command;
pub mod keys;
mod membership;
mod posting;
mod reading;
mod record;
mod repair;
mod shards;

pub use appending::RoomQueues;
pub use arrivals::{Arrival, ArrivalPosition, ArrivalRow, ArrivalState, Arrivals, RowOutcome};
pub use command::{MembershipChange, MessageDeleted, MessagePosted};
pub use keys::{MessageKey, RoomItem};
pub use membership::Entrance;
pub use posting::{Claimed, Posted, TOMBSTONES_KEPT};
pub use reading::{Effort, MessageList, MessagesQuery, RoomMessage, StoredRow};
pub use record::{OnRecord, Reason, WrongRow};
pub use shards::{Room, Shards};

use crate::platform::ledger::Ledger;

/// The messages and memberships of rooms. Cheap to clone. It caches nothing.
#[derive(Debug, Clone)]
pub struct Rooms {
    ledger: Ledger,
    queues: RoomQueues,
}

impl Rooms {
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone(), queues: RoomQueues::default() }
    }

    /// The same rooms, whose messages wait in these queues.
    #[must_use]
    pub fn queueing(self, queues: &RoomQueues) -> Self {
        Self { queues: queues.clone(), ..self }
    }
}

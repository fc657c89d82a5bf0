//! Rooms: what people say to each other, in the order of `at`.
//!
//! ```text
//! command      message.posted, message.deleted, room.joined, room.left
//! keys         where all of it is in the ledger
//! shards       over how many partitions a room is spread
//! arrivals     the order in which messages arrive
//! appending    messages added to it
//! posting      claims and rows written, deletes
//! membership   who is in a room
//! reading      messages in order, of a room or of one author in it
//! record       all that is on record of a message, and what of it is wrong
//! repair       rooms set right, where an audit finds that
//! ```
//!
//! # What is written
//!
//! A message is four things. The *claim* says whose its id is. The *arrival* is its place in the order in which messages
//! arrive. The *row* is its place in the room, with all that readers are shown. The *author's row* is the same under its author, so
//! that what one of them said in a room is one query. A delete leaves a *marker* with the name of who sent it, turns both rows into
//! tombstones, and takes the message out of its arrival.
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
//! * **The first stays.** Only one content can put the claim. A post with another author or another instant is refused;
//!   one that differs in its payload alone has no effect, which the digest in the claim tells. So all
//!   deliveries that get to step 4 write the same rows.
//! * **Nothing is lost.** A post is acknowledged after step 4, or because a marker of its own author is there.
//! * **Nothing comes back.** Say a delivery of the post has found no marker in its step 2. The marker was put after that,
//!   and before that the claim was there. So the delete finds the claim, and puts tombstones, which no step 4
//!   replaces. A delivery that comes after the marker does not get to step 3. One whose row is refused by a tombstone takes its
//!   arrival out itself; where it dies before that, whoever adds the next arrival does, or its redelivery.
//! * **Tombstones need not stay.** They are for deliveries that have passed step 2 and are about to write. No invocation
//!   lives as long as [`TOMBSTONES_KEPT`]; marker and claim stay permanently. An id stays taken after its delete.
//! * **Others have no say.** A marker has its sender in its key. That of anybody but the author is never looked at.
//!
//! # A busy room
//!
//! A partition takes a thousand small writes a second, and DynamoDB does not split one whose sort keys only grow. So a
//! room has *shards*, partitions over which messages are spread by a hash of their ids: one at first, and twice as
//! many whenever the put of a row is refused because its partition is hot, up to [`Shards::MOST`]. How many it has
//! is in the item of the room. That number only grows, and it is increased before any message is written to the new
//! shards. A reader reads it strongly consistently beside its query of the first shard, which is all that a quiet room
//! costs. A writer reads it with each message and remembers nothing, so it goes by what is in the table also after that was
//! restored. One that has read a smaller number just before it grew writes to shards that every reader reads. So nobody
//! misses a message. The claim says by which number a message was spread, so that every delivery of
//! it and its delete find the same row.
//!
//! A message that was refused goes on trying where it was claimed; those after it are spread.
//!
//! *Why shards never become fewer.* A reader could leave out a shard only if nothing of what it asks for can be there. The
//! `at` of a message is its sender's: one that was said before the room grew may be posted long after, and is spread as
//! all others are by then. So the instant of a growth says nothing of what a shard may hold. To spread a message by the
//! number that the room had at its `at` would hold up a backlog, in a room that was not busy when it was said: all of it
//! would go to one partition. And for fewer shards from some instant on, all writers would have to know of it before anybody
//! posts a message of a later `at`: then what they know would have to expire, and their clocks to agree. That
//! is dearer than what it saves, fifteen queries of a unit or two for a page of a room that was once very busy.
//!
//! # Private rooms
//!
//! Once anybody has joined a room, or has posted a message that says so, it is private, permanently: also if that join was
//! overtaken by a leave, if that message was refused or deleted, and after the last member has left. Then only its present members read it. They read all of it, what was said before they
//! joined included. Who may *write* is the producers' to decide, as everywhere.
//!
//! A message that is private first makes the room private, before anything of it is written. Readers fix by an arrival what a page
//! may show, and ask who may read after that, so whoever finds the room open finds nothing that is private.
//!
//! A join first makes the room private, then makes the viewer a member. Of the commands on one viewer and room the
//! latest wins, on a tie the leave.

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
pub use membership::{Entrance, MembershipState};
pub use posting::{Claimed, Posted, TOMBSTONES_KEPT};
pub use reading::{Effort, Message, MessageList, MessagesQuery, Stored};
pub use record::{OnRecord, Reason, WrongRow};
pub use shards::{Room, Shards};

use crate::ledger::Ledger;

/// What is said in rooms, and who is in them. Cheap to clone. It remembers nothing of any room.
#[derive(Debug, Clone)]
pub struct Rooms {
    ledger: Ledger,
    queues: RoomQueues,
}

impl Rooms {
    /// Those in this ledger.
    #[must_use]
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone(), queues: RoomQueues::default() }
    }

    /// The same, whose messages queue up with others.
    #[must_use]
    pub fn queueing(self, queues: &RoomQueues) -> Self {
        Self { queues: queues.clone(), ..self }
    }
}

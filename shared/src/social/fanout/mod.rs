//! Fan-out: making timelines agree with activities and follows, and the progress of that.
//!
//! ```text
//! command          one segment of a large fan-out
//! keys             where progress is in the ledger
//! progress         progress of the segments of a fan-out
//! reconciliation   progress of a long follow or unfollow
//! ```
//!
//! # Why every race ends right
//!
//! Writers never lock. Each follows one rule: **state your fact, then act on the others' facts, then
//! check again.** All reads that decide something are strongly consistent.
//!
//! * *Publish against follow.* A publish writes the outbox row, then reads the followers. A follow
//!   writes the edge, then reads the outbox. Whichever writes second sees the other's fact, so the
//!   entry is written at least once. An entry is a pure function of activity and viewer, so writing it
//!   twice changes nothing.
//! * *Unfollow against fan-out.* Readers ask for the edge of every entry they show, so an entry in
//!   flight is hidden from the moment the edge says so. After each page it wrote, the fan-out checks the
//!   edges again and removes what it wrote for viewers who have left. Either it sees the unfollow, or
//!   the unfollow came later. Then the unfollow's own purge takes the entry out: it reads the outbox row,
//!   which the fan-out wrote before anything else.
//! * *Unfollow against follow again.* A purge deletes in transactions that check that the edge is
//!   still the one that asked for it ([`Timelines::purge`](crate::social::timelines::Timelines::purge)). A later
//!   follow changes the edge first, so an unfollow that it overtook can remove none of the entries that
//!   it brings in.
//! * *Delete against fan-out and backfill.* The tombstone is written first, and readers ask for the
//!   activity record of every entry they show. It is final, so anybody may delete entries of a deleted
//!   activity at any time without a condition. The delete marks the outbox row, then removes the
//!   entries of the followers it finds. After writing, a fan-out reads the record again, and a backfill
//!   the outbox; both remove what they wrote if it is marked by then.
//! * *A fan-out in segments.* The segments begin after the outbox row is written, read edges and record
//!   themselves, and each checks again page by page, so all of the above is true of each of them. That a
//!   segment is done means: at some moment after the outbox row, everybody in its range was checked
//!   twice. Who follows or leaves later reconciles their own timeline, so a segment that is done stays
//!   done. A segment of the publish that finds a tombstone removes entries, and the delete's segments go by its progress.
//!   So it first marks the outbox row, as the delete does: a backfill that has not seen the mark has written its entry before.
//! * *A delivery that hands on its rest* ([`Continued`](crate::command::Continued)). It notes the position up
//!   to which everything is written and checked again, sends the rest to the queue, and is acknowledged
//!   after that. If it dies in between, both it and the rest are delivered, which is a repetition like
//!   any other. The position says only where to go on. It never replaces reading a fact: edges and record
//!   are read again from there.
//! * *A crashed delivery* may have written without checking again, before the noted position or after
//!   it. Every later delivery of its message knows that (`redelivered`, which travels along with what is
//!   handed on), and begins after the death. It first goes on to the end of the range; then it rechecks
//!   all of the range. It takes the entry from every viewer who does not follow now, under the same
//!   condition as a purge; if the activity was deleted, it takes the entry from every viewer. Its progress
//!   is noted under the id of the message ([`Pass`]). It says nothing about deliveries of other messages:
//!   they may die later, and recheck for themselves. A recheck writes no entries, so a death during it
//!   leaves nothing behind.
//! * *A long follow or unfollow* goes through the outbox from the newest activity on. It notes, under its
//!   message and for one state of the edge ([`Reconciliation`]), how far it is. An activity published
//!   meanwhile, whatever its instant, is for the fan-out: its outbox row was written after the edge. If
//!   the viewer leaves meanwhile, whoever recorded that goes through all of the outbox, so this one may end; what
//!   it had just copied it purges itself. If the viewer follows again, this one starts over: what an unfollow in
//!   between has removed is missing before its position. After a crashed delivery, the next one
//!   goes on from the noted activity; everything before that was checked twice.
//! * *A command that is repeated* finds out that its work is done, if that was many entries: a fan-out that has ended
//!   stays ended, and an edge names the state that the timeline agrees with
//!   ([`Follows::note_complete`](crate::social::follows::Follows::note_complete)). Once a timeline agrees, only fan-outs change what
//!   is in it, and they read the edge. A later follow takes the note over from the follow before it: no entry leaves in
//!   between, and the edge is put over the one that was seen. An unfollow that comes too late for that edge may have hidden the
//!   actor before, so whoever relies on the note shows the actor anyway. Only a delivery after one that may have crashed does all
//!   of it again: the dead one may have written something that nobody has checked.
//! * *A delete* writes only to those who follow. Who has left took the entry out when they left, or the
//!   recheck of a crashed delivery does it.
//! * *Erasing a person.* As if by commands, everything they published is deleted, all their followers leave
//!   them, and they leave everybody. Only then is it cleared away. The items that say so stay until no command
//!   can be in flight any more, because all of the above checks them again. A command that arrives late finds
//!   them and writes none of them again: a claim and a mark in an outbox are written once, nothing
//!   changes a tombstone, and only a later command changes an edge.
//! * *Crash in the middle.* Every command ends by making the timelines agree with what the ledger
//!   says *now*, not with what the command said. A redelivery does the same again, even if the
//!   command itself was overtaken long ago.

mod command;
pub mod keys;
mod progress;
mod reconciliation;

pub use command::FanOutSegment;
pub use keys::{FanOutKind, Pass, ProgressItem};
pub use progress::{FanOut, Progress};
pub use reconciliation::Reconciliation;

use crate::platform::ledger::Ledger;

/// The progress of fan-outs, follows and unfollows. Cheap to clone.
#[derive(Debug, Clone)]
pub struct FanOuts {
    ledger: Ledger,
}

impl FanOuts {
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone() }
    }
}

//! The tables, over `aws-sdk-dynamodb`.
//!
//! A [`Store`] holds a concrete client; tests fake at the SDK's edge, under the client. Every call
//! takes a [`Deadline`] and retries, until then, what a retry can help ([`StoreError::is_retryable`]):
//! this is the only layer that retries. All writes may be applied twice without harm, because after
//! a timeout nobody knows whether the first was.
//!
//! # Why every race ends right
//!
//! Writers never lock. Each follows one rule: **state your fact, then act on the others' facts, then
//! look again.** All reads that decide something are strongly consistent.
//!
//! * *Publish against follow.* A publish writes the outbox row, then reads the followers. A follow
//!   writes the edge, then reads the outbox. Whichever writes second sees the other's fact, so the
//!   entry is written at least once, and being a pure function of activity and viewer it does not
//!   matter if it is written twice.
//! * *Unfollow against fan-out.* Readers ask for the edge of every entry they show, so an entry in
//!   flight is hidden from the moment the edge says so. The fan-out looks at the edges again after
//!   each page it wrote and takes out what it wrote for viewers who have left: either it sees the
//!   unfollow, or the unfollow came later, and then its own purge, which reads the outbox row that
//!   the fan-out wrote before anything else, takes the entry out.
//! * *Unfollow against follow again.* A purge deletes in transactions that check that the edge is
//!   still the one that asked for it ([`Store::purge`]). A later follow changes the edge first, so not
//!   one entry that it brings in can be taken out by an unfollow that it overtook.
//! * *Delete against fan-out and backfill.* The tombstone is written first and readers ask for the
//!   activity record of every entry they show. It is final, so entries of a deleted activity may be
//!   erased by anybody at any time without a condition. The delete marks the outbox row, then erases
//!   the entries of the followers it finds; a fan-out looks at the record, and a backfill at the
//!   outbox, again after writing, and erase what they wrote if it is marked by then.
//! * *A fan-out in parts.* The parts begin after the outbox row is written, read edges and record
//!   themselves, and each takes its second look page by page, so all of the above holds for each of
//!   them. That a part is done means: at some moment after the outbox row, everybody in its range was
//!   looked at twice. Who follows or leaves later brings their own timeline in line, so a part that is
//!   done stays done.
//! * *A delivery that hands on its rest* ([`Continued`](crate::command::Continued)). It notes the place up
//!   to which everything is written and looked at again, sends the rest to the queue, and is
//!   acknowledged after that; if it dies in between, both it and the rest are delivered, which is a
//!   repetition like any other. The place says only where to go on, never that a fact need not be
//!   looked at: edges and record are read again from there.
//! * *A delivery that died* may have written and not looked again, before the noted place or behind it.
//!   Every later delivery of its message knows that (`redelivered`, which travels along with what is handed
//!   on), and it begins after the death. It first goes on to the end of the range; then it rechecks all
//!   of the range: whoever does not follow now and has the entry loses it, under the same condition as in
//!   a purge, and of a deleted activity everybody who has it. How far the recheck has come is noted under
//!   the id of the message ([`Pass`]), because of other messages' deliveries it knows nothing: they may
//!   die later, and then recheck for themselves. A recheck writes no entries, so a death during it leaves
//!   nothing behind.
//! * *A long follow or unfollow* goes through the outbox from the newest activity on and notes, under its
//!   message and for one state of the edge ([`Settling`]), how far it is. An activity published meanwhile,
//!   wherever its instant lies, is the fan-out's business: its outbox row was written after the edge. If
//!   the edge changes, whoever changed it goes through all of the outbox, so this one may end; what it
//!   had just copied for an edge that is gone it purges itself. A delivery that died is gone through
//!   again from the noted activity on, and everything before that was looked at twice.
//! * *A delete* writes to nobody but those who follow. Who has left took the entry out when they left, or
//!   is taken care of by the recheck of a delivery that died.
//! * *Forgetting a person.* Everything they published is deleted, and everybody leaves them and is left
//!   by them, as by commands; only then it is cleared away. The items that say so stay until no command
//!   can be in flight any more ([`Tombstone`]), because all of the above looks at them again. Whoever
//!   arrives late finds them, and writes none of them anew: a claim and a mark in an outbox are
//!   written once, a tombstone changes by nothing, and an edge only by a later command.
//! * *Crash in the middle.* Every command ends by making the timelines agree with what the ledger
//!   says *now*, not with what the command said; a redelivery does the same again, even if the
//!   command itself was overtaken long ago.

mod activities;
mod audit;
mod batch;
mod batch_get;
mod client;
mod dead_letters;
mod edges;
mod entries;
mod error;
mod follows;
mod forgetting;
mod hydration;
mod item;
mod line;
mod meter;
mod outbox;
mod progress;
mod purge;
mod reading;
mod settling;
mod timelines;

pub use activities::{Claim, Merged};
pub use client::sdk_config;
pub use dead_letters::{DeadLetter, DeadLetterPage, SparePart};
pub use edges::{Edge, EdgePage};
pub use entries::Written;
pub use error::StoreError;
pub use forgetting::{FORGET_AT, Tombstone, Trace};
pub use hydration::Facts;
pub use meter::Tally;
pub use outbox::{OutboxPage, OutboxRow};
pub use progress::{FanOut, Pass, Progress, Work};
pub use purge::Purge;
pub use reading::{EntryRow, Span};
pub use settling::Settling;
pub use timelines::EntryWrite;

use std::sync::Arc;

use aws_sdk_dynamodb::Client;
use tokio::sync::OnceCell;

use crate::deadline::Deadline;
use crate::pace::{Lane, Pacer, Share};

/// Write calls in flight at once in each lane of one process, at most: enough to fill the time the
/// table takes to answer (64 calls of 25 entries at 5 ms are far above what one table admits), and a
/// bound on memory. A slow table has fewer.
pub const IN_FLIGHT: usize = 64;

/// The ledger's index of edges by follower: keys only, so that a follow costs it one write and a
/// change of the edge none. Operators read it; no request does.
pub const BY_FOLLOWER: &str = "by_follower";

/// The names of the tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tables {
    /// Entries, by viewer: derived and rebuildable.
    pub timelines: String,
    /// Follows, activities and outboxes: the source of truth.
    pub ledger: String,
    /// Commands that gave up.
    pub dead_letters: String,
}

/// The tables and the client that reaches them. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Store {
    client: Client,
    /// For what is called by the thousand; learned when it is first needed.
    line: Arc<OnceCell<line::Line>>,
    tables: Arc<Tables>,
    lane: Lane,
    pacer: Pacer,
    /// The work that this store's calls are part of: each piece takes its turn.
    share: Share,
    viewer_pacers: Arc<entries::ViewerPacers>,
    most_in_flight: usize,
    meter: meter::Meter,
}

impl Store {
    /// A store over a client made from [`sdk_config`] (or a test's).
    #[must_use]
    pub fn new(client: Client, tables: Tables) -> Self {
        Self {
            client,
            line: Arc::default(),
            tables: Arc::new(tables),
            lane: Lane::Front,
            pacer: Pacer::of_table(IN_FLIGHT),
            share: Share::default(),
            viewer_pacers: Arc::default(),
            most_in_flight: IN_FLIGHT,
            meter: meter::Meter::default(),
        }
    }

    /// The same with at most so many write calls in flight at once.
    #[must_use]
    pub fn with_in_flight(mut self, calls: usize) -> Self {
        self.pacer = Pacer::of_table(calls);
        self.most_in_flight = calls;
        self
    }

    /// The same, for writes that give way to others.
    #[must_use]
    pub fn in_bulk(&self) -> Self {
        Self { lane: Lane::Bulk, ..self.clone() }
    }

    /// The names of the tables.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The client, for what only operators do.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }
}

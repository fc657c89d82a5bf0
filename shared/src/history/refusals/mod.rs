//! Refusals: commands and events that can never be applied, counted once each.
//!
//! ```text
//! subject   the person or tenant that a refused command is about
//! counting  counts the refusals of a message, and says which of them are kept as dead letters
//! listing   the refusals of a tenant by day; those of all by reason
//! keys      where they are
//! ```
//!
//! A letter is kept for the first [`MOST_LETTERS`] refusals of one reason and subject on a UTC day. The others are counted. So one
//! person fills neither the dead-letter queue nor its table, whatever they send.
//!
//! # Why each refusal counts once
//!
//! A message is delivered at least once. Each of its refusals has an index in it: 0 for a command, and its position for an event of
//! several. One transaction writes which indexes of the message are counted, and raises the counts by those that were not. It is
//! conditional on the indexes that it has read, so of two deliveries one is refused and reads again. A delivery whose answer was
//! lost reads again too, and finds itself.
//!
//! A change of a fact that a view refuses has no such row. The transaction that counts it writes the view with its mark raised above
//! the change ([`crate::platform::projection`]).
//!
//! The row of a message also says which of its refusals have a letter, so each delivery sends the same letters. It expires once the
//! queue cannot deliver the message any more. A message that its producer sends again is another message, and counts again. One
//! that the writer hands on or sends back is the same, and takes its id along. Equal messages of a batch are applied as one, unless
//! that one can still be refused: then each of them is.
//!
//! # What is bounded
//!
//! A message with refusals has one row, for [`MESSAGE_DAYS`] days. A subject has one row for each reason and day, which is written
//! at most [`MOST_LETTERS`] times. Counts beyond that are spread over [`SHARDS`] rows, chosen by the message, so no row is written
//! at the rate of all refusals. A tenant keeps at most [`MOST_EXAMPLES`] refused events for each reason and day.

mod counting;
pub mod keys;
mod listing;
mod subject;

use crate::platform::dynamo::Dynamo;
use crate::platform::ledger::Ledger;
use crate::platform::values::{CustomerId, EventId, Timestamp};

pub use counting::{Counting, Refusal, RefusalsOf, RefusedMessage};
pub use listing::{RefusalCount, RefusalsOfDay};
pub use subject::RefusedSubject;

/// The most dead letters of one reason and subject on a UTC day.
pub const MOST_LETTERS: u64 = 1_000;
/// The most refused events of a tenant that are kept for each reason and UTC day.
pub const MOST_EXAMPLES: u64 = 20;
/// The UTC days of counts that are listed, today included.
pub const LISTED_DAYS: u32 = 30;
/// The days for which the row of a message is kept. The queue delivers a message for four.
pub const MESSAGE_DAYS: u32 = 5;
/// The rows that a count is spread over.
pub const SHARDS: u8 = 8;
/// The most bytes of an example's detail.
const MOST_DETAIL_BYTES: usize = 500;

/// The refusals. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Refusals {
    ledger: Ledger,
    most_letters: u64,
}

/// A refused event, as its tenant reads it. Members that cannot be read are absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedEvent {
    pub customer_id: Option<CustomerId>,
    pub event_id: Option<EventId>,
    pub at: Option<Timestamp>,
    /// Why, in a sentence.
    pub detail: String,
}

impl Refusals {
    pub fn new(ledger: &Ledger) -> Self {
        Self { ledger: ledger.clone(), most_letters: MOST_LETTERS }
    }

    /// The same, with the client of a piece of work.
    #[must_use]
    pub fn over(&self, dynamo: &Dynamo) -> Self {
        Self { ledger: self.ledger.over(dynamo), ..self.clone() }
    }

    /// The same with another bound of letters, for tests.
    #[must_use]
    pub fn keeping(self, most_letters: u64) -> Self {
        Self { most_letters, ..self }
    }
}

impl RefusedEvent {
    /// An event of which nothing can be read.
    pub fn unreadable(detail: String) -> Self {
        Self { customer_id: None, event_id: None, at: None, detail }
    }
}

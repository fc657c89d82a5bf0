//! The local stack's queue: SQS standard queues in one SQLite file, or in memory.
//!
//! [`Queues`] owns the storage, a [`Queue`] is a handle on one queue of the fixed set, and
//! [`Wire`] speaks the AWS JSON 1.0 protocol in front of them, so that any AWS SDK can send,
//! receive and ask for the approximate numbers of messages.
//!
//! # What a queue promises
//! - **At least once.** A received message is hidden for its visibility timeout and then comes
//!   back, until somebody deletes it with the receipt handle of its *latest* receive. Deleting
//!   with an older handle succeeds and deletes nothing, as SQS usually does; here it is certain.
//! - **Order.** The message that has been visible longest comes first: sending order for
//!   messages that were never received. When messages have to wait, those of groups with few
//!   messages in flight come before the others. Nothing may depend on it: SQS promises less.
//! - **Dead letters.** A message that would be received for the (max_receives + 1)th time moves to
//!   the dead-letter queue instead, within the transaction of that receive. It keeps its id, body,
//!   attributes and sending time; its receives are counted from zero again, so that a dead-letter queue
//!   may have a dead-letter queue of its own.
//! - **Expiry** counts from the first enqueue, also after a move to a dead-letter queue. Every call
//!   first drops what has expired on its queue, so an expired message is neither received nor
//!   counted.
//! - **Counts are exact**, under SQS's "approximate" names: the replay command and the tests wait
//!   for zero.
//!
//! # What is durable when
//! Every call is one transaction, a batch included. A queue opened on a file uses SQLite's WAL with
//! `synchronous=NORMAL`: once a call has returned, its effect survives `kill -9` of the process. A
//! power cut may take the last few transactions, but never leaves half of one. The file is locked
//! for one process. The set of queues and their settings are not stored: they come from the [`QueueConfig`]s of each start. Messages of a queue that is missing
//! from them stay in the file untouched.
//!
//! A queue in memory is the same database in a buffer of at most 1 GiB, enough for some three
//! million commands. When it is full, sending fails with [`QueueError::Full`] until messages are
//! deleted.
//!
//! # Time
//! The module never asks the system for the date: a [`Clock`] given by the caller says the time.
//! Long polling sleeps on tokio's timer until the next message becomes visible, or until a send or
//! a change of visibility wakes it; it never polls.
//!
//! # What it deliberately does not do
//! FIFO queues, deduplication, the older query (XML) protocol (its clients are told so in it), signatures and permissions,
//! encryption, message system attributes on sending (`AWSTraceHeader`), queue-level delay and wait,
//! message move tasks, creating or deleting queues, and the limit of 120,000 messages in flight.

mod attribute;
mod config;
mod digest;
mod error;
mod handle;
mod limits;
mod message;
mod poll;
mod queues;
mod receipt;
mod rows;
mod schema;
mod state;
mod store;
mod wire;

pub use attribute::{AttributeValue, Attributes, MessageAttribute};
pub use config::{ACCOUNT_ID, QueueConfig, REGION, Redrive};
pub use error::QueueError;
pub use handle::Queue;
pub use message::{MessageId, NewMessage, ReceivedMessage};
pub use queues::Queues;
pub use receipt::ReceiptHandle;
pub use state::Clock;
pub use store::Counts;
pub use wire::{Wire, WireResponse};

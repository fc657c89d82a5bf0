//! Outbound events: sent to an EventBridge bus, if the deployer names one. The only call is [signed](crate::platform::signed).
//!
//! ```text
//! event     the events: types, stable ids, details
//! bus       the bus, and the events of a process that wait to be sent
//! put       the call
//! error     errors, and whether a retry helps
//! ```
//!
//! Each event is sent by the function that decides it, after the decision is on record:
//!
//! ```text
//! activity.published   fan-out writer   the record says so, and the fan-out has begun
//! follow.created       fan-out writer   the edge is in force, and the timeline agrees with it
//! poll.closed          fan-out writer   the actor's own end is on record, and comes before the poll's time
//! battle.defeated      projector        the view with the last hit is written
//! alert.raised         history projector, fan-out writer, period keeper: the alert is claimed and listed
//! ```
//!
//! No event is sent for a poll that ends because its time is over: no function runs at that instant. Readers compare the end with their
//! clock, and `poll.opened` already has it.
//!
//! # At least once
//!
//! A function records the fact, sends the event, and only then acknowledges the message or the change. After a crash in between nothing is
//! acknowledged. The redelivery finds the fact on record, and sends the event:
//!
//! * a publish, a follow or an end of a poll is sent by every delivery of its command, whatever was on record before;
//! * a poll's end may arrive before the poll. The close command writes the end and then reads the poll; the open command writes the poll
//!   and then reads the end. The later one sees both;
//! * a battle is defeated by a hit that landed directly, or by a hit that had waited for the battle. In the first case the event is sent
//!   by the delivery with the last hit in its batch, in the second by the delivery with the battle, which is not done while any hit
//!   waits. Both send it on every redelivery, whichever has written the view;
//! * an alert is sent before the set of given alerts is written. Without that write it is given and sent again.
//!
//! A command or change that fails too often becomes a dead letter, and its event is sent when the dead letter is redriven.
//!
//! # Repetitions
//!
//! The id of an event is a digest of the fact, and of nothing that changes: two events with the same id are the same, in any order. It is
//! in the detail, since EventBridge gives each entry an id of its own. Consumers drop ids that they know.
//!
//! # Old events
//!
//! A command may be redelivered days later, and its event is then sent again, with the same id. A consumer that has forgotten the id has
//! `at`, the instant of the command, and can drop old events. Superseded facts are not sent: a publish that was deleted, a follow before
//! a later follow or unfollow, an end that is not the poll's. Nor is a publish older than retention, which no timeline shows. Nothing is
//! sent about facts from before the bus was named.
//!
//! # What bounds it
//!
//! An event is a payload of at most 4 KiB and some ids: less than 6 KB, which EventBridge bills as one. A call has at most ten of them.
//! The queue of a process is bounded by its concurrent handlers. While one of them sends, others queue, and the next call sends theirs too.
//!
//! Events that EventBridge refuses permanently are logged and counted, and block nothing. A missing permission or a missing bus is retried
//! until a quarter of an hour after the fact was put on record, because a new permission takes a while to reach all of AWS. After that such
//! events are refused permanently. So removing the bus loses its events, but blocks no shard and no queue.
//!
//! EventBridge accepts events for a bus that does not exist, and drops them. So the template makes a rule on the bus: the deployment fails if there is no
//! such bus.

mod bus;
mod error;
mod event;
mod put;
#[cfg(test)]
mod tests;

pub use bus::Bus;
pub use error::BusError;
pub use event::{Happened, LastHit, OutboundEvent, TYPES};

/// The source of all events, as rules match it.
pub const SOURCE: &str = "nagare";
/// How long it is waited for a bus, or for the right to send to it, in milliseconds.
const PATIENCE_MILLIS: i64 = 15 * 60 * 1_000;

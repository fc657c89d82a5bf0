//! What other systems are told of: events to a bus of EventBridge's, if the deployer names one. One call, [signed](crate::signed).
//!
//! ```text
//! event     what is told: types, ids that stay, details
//! bus       the bus, and what of a process waits to be sent to it
//! put       the call
//! error     what goes wrong, and whether a retry helps
//! ```
//!
//! Each event is sent by the function that decides it, once that is on record:
//!
//! ```text
//! activity.published   fan-out writer   the record says so, and the fan-out has begun
//! follow.created       fan-out writer   the edge is in force, and the timeline agrees with it
//! poll.closed          fan-out writer   the actor's own end is on record, and comes before the poll's time
//! battle.defeated      projector        the view with the last hit is written
//! alert.raised         projector, fan-out writer, period keeper: the alert is claimed and listed
//! ```
//!
//! A poll that ends because its time is over is decided by nobody: nothing happens at that instant. Readers compare it with their clock,
//! and `poll.opened` has said it from the beginning. So nothing tells of it.
//!
//! # At least once
//!
//! A function states the fact, sends the event, and only then acknowledges the message or the change. One that dies in between has
//! acknowledged nothing. The delivery comes again, finds the fact on record, and sends the event:
//!
//! * a publish, a follow or an end of a poll is sent by every delivery of its command, whatever was on record before;
//! * a poll's end may be known before the poll. Who closes it states the end and then looks for the poll; who opens it states the
//!   poll and then looks for an end. One of the two is later, and sees both;
//! * a battle is defeated by a hit that landed directly, or by one that had waited for the battle. In the first case it is sent by the
//!   delivery that has the last hit in its batch, in the second by the one that has the battle: it is not done before
//!   nothing waits any more. Either sends it however often it comes, and whoever has written the view;
//! * an alert is sent before it is remembered that it was given. What is not remembered is given and sent again.
//!
//! What fails too often is a dead letter, as any command or change, and is sent when that is sent again.
//!
//! # The same however often
//!
//! The id of an event is a digest of what it tells of, and of nothing that changes: two with one id are one, whatever their order. It
//! is in the detail, since EventBridge gives each entry an id of its own. Consumers drop what they know.
//!
//! # What is old is no news
//!
//! A command may come again days later, and so does its event, with the same id. A consumer who has forgotten the id has `at`, the
//! instant that the command says: a push for what is an hour old is no push. What has been overtaken by then is not sent: a publish that is deleted,
//! a follow that another follow or an unfollow has followed, an end that is not the poll's. Neither is a publish older than retention,
//! which no timeline shows. Nothing is sent of what happened before the bus was named.
//!
//! # What bounds it
//!
//! An event is a payload of at most 4 KiB and some ids: less than 6 KB, which EventBridge bills as one. A call has at most ten of them.
//! What waits in a process is what its handlers have at work. While one of them sends, others queue up, and the next call has theirs too.
//!
//! What EventBridge refuses permanently is logged and counted, and holds up nothing. That the function may not send to the bus, or that there is
//! none, is waited out for a quarter of an hour from when the fact was put on record: a right that was just given is not known everywhere at
//! once. After that such events are refused permanently. So who takes the bus away loses what would have gone there, and stops no shard and no queue.
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

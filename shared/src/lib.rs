//! What the functions of Nagare have in common: the words of the domain, the keys they are stored
//! under, and the store itself.
//!
//! ```text
//! id, timestamp, payload     values that cannot be invalid
//! command                    what producers send, parsed at the edge
//! activity, follow           pure rules: how changes that arrive in any order merge
//! sort_key, keys             the one key codec
//! retention, clock           what is still shown, and what time it is
//! seal                       by which the holder of a secret knows its own words
//! cursor                     a sealed place in a timeline
//! dead_letter                what travels with a command that gave up
//! store                      the tables, over aws-sdk-dynamodb
//! queue                      sending to a queue, over aws-sdk-sqs
//! retry, deadline            the one retry policy
//! pace                       how fast to write
//! panics                     what a panic ends
//! env, telemetry, metrics    the one reader of the environment, the one way to log, to count
//! ```
//!
//! This crate knows DynamoDB, and of SQS how to send. It does not know how messages arrive, HTTP or the
//! Lambda runtime: those belong to the functions, which never import each other.

pub mod activity;
pub mod clock;
pub mod command;
pub mod cursor;
pub mod dead_letter;
pub mod deadline;
pub mod env;
pub mod follow;
mod hash;
pub mod id;
pub mod keys;
pub mod metrics;
pub mod pace;
pub mod panics;
pub mod payload;
pub mod queue;
pub mod retention;
pub mod retry;
pub mod seal;
pub mod sort_key;
pub mod store;
pub mod telemetry;
pub mod timestamp;

pub use clock::Clock;
pub use deadline::Deadline;
pub use id::{ActivityId, ActorId, ViewerId};
pub use metrics::Metrics;
pub use payload::{Kind, Payload};
pub use retention::Retention;
pub use sort_key::SortKey;
pub use timestamp::Timestamp;

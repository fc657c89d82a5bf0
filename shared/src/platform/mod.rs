//! The platform of both products. It knows neither.
//!
//! ```text
//! values         ids, instants, payloads, sort keys, retention: types that cannot be invalid
//! crypto         seals and digests
//! stored         the declarations of stored items
//! runtime        clock, retries, environment, logs, metrics
//! dynamo         calls of DynamoDB, paced; no domain
//! signed         signed calls of services that have no SDK here
//! objects        calls of S3
//! queue          sending to a queue, and answering for a batch of messages
//! outbound       events for other systems, sent to a bus
//! ledger         the table of data that must not be lost, and its keys
//! register       a state that is on or off: the latest command wins
//! message        reading and writing the body of a command
//! facts          the table of facts, from which views are folded
//! projection     views: folded exactly once, however often a change comes
//! paging         lists in the order of time: cursors and seen sets
//! environment    the environment that a handler is built from
//! receipts       the end of each command that a producer waits for
//! dead_letters   commands that gave up
//! ```

pub mod crypto;
pub mod dead_letters;
pub mod dynamo;
pub mod environment;
pub mod facts;
pub mod ledger;
pub mod message;
pub mod objects;
pub mod outbound;
pub mod paging;
pub mod projection;
pub mod queue;
pub mod receipts;
pub mod register;
pub mod runtime;
pub mod signed;
pub mod stored;
pub mod values;

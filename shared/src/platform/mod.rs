//! What both products stand on. It knows neither.
//!
//! ```text
//! values         what cannot be invalid: ids, instants, payloads, sort keys, retention
//! crypto         seals and digests
//! runtime        clock, retries, environment, logs, metrics
//! dynamo         how DynamoDB is called, and how fast: it knows no domain
//! signed         signed calls of services that have no SDK here
//! objects        how S3 is called
//! queue          sending to a queue, and answering for a batch of messages
//! outbound       what other systems are told of, by a bus
//! ledger         the table of what must not be lost, and its keys
//! register       something that is so or is not: of its commands the latest wins
//! message        how the body of a command is read and written
//! facts          the table of what views are folded from
//! projection     views: folded exactly once, however often a change comes
//! paging         lists in the order of time: cursors, and what clients have seen
//! receipts       which commands of a producer are done
//! dead_letters   commands that gave up
//! ```

pub mod crypto;
pub mod dead_letters;
pub mod dynamo;
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
pub mod values;

//! Calls of DynamoDB. This module knows tables, keys and items, and nothing of their meaning.
//!
//! ```text
//! client          the configuration of AWS clients; Dynamo, from which tables are made
//! table           one table: get, put and delete, each retried until its deadline
//! update          changes of single attributes
//! replace         writes the known attributes of an item, and keeps all others
//! query           queries and scans, page by page
//! batch_get       up to a hundred items in one call
//! batch_write     up to 25 items in one call, with a body written by hand
//! request         the bodies of all other calls
//! paced           many items, as fast as the table takes them
//! pacing/         finds out how fast that is
//! transport/      a request of the SDK, captured once and repeated with other bodies; failed calls
//! item            attributes of items
//! keys            tables of keys: how they are made and parsed
//! limits          the limits of items and requests
//! answer          items in JSON
//! usage           what calls have cost
//! error           errors, and whether a retry helps
//! ```
//!
//! A [`Dynamo`] holds a concrete client; tests fake at the SDK's edge, under the client. This is the only layer that
//! retries. A caller whose write timed out does not know whether it was applied, so all writes are idempotent.

mod answer;
mod batch_get;
mod batch_write;
mod client;
mod error;
pub mod item;
pub(crate) mod keys;
pub mod limits;
mod paced;
pub mod pacing;
mod query;
mod replace;
mod request;
mod table;
mod transport;
mod update;
mod usage;

use futures::future::BoxFuture;

pub use answer::{AnsweredItem, to_json};
pub use batch_get::BATCH_GET;
pub use batch_write::{Attributes, BATCH_WRITE, BatchItem};
pub use client::{Dynamo, sdk_config, sdk_config_over, timeouts};
pub use error::DynamoError;
pub(crate) use keys::keys;
pub use limits::Limits;
pub use paced::{PacedTable, Written};
pub use query::{Page, Query};
pub use table::{Condition, Put, Table};
pub use transport::{Attribute, read_answer};
pub use update::{Changed, Update};
pub use usage::Usage;

/// The most write calls in flight for each priority of one process. It fills the latency of the table (64 calls of 25 items at
/// 5 ms are far above what one table admits), and bounds memory. A slow table has fewer.
pub const IN_FLIGHT: usize = 64;

/// A boxed call of a table. An `async fn` is compiled in every crate that awaits it, together with what it awaits. The box ends
/// that: a call is compiled once, here.
pub type Calling<'a, T> = BoxFuture<'a, Result<T, DynamoError>>;

#[cfg(test)]
pub(crate) mod tests {
    pub(crate) use super::transport::tests::{Wiretap, run};
}

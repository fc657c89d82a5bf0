//! The history reader: the routes of tenants of the HTTP API (docs/openapi.yaml).
//!
//! ```text
//! reader        the state that every invocation borrows
//! router        an API Gateway event (payload 2.0) in, an answer out; never an error
//!   events      what a customer of a tenant did
//!   archives    the archives of a tenant's events
//!   customers/  the customers of a tenant, and what they did
//!   names/      the names of events, and how often they happened
//!   alerts      the alerts of a tenant
//!   refusals    the events of a tenant that were refused
//!   log         the log lines of requests
//! ```
//!
//! The library `function-http` has the part that it shares with the timeline reader, from callers to pages.
//!
//! # One page, one moment
//!
//! A row that is in the list throughout is on the walk once.
//!
//! | list | protocol |
//! |---|---|
//! | events | *fixed rows*: a row never changes or moves. One query for each key of a period |
//! | customers, names, alerts, refusals | *fixed keys*: a row never moves. A count is a view of its own; alerts are judged by the rules read before them |
//! | archives | *fixed keys*: the row of a period says that its objects are complete, and is read before them |

mod alerts;
mod archives;
mod customers;
pub mod env;
mod events;
mod log;
mod names;
mod reader;
mod refusals;
mod router;

pub use function_http::reader::PATIENCE;
pub use reader::Reader;
pub use router::ROUTES;

//! The event intake: checks what tenants send about their customers (`POST /v1/tenants/{tenant_id}/events`), and puts it on the queue
//! of commands.
//!
//! ```text
//! intake        an API Gateway event (payload 2.0) in, an answer out; never an error
//!   body        the bytes of a request, within their bounds
//!   events      parses the events of one tenant, or says what is wrong with each of them
//!   batches     cuts events into commands
//!   rate        the rate limit of a tenant
//!   log         the log line of a request
//!   metrics     the metrics of requests
//! ```
//!
//! # All or nothing, and retries
//!
//! A request is checked completely before anything of it is sent, so a request with a mistake leaves nothing behind. It is answered
//! with 202 once SQS has accepted all of its messages. If that is unknown after [`PATIENCE`], some messages may be on the queue: the
//! answer is 503, and the sender sends the whole request again. Recording an event is idempotent ([`shared::history::events`]), so that is
//! harmless.
//!
//! An event whose period is closed by the clock of this function is a mistake of the request. The writer finds out whether another event
//! is too late by then or in conflict, and refuses it ([`shared::history::refusals`]): this function reads no table.
//!
//! # Malformed requests
//!
//! A malformed request is charged to its tenant's rate like any other: by its events, or, if these
//! cannot be counted, by its size. Reading stops at the first event that is too many. So the work
//! for a tenant is bounded by its rate, whatever it sends.

mod batches;
mod body;
pub mod env;
mod events;
mod intake;
mod log;
mod metrics;
mod rate;

pub use batches::MESSAGE_BYTES;
pub use body::MOST_BYTES;
pub use events::MOST_EVENTS;
pub use intake::{Intake, PATIENCE, ROUTES};
pub use metrics::metric_names;
pub use rate::TenantRates;

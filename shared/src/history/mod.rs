//! The event history of a SaaS: events of tenants' customers, their summaries, and alerts.
//!
//! ```text
//! switch         whether a stack has the event history
//! events         events of tenants' customers: tables by period, archives
//! summaries      counts of events by customer, name and day
//! tenants        payloads of customers; rules, scores, alerts
//! refusals       counts of refused commands and events by day
//! ```

pub mod events;
pub mod refusals;
pub mod summaries;
pub mod switch;
pub mod tenants;

//! The event history of a SaaS: what customers of tenants did, how often, and what follows from it.
//!
//! ```text
//! events         what the customers of tenants do: tables by period, archives
//! summaries      how often they did it, by customer, name and day
//! tenants        payloads of customers; rules, scores, alerts
//! refusals       what cannot be applied, counted by day
//! ```

pub mod events;
pub mod refusals;
pub mod summaries;
pub mod tenants;

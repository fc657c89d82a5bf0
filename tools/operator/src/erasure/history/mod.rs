//! Erasure of a customer and of a tenant: their events, and everything that was made of these.

pub mod events;
pub(crate) mod summaries;
pub mod tenant;

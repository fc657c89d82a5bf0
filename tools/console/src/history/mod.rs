//! Pages of the event history.

pub(crate) mod events;
pub(crate) mod tenants;

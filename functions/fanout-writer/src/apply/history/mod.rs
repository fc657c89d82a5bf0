//! Commands about tenants: their events, customers, rules and scores.

pub(super) mod events;
pub(super) mod tenants;

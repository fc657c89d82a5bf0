//! Commands of the social wing.

pub(super) mod activities;
pub(super) mod battles;
pub(super) mod follows;
pub(super) mod likes;
pub(super) mod notifications;
pub(super) mod polls;
pub(super) mod profiles;
pub(super) mod rooms;
pub(super) mod segments;
pub(super) mod tags;

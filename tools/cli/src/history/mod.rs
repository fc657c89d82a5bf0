//! Commands of the event history.

pub(crate) mod events;
pub(crate) mod periods;
pub(crate) mod tenant;

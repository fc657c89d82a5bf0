//! Pages of the social backend.

pub(crate) mod activity;
pub(crate) mod people;
pub(crate) mod room;
pub(crate) mod show;
pub(crate) mod timeline;

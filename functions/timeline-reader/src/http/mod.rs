//! What all that is read over HTTP has in common.

pub(crate) mod auth;
pub(crate) mod encoding;
pub(crate) mod path;
pub(crate) mod preflight;
pub(crate) mod problem;
pub(crate) mod query;
pub(crate) mod response;

//! What all that is read over HTTP has in common, and what it shares with the other function behind the API.

pub(crate) mod list;
pub(crate) mod query;

pub(crate) use function_http::{auth, path, preflight, problem, response};

//! The functions, each called with the events that AWS would send, over the embedded tables and
//! queues.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod history;
mod platform;
mod social;

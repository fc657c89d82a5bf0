//! The local stack in parts: its tables and its queue, each through its public interface.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod engine;
mod models;
mod queue;

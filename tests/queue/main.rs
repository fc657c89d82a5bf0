//! The local queue, through its public interface.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod durability;
mod long_polling;
mod model;
mod semantics;
mod support;
mod wire;

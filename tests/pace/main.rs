//! Slow tables, in simulated time. This is a program of its own, so that nothing else runs beside it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod fan_outs;
mod one_person;
mod redeliveries;
mod support;
mod table;
mod timelines;

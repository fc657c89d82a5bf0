//! Tables that take little, in simulated time: a program of its own, so that nothing else runs beside it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests fail by panicking"
)]

mod slow;
mod table;

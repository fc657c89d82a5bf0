//! The embedded tables, through the calls that they serve.

mod control;
mod limits;
mod transactions;

//! The three functions, each called with the events that AWS would send, over the embedded tables and
//! queues.

mod alerter;
mod reader;
mod support;
mod writer;

//! The local stack and the command line of Nagare.
//!
//! ```text
//! cli       the commands; each talks to a stack over the network, as on AWS
//! cost      what the service costs on AWS
//! stack     tables, queues, the three functions and the HTTP API in one process
//!   queue   SQS, as far as anybody can tell
//!   gateway API Gateway, as far as the reader can tell
//! ```
//!
//! The functions know nothing of this crate: it calls their handlers with the events that AWS would
//! send.

pub mod cli;
pub mod cost;
pub mod gateway;
pub mod queue;
pub mod stack;

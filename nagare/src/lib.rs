//! The local stack, the operators' tools and the command line of Nagare.
//!
//! ```text
//! cli         the commands; each talks to a stack over the network, as on AWS
//! client      clients for the stack that they talk to
//! console     the web console
//! operator    what operators do to a stack: audit timelines, erase a person
//! cost        what the service costs on AWS
//! local       tables, queues, the functions and the HTTP API in one process
//!   sqs       SQS, as far as anybody can tell
//!   gateway   API Gateway, as far as the reader can tell
//!   faults    what goes wrong on purpose
//! faults      what goes wrong on purpose in a local stack, and how often
//! running     which stacks run on this machine
//! tables      the tables over one client
//! failure     how a command fails
//! progress    progress bars
//! visible     what strangers wrote, with what would steer a terminal as escapes
//! ```
//!
//! The functions know nothing of this crate: it calls their handlers with the events that AWS would
//! send.

pub mod cli;
mod client;
pub mod console;
pub mod cost;
mod failure;
pub mod faults;
pub mod local;
pub mod operator;
mod progress;
mod running;
pub mod tables;
mod visible;

pub use client::target::STACK_VARIABLES;

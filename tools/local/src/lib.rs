//! The local stack: tables, queues, the functions' handlers and the HTTP API in one process.
//!
//! ```text
//!   producers ──HTTP──▶ sqs_http ─▶  sqs  ─▶ event_source ─▶ fanout_writer ─┐
//!                                     │ five receives                       ├─▶ connector ─▶ engine
//!                                     └────▶  sqs  ─▶ event_source ─▶ dlq_alerter ─┤               ▲
//!   viewers ────HTTP──▶ gateway ─▶ timeline_reader, history_reader ─────────┘               │
//!   any SDK ────HTTP──▶ tables_http ────────────────────────────────────────────────────────┘
//! ```
//!
//! The handlers are the functions' own, called with the events Lambda would send. They reach the
//! tables through the SDK, over a [connector] in place of the network. Everything listens
//! on 127.0.0.1 only.

pub mod aws_models;
mod bind;
pub mod bus;
mod calendar;
mod compaction;
mod config;
pub mod connector;
mod control;
mod data_dir;
pub mod engine;
pub mod event_source;
mod example;
pub mod faults;
mod function_threads;
mod keeper_loop;
pub mod lambda;
pub(crate) mod s3;
pub mod schema;
mod set_clock;
pub mod sqs;
pub mod sqs_event;
mod sqs_http;
mod stack;
pub mod stream_dead_letter;
pub mod stream_source;
pub mod tables_http;
#[cfg(test)]
mod tests;
mod wiring;

pub use bind::OpenStack;
pub use config::{
    COMMANDS, DEAD_LETTER_RETENTION, DEAD_LETTERS, StackConfig, StackError, TEMPLATE_VISIBILITY,
};
pub use function_http::{ClaimName, Claims};
pub use stack::Stack;
pub use wiring::FUNCTION_TIMEOUT;

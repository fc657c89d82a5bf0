//! The dead-letter alerter: keeps every dead letter, and makes sure somebody hears of it.
//!
//! ```text
//! alerter       the state that every invocation borrows
//! batch         a batch from the dead-letter queue in, the ids of the unfinished ones out
//!   letter      a message -> the letter that is kept
//!   metrics     one record a letter, by reason; the alarm counts those
//! ```
//!
//! A Lambda on a queue that returns success deletes what it was given. So each letter is stored
//! first; then it is logged as one JSON line and counted; only then is it acknowledged. If this
//! function dies in between, the message comes again and is stored again under the same key, and at
//! worst counted twice: an alarm too many, never a letter too few.

mod alerter;
mod batch;
pub mod env;
mod letter;
mod metrics;

pub use alerter::Alerter;
pub use metrics::metric_names;

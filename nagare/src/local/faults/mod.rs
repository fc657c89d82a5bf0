//! Faults on purpose, at the two edges of the functions: the calls to tables and queues, and the
//! deliveries of messages.
//!
//! ```text
//! settings     what goes wrong how often, as `nagare up --faults=…` takes it
//! edge         a connector under the SDK that chooses a fault for each call
//! injection    one fault done to one call
//! service      what it is called in an answer of the tables or of the queues
//! demand       what a call asks of a table, for throttling
//! bucket       token buckets, by table and by partition
//! deliveries   duplicates, delays, visibility that runs out, lost deletes
//! ```
//!
//! What is chosen depends on the seed and on the order of the calls alone, so a test that owns
//! the order can run a failure again. The model test chooses for itself and only has its faults
//! [injected](inject).

mod bucket;
mod deliveries;
mod demand;
mod edge;
mod injection;
mod service;
mod settings;

pub(crate) use bucket::Bucket;
pub use deliveries::Deliveries;
pub use edge::Faulty;
pub use injection::{Fault, inject};
pub use settings::{Faults, FaultsError, Rates};

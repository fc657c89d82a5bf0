//! Faults on purpose, at the two edges of the functions: the calls to tables and queues, and the deliveries of messages.
//! [`nagare_telemetry::faults`] has the settings: what goes wrong, and how often.
//!
//! ```text
//! edge         a connector under the SDK that chooses a fault for each call
//! injection    injects one fault into one call
//! service      how each service names a fault, and how its batches are split
//! demand       what a call demands of a table, for throttling
//! bucket       token buckets, by table and by partition
//! creations    tables that take a while to be created
//! deliveries   duplicates, delays, visibility that runs out, lost deletes
//! keeper_faults two keepers of periods, clocks that are wrong, objects that are cut or flipped
//! ```
//!
//! The choice depends only on the seed and on the order of the calls, so a test that controls the order can repeat a failure. The
//! model test chooses its faults itself, and only has them [injected](inject).

mod bucket;
mod creations;
mod deliveries;
mod demand;
mod edge;
mod injection;
mod keeper_faults;
mod service;

pub use bucket::Bucket;
pub use deliveries::Deliveries;
pub use edge::Faulty;
pub use injection::{Fault, inject};
pub use keeper_faults::Keepers;

pub use nagare_telemetry::faults::{Faults, FaultsError, FaultsHandle, Rates};

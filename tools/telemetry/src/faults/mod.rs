//! What goes wrong on purpose in a local stack, and how often.
//!
//! ```text
//! settings  what there is to set, how it is written, and what each means
//! handle    the settings in force, which may change while the stack runs
//! ```
//!
//! `nagare_local::faults` injects these faults into calls and deliveries. Here is what the command line and the console need to know
//! of them.

mod handle;
mod settings;
#[cfg(test)]
mod tests;

pub use handle::Chance;
pub use handle::FaultsHandle;
pub use settings::{Faults, FaultsError, Rates, SETTINGS, Setting};

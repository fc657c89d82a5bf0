//! What goes on in a local stack: log lines of its functions, counts, and what goes wrong on purpose. The stack writes it, the
//! console shows it, and neither knows the other.
//!
//! ```text
//! journal  log lines of the functions
//! numbers  what was counted: commands, entries, units, times
//! faults   what goes wrong on purpose, and how often
//! playing  what the built-in sample has open
//! ```

pub mod faults;
pub mod journal;
pub mod numbers;
pub mod playing;

use faults::FaultsHandle;
use journal::Journal;
use numbers::Numbers;
use playing::Playing;

/// What is known of a stack in this process. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct LocalTelemetry {
    /// Log lines of the functions.
    pub journal: Journal,
    /// What was counted.
    pub numbers: Numbers,
    /// What goes wrong on purpose. It may change while the stack runs.
    pub faults: FaultsHandle,
    /// What the built-in sample has open.
    pub playing: Playing,
}

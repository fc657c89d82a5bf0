//! The depths of the queues.

use std::collections::VecDeque;

use shared::platform::values::Timestamp;

/// How many messages the queues had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Depth {
    pub(crate) at: Timestamp,
    /// Of the command queue and of the dead-letter queue: ready to be received, being processed, and delayed.
    pub(crate) queues: [[u64; 3]; 2],
}

/// What was seen of the queues while somebody looked.
pub(crate) type Depths = VecDeque<Depth>;

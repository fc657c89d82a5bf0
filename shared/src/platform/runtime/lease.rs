//! Leases: how long a piece of work may still write, for an erasure that has to wait for it.
//!
//! The work stores the end of its lease with what it is about to do, and removes it when it is
//! done. If it crashes, the wait ends with its deadline, because no call outlives that. Leases use
//! the system's clock, whatever the time of the stack: a deadline does not follow a clock that is
//! set. Tests whose deadlines follow a simulated time give them a clock that runs with it.

use std::time::Duration;

use super::clock::Clock;
use super::deadline::Deadline;

/// A call that is sent at the deadline may arrive a little later.
const SLACK: Duration = Duration::from_secs(20);

/// The clock of leases, the same for those who hold them and those who wait. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Leases(Clock);

impl Leases {
    /// Leases by another clock than the system's.
    pub fn by(clock: Clock) -> Self {
        Self(clock)
    }

    /// The end of a lease of work with this deadline, in unix milliseconds.
    pub fn until(&self, deadline: Deadline) -> i64 {
        let left = deadline.remaining() + SLACK;
        let millis = i64::try_from(left.as_millis()).unwrap_or(i64::MAX);
        self.0.now().plus_millis(millis).unix_millis()
    }

    /// The time until the end of a lease; zero if it is over.
    pub fn remaining(&self, until: i64) -> Duration {
        let left = until.saturating_sub(self.0.now().unix_millis());
        Duration::from_millis(u64::try_from(left).unwrap_or(0))
    }
}

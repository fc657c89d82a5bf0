//! Leases: how long a piece of work may still write, for an erasure that has to wait for it.
//!
//! The work stores the end of its lease with what it is about to do, and removes it when it is
//! done. If it crashes, the wait ends with its deadline, because no call outlives that. Leases use
//! the system's clock, whatever the time of the stack.

use std::time::Duration;

use super::clock::Clock;
use super::deadline::Deadline;

/// A call that is sent at the deadline may arrive a little later.
const SLACK: Duration = Duration::from_secs(20);

/// The end of a lease of work with this deadline, in unix milliseconds.
#[must_use]
pub fn until(deadline: Deadline) -> i64 {
    let millis = i64::try_from((deadline.remaining() + SLACK).as_millis()).unwrap_or(i64::MAX);
    Clock::system().now().plus_millis(millis).unix_millis()
}

/// The time until the end of a lease; zero if it is over.
#[must_use]
pub fn remaining(until: i64) -> Duration {
    let left = until.saturating_sub(Clock::system().now().unix_millis());
    Duration::from_millis(u64::try_from(left).unwrap_or(0))
}

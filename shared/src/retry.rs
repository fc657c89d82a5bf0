//! The one retry policy. The SDK's own is switched off (see [`crate::store::sdk_config`]), so no retry
//! multiplies another: what fails here is tried again here until the deadline, and what is left
//! then is delivered again by the queue.

use std::time::Duration;

use crate::deadline::{Deadline, DeadlineExceeded};

/// The first wait is at most this long: about what a call takes.
const BASE: Duration = Duration::from_millis(8);
/// No wait is longer than this.
const CAP: Duration = Duration::from_secs(2);

/// Waits between attempts: exponential, capped, with full jitter, so that callers that failed
/// together do not come back together.
#[derive(Debug, Default)]
pub struct Backoff {
    attempts: u32,
}

impl Backoff {
    /// Waits before the next attempt.
    ///
    /// # Errors
    /// [`DeadlineExceeded`] if the wait would reach past the deadline.
    pub async fn wait(&mut self, deadline: Deadline) -> Result<(), DeadlineExceeded> {
        let ceiling = BASE.saturating_mul(1 << self.attempts.min(10)).min(CAP);
        self.attempts += 1;
        deadline.sleep(ceiling.mul_f64(fastrand::f64())).await
    }

    /// Something got through: the next wait is short again.
    pub fn reset(&mut self) {
        self.attempts = 0;
    }
}

//! The one retry policy. The SDK's own is switched off (see [`crate::platform::dynamo::sdk_config`]), so no retry
//! multiplies another: what fails here is tried again here until the deadline, and what is left
//! then is delivered again by the queue.

use std::time::Duration;

use crate::platform::runtime::deadline::{Deadline, DeadlineExceeded};

/// The first wait is at most this long: about what a call takes.
const BASE: Duration = Duration::from_millis(8);
/// No wait is longer than this.
const CAP: Duration = Duration::from_secs(2);

/// The timeout of a connection attempt.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// No attempt is longer: AWS answers within milliseconds, or something is wrong with the connection.
pub const LONGEST_ATTEMPT: Duration = Duration::from_secs(5);
/// No attempt to move an object is longer: 64 MiB at 10 Mbit/s.
const LONGEST_TRANSFER: Duration = Duration::from_secs(60);
/// No attempt is given less, unless the deadline is nearer: time for a slow answer.
const SHORTEST_ATTEMPT: Duration = Duration::from_millis(250);
/// An attempt is given this part of the time that is left, so that a call that hangs leaves time for
/// about ten others.
const PART: u32 = 5;

/// The end of an attempt that begins now, of work with this deadline: a fifth of the time left, from
/// 250 ms to 5 s.
///
/// What has five seconds is tried again after one; what has half a minute or more, after five.
pub fn attempt(deadline: Deadline) -> Deadline {
    let part = deadline.remaining() / PART;
    deadline.within(part.clamp(SHORTEST_ATTEMPT, LONGEST_ATTEMPT))
}

/// The same for an attempt that moves an object of tens of megabytes: up to a minute.
pub fn transfer(deadline: Deadline) -> Deadline {
    let part = deadline.remaining() / PART;
    deadline.within(part.clamp(SHORTEST_ATTEMPT, LONGEST_TRANSFER))
}

/// Waits between attempts: exponential, capped, with full jitter, so that callers that failed
/// together do not come back together.
#[derive(Debug, Default)]
pub struct Backoff {
    attempts: u32,
}

impl Backoff {
    /// Waits before the next attempt, and leaves time for it.
    ///
    /// # Errors
    /// [`DeadlineExceeded`] at once if no time is left for a wait and an attempt after it.
    pub async fn wait(&mut self, deadline: Deadline) -> Result<(), DeadlineExceeded> {
        let room = deadline.remaining().saturating_sub(SHORTEST_ATTEMPT);
        if room < BASE {
            return Err(DeadlineExceeded);
        }
        let ceiling = BASE.saturating_mul(1 << self.attempts.min(10)).min(CAP).min(room);
        self.attempts += 1;
        deadline.sleep(ceiling.mul_f64(fastrand::f64())).await
    }

    /// Something got through: the next wait is short again.
    pub fn reset(&mut self) {
        self.attempts = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_attempt_is_given_part_of_the_time_left() {
        let given = |millis| attempt(Deadline::after(Duration::from_millis(millis))).remaining();
        for (left, expected) in
            [(58_000, 5_000), (5_000, 1_000), (1_500, 300), (1_000, 250), (100, 100), (0, 0)]
        {
            assert_eq!(given(left), Duration::from_millis(expected), "{left} ms left");
        }
    }

    /// A call of which no attempt is ever answered.
    #[tokio::test(start_paused = true)]
    async fn attempts_go_on_to_the_deadline_and_not_beyond() {
        for seed in 0..1_000 {
            fastrand::seed(seed);
            let deadline = Deadline::after(Duration::from_secs(5));
            let (mut backoff, mut attempts) = (Backoff::default(), 0);
            loop {
                attempts += 1;
                let _ = attempt(deadline).bound(std::future::pending::<()>()).await;
                if backoff.wait(deadline).await.is_err() {
                    break;
                }
            }
            assert!((8..20).contains(&attempts), "seed {seed}: {attempts} attempts");
            assert!(deadline.remaining() < SHORTEST_ATTEMPT + BASE, "seed {seed}: gave up early");
        }
    }

    /// A call of which every attempt is refused at once.
    #[tokio::test(start_paused = true)]
    async fn refusals_do_not_make_a_hot_loop() {
        for seed in 0..1_000 {
            fastrand::seed(seed);
            let deadline = Deadline::after(Duration::from_secs(5));
            let (mut backoff, mut waits) = (Backoff::default(), 0);
            while backoff.wait(deadline).await.is_ok() {
                waits += 1;
            }
            assert!((8..40).contains(&waits), "seed {seed}: {waits} waits");
            assert!(deadline.remaining() < SHORTEST_ATTEMPT + BASE, "seed {seed}: gave up early");
        }
    }
}

//! The deadlines of invocations.

use std::time::Duration;

use tokio::time::Instant;

use crate::platform::values::Timestamp;

/// Time to answer in, after work has stopped.
const MARGIN: Duration = Duration::from_secs(2);
/// For an invocation whose end is not known.
const UNKNOWN: Duration = Duration::from_secs(30);

/// The moment by which work has to be done. Tables carry it ([`Dynamo::for_work`](crate::platform::dynamo::Dynamo::for_work)), and other calls are given it, so that no retry and no remote call outlives
/// its invocation.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Instant);

/// The deadline passed before the work was done. The state of the work is unknown, so it has to be redelivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the invocation ran out of time")]
pub struct DeadlineExceeded;

impl Deadline {
    /// A deadline this far from now.
    pub fn after(duration: Duration) -> Self {
        Self(Instant::now() + duration)
    }

    /// The deadline of an invocation that Lambda says ends at `end` (unix milliseconds), early enough
    /// to report what is unfinished.
    ///
    /// Lambda never invokes a function after its deadline. Some emulators pass an instant long past (`cargo lambda watch`: ten minutes after
    /// the start of 1970). Then the deadline is half a minute from now.
    pub fn of_invocation(end: u64, now: Timestamp) -> Self {
        let end = i64::try_from(end).unwrap_or(i64::MAX);
        match u64::try_from(end.saturating_sub(now.unix_millis())) {
            Ok(left) if left > 0 => Self::after(Duration::from_millis(left).saturating_sub(MARGIN)),
            _ => Self::after(UNKNOWN),
        }
    }

    /// The time left; zero once it has passed.
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// True once no time is left.
    pub fn has_passed(self) -> bool {
        self.remaining().is_zero()
    }

    /// This deadline, or one this far from now if that is sooner.
    #[must_use]
    pub fn within(self, duration: Duration) -> Self {
        Self(self.0.min(Instant::now() + duration))
    }

    /// Runs `work`, dropping it at the deadline.
    ///
    /// # Errors
    /// [`DeadlineExceeded`] if it was dropped; what it had begun may or may not have happened.
    pub async fn bound<T>(self, work: impl Future<Output = T>) -> Result<T, DeadlineExceeded> {
        tokio::time::timeout_at(self.0, work).await.map_err(|_| DeadlineExceeded)
    }

    /// Sleeps, unless that would reach past the deadline.
    ///
    /// # Errors
    /// [`DeadlineExceeded`] at once, without sleeping, if it would.
    pub async fn sleep(self, duration: Duration) -> Result<(), DeadlineExceeded> {
        if duration >= self.remaining() {
            return Err(DeadlineExceeded);
        }
        tokio::time::sleep(duration).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_invocation_ends_in_time_to_report() {
        let now: Timestamp = "2026-11-20T12:00:00Z".parse().unwrap_or(Timestamp::LAST);
        let left = |end| Deadline::of_invocation(end, now).remaining();
        let begun = u64::try_from(now.unix_millis()).unwrap_or(0);
        assert_eq!(left(begun + 60_000), Duration::from_secs(58));
        assert_eq!(left(begun + 500), Duration::ZERO);
        assert_eq!(left(600_000), UNKNOWN, "an emulator that does not know");
    }
}

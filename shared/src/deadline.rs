//! How long an invocation may go on.

use std::time::Duration;

use tokio::time::Instant;

use crate::timestamp::Timestamp;

/// The moment by which work has to be done. Copied along with every call, so that no retry and no
/// remote call outlives the invocation that asked for it.
#[derive(Debug, Clone, Copy)]
pub struct Deadline(Instant);

/// The deadline passed before the work was done. Nothing is known about what is left undone, so
/// the work has to be delivered again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the invocation ran out of time")]
pub struct DeadlineExceeded;

impl Deadline {
    /// A deadline this far from now.
    #[must_use]
    pub fn after(duration: Duration) -> Self {
        Self(Instant::now() + duration)
    }

    /// The deadline that the wall clock will show as `end`.
    #[must_use]
    pub fn at(end: Timestamp, now: Timestamp) -> Self {
        let left = end.unix_millis().saturating_sub(now.unix_millis());
        Self::after(Duration::from_millis(u64::try_from(left).unwrap_or(0)))
    }

    /// The time left; zero once it has passed.
    #[must_use]
    pub fn remaining(self) -> Duration {
        self.0.saturating_duration_since(Instant::now())
    }

    /// The same deadline, `margin` earlier: time to report what is unfinished.
    #[must_use]
    pub fn earlier_by(self, margin: Duration) -> Self {
        Self(self.0.checked_sub(margin).unwrap_or(self.0))
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

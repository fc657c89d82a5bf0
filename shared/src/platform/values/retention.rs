//! How long an activity stays in timelines.

use std::time::Duration;

use crate::platform::values::Timestamp;

/// Days of retention where nothing else is configured.
pub const DEFAULT_RETENTION_DAYS: u32 = 30;

/// The time an activity is shown, counted from `published_at` and never from its arrival: a retry
/// or a redrive does not prolong it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    millis: i64,
}

impl Retention {
    /// Retention of N days.
    pub fn days(days: u32) -> Self {
        Self { millis: i64::from(days) * 86_400_000 }
    }

    /// The earliest `published_at` that is still shown at `now`.
    #[must_use]
    pub fn start(self, now: Timestamp) -> Timestamp {
        now.plus_millis(-self.millis)
    }

    /// True while an activity published at `published_at` is shown at `now`.
    pub fn holds(self, published_at: Timestamp, now: Timestamp) -> bool {
        published_at >= self.start(now)
    }

    /// When the table may drop the entry, in whole unix seconds as DynamoDB's TTL wants it.
    /// Rounded up, so that nothing is dropped while it is still shown.
    pub fn expires_at(self, published_at: Timestamp) -> i64 {
        let end = published_at.unix_millis().saturating_add(self.millis);
        end.div_euclid(1000) + 1
    }

    /// The same as a [`Duration`].
    pub fn as_duration(self) -> Duration {
        Duration::from_millis(self.millis.unsigned_abs())
    }
}

impl Default for Retention {
    fn default() -> Self {
        Self::days(DEFAULT_RETENTION_DAYS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_border_is_shown_and_the_table_keeps_it() {
        let published = Timestamp::from_unix_millis(1_700_000_000_123);
        let retention = Retention::days(30);
        let last = published.plus_millis(30 * 86_400_000);
        assert!(retention.holds(published, last));
        assert!(!retention.holds(published, last.plus_millis(1)));
        assert!(retention.expires_at(published) * 1000 > last.unix_millis());
        assert!(retention.expires_at(published) * 1000 - last.unix_millis() <= 1000);
    }
}

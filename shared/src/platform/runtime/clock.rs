//! The only clock. Rules take `now` as an argument; only entry points read a [`Clock`].

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::platform::values::Timestamp;

/// The system's clock, or one that was set. Clones share the time.
#[derive(Debug, Clone, Default)]
pub struct Clock(Source);

#[derive(Debug, Clone, Default)]
enum Source {
    #[default]
    System,
    /// Unix milliseconds; stopped.
    Manual(Arc<AtomicI64>),
    /// Running.
    Ticking(Arc<Mutex<ClockReading>>),
}

/// The time that a clock was set to, and when.
#[derive(Debug)]
struct ClockReading {
    millis: i64,
    as_of: Instant,
}

impl Clock {
    pub fn system() -> Self {
        Self::default()
    }

    /// A clock that is stopped at `now` until it is [set](Self::set).
    pub fn manual(now: Timestamp) -> Self {
        Self(Source::Manual(Arc::new(AtomicI64::new(now.unix_millis()))))
    }

    /// A clock that starts at `now` and runs. It is monotonic, whatever happens to the system's clock.
    pub fn starting_at(now: Timestamp) -> Self {
        let reading = ClockReading { millis: now.unix_millis(), as_of: Instant::now() };
        Self(Source::Ticking(Arc::new(Mutex::new(reading))))
    }

    /// Sets a clock that is not the system's. A running clock is only set forward. Has no effect on the system's clock.
    pub fn set(&self, now: Timestamp) {
        match &self.0 {
            Source::System => {}
            Source::Manual(millis) => millis.store(now.unix_millis(), Ordering::SeqCst),
            Source::Ticking(reading) => {
                let mut reading = reading.lock();
                reading.catch_up();
                reading.millis = reading.millis.max(now.unix_millis());
            }
        }
    }

    /// True if it was set and [runs](Self::starting_at).
    pub fn is_set(&self) -> bool {
        matches!(self.0, Source::Ticking(_))
    }

    pub fn now(&self) -> Timestamp {
        let millis = match &self.0 {
            Source::System => system_millis(),
            Source::Manual(millis) => millis.load(Ordering::SeqCst),
            Source::Ticking(reading) => {
                let mut reading = reading.lock();
                reading.catch_up();
                reading.millis
            }
        };
        Timestamp::from_unix_millis(millis)
    }
}

impl ClockReading {
    fn catch_up(&mut self) {
        let passed = self.as_of.elapsed().as_millis();
        self.millis = self.millis.saturating_add(i64::try_from(passed).unwrap_or(i64::MAX));
        // Fractions of a millisecond are kept for the next call.
        self.as_of += Duration::from_millis(u64::try_from(passed).unwrap_or(u64::MAX));
    }
}

#[allow(clippy::disallowed_methods, reason = "the one place that reads the system's clock")]
fn system_millis() -> i64 {
    // A clock before 1970 shows 1970.
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_was_set_goes_on_and_is_only_set_ahead() {
        let clock = Clock::starting_at(at("2013-01-01T00:00:00Z"));
        let other = clock.clone();
        for _ in 0..4 {
            tokio::time::advance(Duration::from_micros(500)).await;
            let _ = clock.now();
        }
        assert_eq!(other.now(), at("2013-01-01T00:00:00.002Z"), "no part of a millisecond is lost");
        other.set(at("2013-02-01T00:00:00Z"));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(clock.now(), at("2013-02-01T00:00:05Z"));
        clock.set(at("2013-01-15T00:00:00Z"));
        assert_eq!(clock.now(), at("2013-02-01T00:00:05Z"), "it never goes back");
    }

    #[test]
    fn only_a_clock_that_goes_on_counts_as_set() {
        let now = at("2026-11-20T12:00:00Z");
        assert!(Clock::starting_at(now).is_set());
        assert!(!Clock::system().is_set() && !Clock::manual(now).is_set());
    }
}

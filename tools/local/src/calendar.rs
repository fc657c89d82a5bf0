//! The time of a stack whose clock may be wrong.
//!
//! What has expired is dropped permanently: entries by the sweep, messages by their queue. A clock that
//! is a month ahead when the stack starts would cost a month of entries and every waiting command. So
//! the stack keeps the time at which it last ran in its data directory, and expiry has a time of its
//! own, [`Calendar::expiry`]. It follows the clock, except for a leap ahead by more than a [`DAY`]: then
//! it continues from where it was, and accepts the clock only after another day of running. A stack that
//! was down for a week therefore keeps for another day what nobody sees any more.
//!
//! A clock that somebody has [set](Clock::starting_at) leaps because it is meant to: expiry follows it at once.
//!
//! A clock that is set back while the stack runs would hide messages in flight until it has caught up.
//! So queues use [`Calendar::steady`], which continues at its own pace.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use shared::platform::runtime::clock::Clock;
use shared::platform::values::Timestamp;
use tokio::time::Instant;

/// The largest leap ahead that is accepted at once, and the time after which a larger one is.
const DAY: Duration = Duration::from_secs(86_400);

/// Cheap to clone.
#[derive(Debug, Clone)]
pub(super) struct Calendar {
    clock: Clock,
    times: Arc<Mutex<Times>>,
}

/// All in unix milliseconds.
#[derive(Debug)]
struct Times {
    steady: i64,
    expiry: i64,
    as_of: Instant,
    doubted_since: Option<Instant>,
}

impl Calendar {
    /// Follows a clock; `last` is what [`expiry`](Self::expiry) returned when the stack last ran.
    pub(super) fn new(clock: Clock, last: Option<Timestamp>) -> Self {
        let now = clock.now().unix_millis();
        let last = last.filter(|_| !clock.is_set());
        let expiry = last.map_or(now, Timestamp::unix_millis);
        let times = Times { steady: now, expiry, as_of: Instant::now(), doubted_since: None };
        Self { clock, times: Arc::new(Mutex::new(times)) }
    }

    /// The time by which things expire.
    pub(super) fn expiry(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.read().1)
    }

    /// The clock's time, except that it never goes back.
    pub(super) fn steady(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.read().0)
    }

    fn read(&self) -> (i64, i64) {
        let mut times = self.times.lock();
        times.advance(self.clock.now().unix_millis(), Instant::now());
        if self.clock.is_set() {
            times.expiry = times.steady;
            times.doubted_since = None;
        }
        (times.steady, times.expiry)
    }
}

impl Times {
    fn advance(&mut self, clock: i64, now: Instant) {
        let passed = millis(now.saturating_duration_since(self.as_of));
        self.as_of = now;
        self.steady = clock.max(self.steady.saturating_add(passed));
        self.expiry = self.expiry.saturating_add(passed);
        let ahead = clock.saturating_sub(self.expiry);
        if ahead <= millis(DAY) || self.is_confirmed(now) {
            self.expiry = clock;
            self.doubted_since = None;
        } else if self.doubted_since.is_none() {
            self.doubted_since = Some(now);
            warn(ahead);
        }
    }

    fn is_confirmed(&self, now: Instant) -> bool {
        self.doubted_since.is_some_and(|since| now.saturating_duration_since(since) >= DAY)
    }
}

fn warn(ahead: i64) {
    let days = ahead / millis(DAY);
    tracing::warn!(
        "the clock is {days} days ahead of when this stack last ran; what has expired by it is not \
         shown, but nothing is dropped for a day. If the clock is wrong, stop, set it right and start \
         again: commands that are sent meanwhile are judged by it"
    );
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: i64 = 1_795_176_000_000;
    const DAYS: i64 = 86_400_000;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_unix_millis(millis)
    }

    /// A calendar that last ran at the start, and its clock.
    fn started_at(millis: i64) -> (Calendar, Clock) {
        let clock = Clock::manual(at(millis));
        (Calendar::new(clock.clone(), Some(at(START))), clock)
    }

    #[tokio::test(start_paused = true)]
    async fn a_leap_ahead_is_believed_after_a_day() {
        let (calendar, clock) = started_at(START + 31 * DAYS);
        assert_eq!(calendar.expiry(), at(START));
        tokio::time::advance(DAY / 2).await;
        assert_eq!(calendar.expiry(), at(START + DAYS / 2));
        tokio::time::advance(DAY / 2).await;
        clock.set(at(START + 32 * DAYS));
        assert_eq!(calendar.expiry(), at(START + 32 * DAYS));
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_right_again_is_followed() {
        let (calendar, clock) = started_at(START + 31 * DAYS);
        assert_eq!(calendar.expiry(), at(START));
        clock.set(at(START + 60_000));
        assert_eq!(calendar.expiry(), at(START + 60_000));
    }

    #[tokio::test(start_paused = true)]
    async fn a_night_is_no_leap() {
        assert_eq!(started_at(START + DAYS / 2).0.expiry(), at(START + DAYS / 2));
        let fresh = Calendar::new(Clock::manual(at(START)), None);
        assert_eq!(fresh.expiry(), at(START));
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_was_set_is_followed_wherever_it_leaps() {
        let clock = Clock::starting_at(at(START + 31 * DAYS));
        let calendar = Calendar::new(clock.clone(), Some(at(START)));
        assert_eq!(calendar.expiry(), at(START + 31 * DAYS));
        clock.set(at(START + 400 * DAYS));
        assert_eq!(calendar.expiry(), at(START + 400 * DAYS));
        assert_eq!(calendar.steady(), at(START + 400 * DAYS));
    }

    #[tokio::test(start_paused = true)]
    async fn steady_time_does_not_go_back() {
        let (calendar, clock) = started_at(START + 31 * DAYS);
        assert_eq!(calendar.steady(), at(START + 31 * DAYS));
        clock.set(at(START));
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(calendar.steady(), at(START + 31 * DAYS + 5_000));
    }
}

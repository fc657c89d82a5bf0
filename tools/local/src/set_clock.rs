//! A clock that somebody has set (`nagare up --clock`), across restarts.
//!
//! Its time is stored in the data directory, so that it continues from there and never goes back: what was decided by it (a period
//! that is closed, a table that is dropped) stays decided. The stored time is ahead of the clock, by more than the interval between
//! two writes. So a stack that is killed continues a few seconds later than it was, and never earlier.

use std::time::Duration;

use parking_lot::Mutex;
use shared::platform::runtime::clock::Clock;
use shared::platform::values::Timestamp;

use super::config::{StackConfig, StackError};
use super::data_dir::DataDir;

/// The interval between two writes.
const INTERVAL: Duration = Duration::from_secs(5);
/// How far the stored time is ahead of the clock, in milliseconds.
const AHEAD: i64 = 10_000;

static NOTING: Mutex<()> = Mutex::new(());

/// The clock of a stack: the one in its configuration, or one that continues from the time in the data directory or begins at the
/// instant that is asked for.
///
/// # Errors
/// [`StackError::ClockBehind`], [`StackError::DataDir`]
pub(super) fn begin(config: &StackConfig, dir: Option<&DataDir>) -> Result<Clock, StackError> {
    let noted = dir.and_then(DataDir::set_clock);
    let clock = match (config.start_at, noted) {
        (None, None) => return Ok(config.clock.clone()),
        (None, Some(noted)) => Clock::starting_at(noted),
        (Some(asked), noted) => {
            let reached = noted.max(dir.and_then(DataDir::last_ran_at));
            match reached.filter(|reached| asked < *reached) {
                Some(reached) => return Err(StackError::ClockBehind { asked, reached }),
                None => Clock::starting_at(asked),
            }
        }
    };
    if let Some(dir) = dir {
        dir.note_set_clock(ahead_of(&clock))?;
    }
    Ok(clock)
}

/// Stores the time of a clock at intervals, without end.
pub(super) async fn keep(clock: Clock, dir: DataDir) {
    let mut ticks = tokio::time::interval(INTERVAL);
    loop {
        ticks.tick().await;
        note(&clock, &dir);
    }
}

/// Stores the time of a clock that goes on.
pub(super) fn note(clock: &Clock, dir: &DataDir) {
    note_as(dir, || ahead_of(clock));
}

/// Stores the time of a clock that ends here.
pub(super) fn note_last(clock: &Clock, dir: &DataDir) {
    note_as(dir, || clock.now());
}

fn ahead_of(clock: &Clock) -> Timestamp {
    clock.now().plus_millis(AHEAD)
}

/// Stores a time. Only one caller at a time reads the clock and writes, so that no earlier time replaces a later one.
fn note_as(dir: &DataDir, time: impl FnOnce() -> Timestamp) {
    let _turn = NOTING.lock();
    if let Err(failure) = dir.note_set_clock(time()) {
        tracing::warn!("the time that was set is not stored: {failure}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn it_goes_on_where_it_was_and_never_back() {
        let temporary = tempfile::tempdir().unwrap();
        let open = || DataDir::open(temporary.path()).unwrap();
        let start_at = |text| StackConfig { start_at: Some(at(text)), ..StackConfig::default() };
        let dir = open();
        let clock = begin(&start_at("2013-01-01T00:00:00Z"), Some(&dir)).unwrap();
        assert_eq!(clock.now(), at("2013-01-01T00:00:00Z"));
        clock.set(at("2013-02-01T00:00:00Z"));
        note(&clock, &dir);
        drop(dir);

        let dir = open();
        let killed = begin(&StackConfig::default(), Some(&dir)).unwrap();
        assert_eq!(killed.now(), at("2013-02-01T00:00:10Z"), "no instant is shown twice");
        note_last(&killed, &dir);
        assert_eq!(dir.set_clock(), Some(at("2013-02-01T00:00:10Z")));
        let behind = begin(&start_at("2013-01-15T00:00:00Z"), Some(&dir)).unwrap_err().to_string();
        assert!(behind.contains("has come to 2013-02-01T00:00:10.000Z"), "{behind}");
        let ahead = begin(&start_at("2013-03-01T00:00:00Z"), Some(&dir)).unwrap();
        assert_eq!(ahead.now(), at("2013-03-01T00:00:00Z"));
    }

    #[test]
    fn where_nobody_sets_it_it_is_the_one_that_is_told() {
        let temporary = tempfile::tempdir().unwrap();
        let dir = DataDir::open(temporary.path()).unwrap();
        assert!(!begin(&StackConfig::default(), Some(&dir)).unwrap().is_set());
        assert_eq!(dir.set_clock(), None);
        dir.note_time(at("2026-11-20T12:00:00Z")).unwrap();
        let start_at = Some(at("2013-01-01T00:00:00Z"));
        let config = StackConfig { start_at, ..StackConfig::default() };
        assert!(begin(&config, Some(&dir)).is_err(), "what is there is of a later time");
    }
}

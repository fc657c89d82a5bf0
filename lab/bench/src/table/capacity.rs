//! How much the table admits, and how that changes.

use std::str::FromStr;
use std::time::Duration;

use nagare_local::faults::Bucket;
use tokio::time::Instant;

/// Rates in write units a second, each with the time since the first write from which it holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Schedule(Vec<(Duration, f64)>);

/// The table's token bucket, which holds one second's worth.
#[derive(Debug)]
pub(super) struct Capacity {
    schedule: Schedule,
    /// The line of the schedule that is in force.
    line: usize,
    begun: Instant,
    bucket: Bucket,
}

/// Units a second.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate >= 1.0);
    rate.ok_or_else(|| "expected units a second, one or more".to_owned())
}

impl Schedule {
    /// One rate throughout.
    pub(super) fn constant(rate: f64) -> Self {
        Self(vec![(Duration::ZERO, rate)])
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected seconds and units a second in ascending order from 0 on, such as \
                        0=40000,2=4000,6=40000";
        let line = |line: &str| {
            let (seconds, units) = line.split_once('=')?;
            let from = Duration::try_from_secs_f64(seconds.parse().ok()?).ok()?;
            Some((from, rate(units).ok()?))
        };
        let lines: Vec<_> = text.split(',').map(line).collect::<Option<_>>().ok_or(expected)?;
        let ascending = lines.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let from_the_start = lines.first().is_some_and(|(from, _)| from.is_zero());
        (ascending && from_the_start).then_some(Self(lines)).ok_or_else(|| expected.to_owned())
    }
}

impl Capacity {
    /// A full bucket, whose schedule begins now.
    pub(super) fn new(schedule: Schedule, now: Instant) -> Self {
        let bucket = Bucket::full(schedule.0[0].1, now);
        Self { schedule, line: 0, begun: now, bucket }
    }

    /// Takes `wanted` units, or as many as there are. Returns how many.
    pub(super) fn take(&mut self, wanted: usize, now: Instant) -> usize {
        while let Some((from, _)) = self.schedule.0.get(self.line + 1) {
            let change = self.begun + *from;
            if change > now {
                break;
            }
            self.bucket.fill(self.rate(), change);
            self.line += 1;
        }
        self.bucket.fill(self.rate(), now);
        self.bucket.take(wanted)
    }

    fn rate(&self) -> f64 {
        self.schedule.0[self.line].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_the_schedule_says_and_a_burst_of_one_second() {
        let start = Instant::now();
        let schedule = "0=100,2=10,4=100".parse().expect("a schedule");
        let mut capacity = Capacity::new(schedule, start);
        let mut take_all = |millis| capacity.take(1_000, start + Duration::from_millis(millis));
        let taken = [0, 500, 500, 1_900, 2_500, 4_000, 9_000].map(&mut take_all);
        // Full; half a second's worth; nothing more; a burst, and no more than that; 10 from the last
        // of the old rate and 5 of the new one, of which the bucket holds 10; 10 in 1.5 s; 100 again.
        assert_eq!(taken, [100, 50, 0, 100, 10, 10, 100]);
    }

    #[test]
    fn refuses_a_schedule_that_does_not_say_how_it_begins() {
        for text in ["", "1=100", "0=100,2=10,2=20", "0=100,2=0", "0=100;2=10", "0=100,-1=10"] {
            assert!(text.parse::<Schedule>().is_err(), "{text:?}");
        }
    }
}

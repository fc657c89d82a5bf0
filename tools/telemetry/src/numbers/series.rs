//! One number over the last hour, in slots.

use std::ops::Add;

use shared::platform::values::Timestamp;

use super::spread::Spread;

/// The milliseconds of a slot.
pub(super) const SLOT: i64 = 10_000;
/// The milliseconds that are kept.
pub(super) const HOUR: i64 = 3_600_000;
const SLOTS: i64 = HOUR / SLOT;
/// The points of an hour in a plot.
pub const POINTS: usize = 120;
const IN_POINT: i64 = SLOTS / POINTS as i64;

/// What was seen in some time.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Total {
    /// The sum of all values.
    pub sum: f64,
    /// How many there were.
    pub count: u64,
}

impl Add for Total {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { sum: self.sum + other.sum, count: self.count + other.count }
    }
}

/// What was seen in half a minute.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Point {
    /// All of it.
    pub total: Total,
    spread: Spread,
}

impl Point {
    /// Half a minute, in seconds.
    pub const SECONDS: f64 = (IN_POINT * SLOT) as f64 / 1e3;

    /// The time below which this share of all is, in milliseconds. None if there is none, or it is not a time.
    pub fn percentile(&self, share: f64) -> Option<f64> {
        self.spread.percentile(share)
    }

    /// Several points together.
    pub fn all(points: &[Self]) -> Self {
        points.iter().fold(Self::default(), |mut all, point| {
            all.total = all.total + point.total;
            all.spread.merge(&point.spread);
            all
        })
    }
}

/// One number over the last hour.
#[derive(Debug, Default)]
pub(super) struct Series {
    /// What it came to since the start.
    pub(super) ever: Total,
    /// By their numbers' remainders; they are there as soon as something is seen.
    slots: Vec<Slot>,
}

#[derive(Debug, Clone, Default)]
struct Slot {
    /// Ten seconds since 1970.
    number: i64,
    total: Total,
    spread: Option<Box<Spread>>,
}

impl Series {
    /// Adds a value that was seen N times. What is an hour late counts towards the sum only.
    pub(super) fn observe(&mut self, at: Timestamp, value: f64, times: u64, is_time: bool) {
        let total = Total { sum: value * times as f64, count: times };
        self.ever = self.ever + total;
        if self.slots.is_empty() {
            self.slots.resize(SLOTS as usize, Slot::default());
        }
        let number = number(at);
        let slot = &mut self.slots[number.rem_euclid(SLOTS) as usize];
        if slot.number > number {
            return;
        }
        if slot.number < number {
            *slot = Slot { number, ..Slot::default() };
        }
        slot.total = slot.total + total;
        if is_time {
            slot.spread.get_or_insert_default().add(value, times);
        }
    }

    /// What was seen in the last minutes, the slot that has begun included.
    pub(super) fn recent(&self, now: Timestamp, minutes: i64) -> Total {
        let now = number(now);
        let behind = now - minutes * 60_000 / SLOT;
        let slots = self.slots.iter().filter(|slot| (behind + 1..=now).contains(&slot.number));
        slots.fold(Total::default(), |sum, slot| sum + slot.total)
    }

    /// Adds the last hour to the points of a plot.
    pub(super) fn add_hour(&self, now: Timestamp, points: &mut [Point]) {
        let now = number(now);
        for slot in &self.slots {
            let age = now - slot.number;
            if !(0..SLOTS).contains(&age) {
                continue;
            }
            let Some(point) = points.iter_mut().rev().nth((age / IN_POINT) as usize) else {
                continue;
            };
            point.total = point.total + slot.total;
            if let Some(spread) = &slot.spread {
                point.spread.merge(spread);
            }
        }
    }
}

fn number(at: Timestamp) -> i64 {
    at.unix_millis().div_euclid(SLOT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix_millis(1_790_000_000_000 + seconds * 1_000)
    }

    #[test]
    fn an_hour_is_kept_and_the_sum_of_all() {
        let mut series = Series::default();
        (0..=7_200).for_each(|second| series.observe(at(second), 2.0, 1, false));
        assert_eq!(series.ever, Total { sum: 14_402.0, count: 7_201 });
        assert_eq!(series.recent(at(7_209), 1), Total { sum: 102.0, count: 51 });
        assert_eq!(series.recent(at(7_209), 60).count, 3_591);
        series.observe(at(0), 2.0, 1, false);
        assert_eq!(series.recent(at(7_209), 60).count, 3_591, "what is too late is in no slot");
        let mut points = vec![Point::default(); POINTS];
        series.add_hour(at(7_209), &mut points);
        let counts: Vec<_> = points.iter().map(|point| point.total.count).collect();
        assert_eq!((counts[0], counts[60], counts[POINTS - 1]), (30, 30, 21));
        assert_eq!(counts.iter().sum::<u64>(), 3_591);
        assert_eq!(series.recent(at(90_000), 60), Total::default());
    }

    #[test]
    fn times_have_percentiles() {
        let mut series = Series::default();
        series.observe(at(0), 10.0, 98, true);
        series.observe(at(40), 1_000.0, 2, true);
        let mut points = vec![Point::default(); POINTS];
        series.add_hour(at(40), &mut points);
        assert!((900.0..1_100.0).contains(&points[POINTS - 1].percentile(0.5).unwrap()));
        let all = Point::all(&points);
        assert_eq!(all.total.count, 100);
        assert!((9.0..11.0).contains(&all.percentile(0.5).unwrap()));
        assert!((900.0..1_100.0).contains(&all.percentile(0.99).unwrap()));
        assert_eq!(points[0].percentile(0.5), None);
    }
}

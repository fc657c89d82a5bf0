//! The provisioned capacity of the table of the current period. Pure: the keeper measures usage and sets the capacity.
//!
//! The current period takes nearly all writes, and its load has the shape of a week. So each hour gets the most that the same hour of the
//! last four weeks used: writes with a tenth on top, and reads twice that, because a message can wait and a viewer does not. If the queue is
//! five minutes behind and the table is busy, capacity rises at once: to twice what it was, or to the busiest hour of the last day. DynamoDB
//! allows 27 decreases in a day ([`Decreases`]). A decrease that is not allowed yet waits for a later tick. A table is on demand if its
//! period is not current, or if nothing is known of the hour.
//!
//! `nagare-bench capacity` simulates it minute by minute (docs/PERFORMANCE.md, "Events").

use std::str::FromStr;
use std::time::Duration;

use crate::platform::values::Timestamp;

/// Weeks that are looked at.
pub const WEEKS: i64 = 4;
/// From a tick on, capacity has to last this long, in milliseconds: until the next tick, and until that has taken effect.
pub const AHEAD_MILLIS: i64 = 20 * 60_000;
/// The age of the oldest message from which on the queue is behind.
pub const BEHIND: Duration = Duration::from_secs(5 * 60);

/// The write capacity for each unit that was used.
const WRITES_GET: f64 = 1.1;
/// The same for reads. A table that reads as much as before is at half of its capacity, and not busy.
const READS_GET: f64 = 2.0;
/// A table is busy from this share of its capacity on.
const BUSY: f64 = 0.8;
/// The least, so that a quiet table still answers.
const LEAST: Capacity = Capacity { reads: 5, writes: 1 };
/// The decreases of a UTC day that need no hour between them.
const FREE_DECREASES: u64 = 4;
/// The time between further ones.
const BETWEEN: Duration = Duration::from_secs(3_600);

/// How the table of the current period is paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Billing {
    OnDemand,
    Provisioned,
}

/// The text names no way of paying.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected on-demand or provisioned")]
pub struct BillingError;

impl FromStr for Billing {
    type Err = BillingError;

    fn from_str(text: &str) -> Result<Self, BillingError> {
        match text {
            "on-demand" => Ok(Self::OnDemand),
            "provisioned" => Ok(Self::Provisioned),
            _ => Err(BillingError),
        }
    }
}

/// The provisioned capacity of a table, in units a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    pub reads: u64,
    pub writes: u64,
}

/// The usage of a table, in units a second: the mean of some time.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TableUsage {
    pub reads: f64,
    pub writes: f64,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measured {
    /// Of the hours that begin within [`AHEAD_MILLIS`]: the usage in the same hours of the last [`WEEKS`], where it is known.
    pub same_hours: Vec<TableUsage>,
    /// The usage in the hours of the last day.
    pub last_day: Vec<TableUsage>,
    /// The usage lately: reads of five minutes, writes of the busiest minute of the last five.
    pub recent: TableUsage,
    /// The age of the oldest message on the queue.
    pub oldest: Duration,
}

/// The decreases of a table's capacity, as DynamoDB counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Decreases {
    /// In this UTC day.
    pub today: u64,
    pub last: Option<Timestamp>,
}

impl Decreases {
    /// True if one is allowed: the first four of a UTC day, and further ones an hour after the one before.
    pub fn allow_another(&self, now: Timestamp) -> bool {
        let is_first_in_hour = self.last.is_none_or(|last| now.since(last) >= BETWEEN);
        self.today < FREE_DECREASES || is_first_in_hour
    }
}

/// The highest reads and the highest writes of some times.
fn most(usages: &[TableUsage]) -> TableUsage {
    usages.iter().fold(TableUsage::default(), |most, usage| TableUsage {
        reads: most.reads.max(usage.reads),
        writes: most.writes.max(usage.writes),
    })
}

/// The whole units for a usage. The error of a floating-point number does not add one.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "units a second are small"
)]
fn units(usage: f64, get: f64) -> u64 {
    (usage * get - 1e-6).ceil() as u64
}

#[allow(clippy::cast_precision_loss, reason = "units a second are small")]
fn is_busy(recent: f64, set: u64) -> bool {
    recent >= BUSY * set as f64
}

/// The capacity to set now; `None`: on demand, because nothing is known of the hour and the table is on demand.
///
/// `set` is the present capacity, `None` if the table is on demand.
pub fn next(
    set: Option<Capacity>,
    measured: &Measured,
    decreases: Decreases,
    now: Timestamp,
) -> Option<Capacity> {
    if set.is_none() && measured.same_hours.is_empty() {
        return None;
    }
    let planned = most(&measured.same_hours);
    let mut next = Capacity {
        reads: units(planned.reads, READS_GET).max(LEAST.reads),
        writes: units(planned.writes, WRITES_GET).max(LEAST.writes),
    };
    let Some(set) = set else { return Some(next) };
    let (recent, busiest) = (measured.recent, most(&measured.last_day));
    if is_busy(recent.reads, set.reads) {
        next.reads = next.reads.max(2 * set.reads).max(units(busiest.reads, READS_GET));
    }
    if measured.oldest >= BEHIND && is_busy(recent.writes, set.writes) {
        next.writes = next.writes.max(2 * set.writes).max(units(busiest.writes, WRITES_GET));
    }
    let is_decrease = next.reads < set.reads || next.writes < set.writes;
    if is_decrease && !decreases.allow_another(now) {
        next = Capacity { reads: next.reads.max(set.reads), writes: next.writes.max(set.writes) };
    }
    Some(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("an instant")
    }

    fn writes(each: &[f64]) -> Vec<TableUsage> {
        each.iter().map(|writes| TableUsage { reads: 0.0, writes: *writes }).collect()
    }

    const SET: Option<Capacity> = Some(Capacity { reads: 5, writes: 100 });
    const NOW: &str = "2026-11-20T12:00:00Z";

    fn next_writes(set: Option<Capacity>, measured: &Measured) -> Option<u64> {
        next(set, measured, Decreases::default(), at(NOW)).map(|next| next.writes)
    }

    #[test]
    fn an_hour_gets_a_tenth_more_than_the_same_hours_used_at_most() {
        let measured = Measured { same_hours: writes(&[80.0, 200.0, 10.0]), ..Measured::default() };
        assert_eq!(next_writes(None, &measured), Some(220));
        assert_eq!(next_writes(SET, &measured), Some(220));
    }

    #[test]
    fn without_history_a_table_on_demand_stays_so() {
        assert_eq!(next_writes(None, &Measured::default()), None);
        let least = next(SET, &Measured::default(), Decreases::default(), at(NOW));
        assert_eq!(least, Some(LEAST), "a provisioned one has the least");
    }

    #[test]
    fn a_queue_behind_a_busy_table_doubles_it_or_more() {
        let behind = |oldest, recent, last_day: &[f64]| Measured {
            same_hours: writes(&[50.0]),
            last_day: writes(last_day),
            recent: TableUsage { reads: 0.0, writes: recent },
            oldest: Duration::from_secs(oldest),
        };
        assert_eq!(next_writes(SET, &behind(300, 80.0, &[])), Some(200));
        assert_eq!(next_writes(SET, &behind(300, 80.0, &[30.0, 300.0])), Some(330));
        assert_eq!(next_writes(SET, &behind(299, 80.0, &[300.0])), Some(55), "not behind");
        assert_eq!(next_writes(SET, &behind(300, 79.0, &[300.0])), Some(55), "not the table");
    }

    #[test]
    fn busy_reads_double_whatever_the_queue_says() {
        let recent = TableUsage { reads: 4.0, writes: 0.0 };
        let measured = Measured { recent, ..Measured::default() };
        let next = next(SET, &measured, Decreases::default(), at(NOW));
        assert_eq!(next, Some(Capacity { reads: 10, writes: 1 }));
    }

    #[test]
    fn a_fifth_decrease_of_a_day_waits_for_an_hour_since_the_last() {
        let measured = Measured { same_hours: writes(&[50.0]), ..Measured::default() };
        let after = |today, last: &str| {
            let decreases = Decreases { today, last: Some(at(last)) };
            next(SET, &measured, decreases, at(NOW)).map(|next| next.writes)
        };
        assert_eq!(after(3, "2026-11-20T11:59:00Z"), Some(55));
        assert_eq!(after(4, "2026-11-20T11:01:00Z"), Some(100));
        assert_eq!(after(4, "2026-11-20T11:00:00Z"), Some(55));
        let reads = Measured {
            same_hours: vec![TableUsage { reads: 1_000.0, writes: 50.0 }],
            ..Measured::default()
        };
        let decreases = Decreases { today: 4, last: Some(at("2026-11-20T11:30:00Z")) };
        let next = next(SET, &reads, decreases, at(NOW));
        assert_eq!(next, Some(Capacity { reads: 2_000, writes: 100 }), "an increase goes on");
    }
}

//! How a table on demand grows: to twice its former peak.

/// Seconds over which traffic is averaged before it counts as a peak.
const MINUTE: f64 = 60.0;

/// What a table as a whole admits, in units a second.
#[derive(Debug, Clone)]
pub struct Growth {
    limit: f64,
    /// No table admits more: the account's quota.
    quota: f64,
    /// Seconds after which traffic counts as a former peak.
    after: f64,
    minute_began: f64,
    in_minute: f64,
    /// When a minute ended that was above all before it, and its average.
    peaks: Vec<(f64, f64)>,
}

impl Growth {
    /// A table that begins at `warm` units a second.
    #[must_use]
    pub fn new(warm: f64, quota: f64, after: f64) -> Self {
        let limit = warm.min(quota);
        Self { limit, quota, after, minute_began: 0.0, in_minute: 0.0, peaks: Vec::new() }
    }

    /// Units a second that the table admits now.
    #[must_use]
    pub fn limit(&self) -> f64 {
        self.limit
    }

    /// Counts the units served in the tick that ends at `now` (seconds since the beginning).
    pub fn served(&mut self, units: f64, now: f64) {
        self.in_minute += units;
        if now - self.minute_began < MINUTE {
            return;
        }
        let average = self.in_minute / (now - self.minute_began);
        (self.minute_began, self.in_minute) = (now, 0.0);
        if self.peaks.last().is_none_or(|(_, peak)| *peak < average) {
            self.peaks.push((now, average));
        }
        let former = self.peaks.iter().rfind(|(ended, _)| now - ended >= self.after);
        let twice = former.map_or(0.0, |(_, peak)| peak * 2.0);
        self.limit = self.limit.max(twice.min(self.quota));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driven(seconds: u32, rate: impl Fn(&Growth) -> f64) -> Growth {
        let mut growth = Growth::new(4_000.0, 40_000.0, 1_800.0);
        for second in 1..=seconds {
            growth.served(rate(&growth), f64::from(second));
        }
        growth
    }

    #[test]
    fn a_table_at_its_limit_doubles_every_half_hour_up_to_its_quota() {
        let limit_after = |minutes: u32| driven(minutes * 60, Growth::limit).limit();
        assert_eq!(limit_after(30), 4_000.0);
        assert_eq!(limit_after(32), 8_000.0);
        assert_eq!(limit_after(64), 16_000.0);
        assert_eq!(limit_after(600), 40_000.0);
    }

    #[test]
    fn a_table_below_half_of_its_limit_stays_as_it_is() {
        assert_eq!(driven(36_000, |_| 1_999.0).limit(), 4_000.0);
    }
}

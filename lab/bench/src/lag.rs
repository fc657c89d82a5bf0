//! How long changes take to their views.

use std::time::Duration;

use serde::Serialize;

/// What each change took.
#[derive(Debug, Clone, Default)]
pub(super) struct Lags {
    /// From the put of its fact.
    pub(super) facts: Vec<Duration>,
    /// From when its command was sent.
    pub(super) commands: Vec<Duration>,
}

/// Percentiles, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Percentiles {
    pub(super) p50_ms: f64,
    pub(super) p99_ms: f64,
    pub(super) max_ms: f64,
}

impl Percentiles {
    /// Those of some durations; nothing if there are none.
    pub(super) fn of(durations: &[Duration]) -> Option<Self> {
        let mut sorted = durations.to_vec();
        sorted.sort_unstable();
        let last = sorted.len().checked_sub(1)?;
        let at = |percent: usize| sorted[(last * percent).div_ceil(100)].as_secs_f64() * 1e3;
        Some(Self { p50_ms: at(50), p99_ms: at(99), max_ms: at(100) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_of_durations() {
        let durations: Vec<_> = (0..=100).rev().map(Duration::from_millis).collect();
        let expected = Percentiles { p50_ms: 50.0, p99_ms: 99.0, max_ms: 100.0 };
        assert_eq!(Percentiles::of(&durations), Some(expected));
        assert_eq!(Percentiles::of(&[]), None);
    }
}

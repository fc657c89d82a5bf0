//! A histogram of values. Each class is a fifth larger than the one before, so a percentile is right to a tenth.

/// The first class ends here, in milliseconds.
const SMALLEST: f64 = 0.1;
/// Classes in a doubling.
const FINENESS: f64 = 4.0;
/// Classes: up to twenty minutes.
const CLASSES: usize = 96;

/// Values by class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spread([u32; CLASSES]);

impl Default for Spread {
    fn default() -> Self {
        Self([0; CLASSES])
    }
}

impl Spread {
    pub(super) fn add(&mut self, value: f64, times: u64) {
        let class = ((value / SMALLEST).max(1.0).log2() * FINENESS).ceil() as usize;
        let count = &mut self.0[class.min(CLASSES - 1)];
        *count = count.saturating_add(u32::try_from(times).unwrap_or(u32::MAX));
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count = count.saturating_add(more);
        }
    }

    /// The value below which this share of all values is: the middle of its class. None if there are no values.
    pub(super) fn percentile(&self, share: f64) -> Option<f64> {
        let all: u64 = self.0.iter().map(|count| u64::from(*count)).sum();
        let wanted = ((all as f64 * share).ceil() as u64).max(1);
        let mut below = 0;
        let class = self.0.iter().position(|count| {
            below += u64::from(*count);
            below >= wanted
        })?;
        Some(SMALLEST * 2_f64.powf((class as f64 - 0.5).max(0.0) / FINENESS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_right_to_a_tenth() {
        let mut spread = Spread::default();
        assert_eq!(spread.percentile(0.5), None);
        (1..=10_000).for_each(|n| spread.add(f64::from(n) / 10.0, 1));
        for (share, value) in [(0.01, 10.0), (0.5, 500.0), (0.99, 990.0), (1.0, 1_000.0)] {
            let found = spread.percentile(share).unwrap();
            assert!((found / value - 1.0).abs() < 0.1, "{share}: {found}");
        }
    }

    #[test]
    fn what_is_out_of_reach_counts_at_the_ends() {
        let mut spread = Spread::default();
        spread.add(0.0, 1);
        assert_eq!(spread.percentile(0.5), Some(SMALLEST));
        let mut other = Spread::default();
        other.add(f64::MAX, 3);
        spread.merge(&other);
        assert!(spread.percentile(0.5).unwrap() > 1_000_000.0);
        assert_eq!(spread.percentile(0.25), Some(SMALLEST));
    }
}

//! How long things took: counts by tenths of a second.

/// The resolution in seconds.
const STEP: f64 = 0.1;

/// Delays, each with how many things had it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Delays(Vec<f64>);

impl Delays {
    /// Adds N things that took this many seconds.
    pub fn add(&mut self, seconds: f64, things: f64) {
        if things <= 0.0 {
            return;
        }
        // Less than half a step early is rounding.
        let step = (seconds.max(0.0) / STEP).round() as usize;
        if self.0.len() <= step {
            self.0.resize(step + 1, 0.0);
        }
        self.0[step] += things;
    }

    /// How many things there were.
    #[must_use]
    pub fn count(&self) -> f64 {
        self.0.iter().sum()
    }

    /// The seconds within which this share of them was done.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let wanted = self.count() * share;
        let mut sum = 0.0;
        let reached = self.0.iter().position(|things| {
            sum += things;
            sum >= wanted * (1.0 - 1e-9)
        });
        reached.unwrap_or(self.0.len().saturating_sub(1)) as f64 * STEP
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles() {
        let mut delays = Delays::default();
        delays.add(1.0, 50.0);
        delays.add(2.0, 49.0);
        delays.add(30.0, 1.0);
        let at = |share| delays.quantile(share);
        assert_eq!((at(0.5), at(0.99), at(1.0), delays.count()), (1.0, 2.0, 30.0, 100.0));
    }
}

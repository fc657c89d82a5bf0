//! A token bucket over ticks of time.

/// A rate in units a second, and what was left unused for some seconds before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bucket {
    /// Units a second.
    rate: f64,
    /// For how many seconds unused units stay available.
    burst: f64,
    left: f64,
}

impl Bucket {
    /// A bucket that holds nothing yet.
    #[must_use]
    pub fn new(rate: f64, burst: f64) -> Self {
        Self { rate, burst, left: 0.0 }
    }

    /// Units a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Changes the rate from now on.
    pub fn set_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// Begins a tick of N seconds.
    pub fn fill(&mut self, seconds: f64) {
        let most = self.rate * self.burst.max(seconds);
        self.left = (self.left + self.rate * seconds).min(most);
    }

    /// What is left to take in this tick.
    #[must_use]
    pub fn left(&self) -> f64 {
        self.left
    }

    /// Takes at most `wanted` of what is left. Returns how much it was.
    pub fn take(&mut self, wanted: f64) -> f64 {
        let taken = wanted.min(self.left);
        self.left -= taken;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_unused_is_kept_as_far_as_the_burst_goes() {
        let mut bucket = Bucket::new(1_000.0, 2.0);
        (0..50).for_each(|_| bucket.fill(0.1));
        assert_eq!(bucket.take(5_000.0), 2_000.0, "two seconds of five");
        bucket.fill(0.1);
        assert!((bucket.take(5_000.0) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn without_a_burst_a_tick_has_what_it_brings() {
        let mut bucket = Bucket::new(1_000.0, 0.0);
        for _ in 0..5 {
            bucket.fill(0.1);
            assert_eq!((bucket.take(30.0), bucket.take(500.0)), (30.0, 70.0));
        }
        bucket.fill(0.1);
        bucket.fill(0.1);
        assert_eq!(bucket.left(), 100.0);
    }
}
